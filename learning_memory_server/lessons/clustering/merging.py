"""Merge groups that the density step split too finely, and readmit noise.

Groups are merged pairwise, nearest first, up to the level with the largest silhouette (Rousseeuw, "Silhouettes", 1987)
times modularity (Newman, 2004). Decision 11 has figures.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from learning_memory_server.lessons.clustering.density import Neighbours, likeness_to_others, unit_rows

Groups = list[NDArray[np.int64]]
Path = list[tuple[int, int]]

_SAMPLE: Final = 8_000  # The maximum number of members that the silhouette is measured on
_LEVELS: Final = 64  # Maximum number of levels measured, evenly spaced by the logarithm of their number of groups
_FEWEST: Final = 2  # Fewer groups separate nothing
_AS_GOOD: Final = 0.99  # The coarsest level within this share of the largest product is chosen
_TINY: Final = 1e-6


def group_of(groups: Groups, count: int) -> NDArray[np.int64]:
    """Return the index of each row's group, or the number of groups for a row in none. Shape (count,)."""
    found = np.full(count, len(groups), dtype=np.int64)
    for position, members in enumerate(groups):
        found[members] = position
    return found


def best_level(units: NDArray[np.float32], groups: Groups, path: Path, links: NDArray[np.float64]) -> tuple[int, float]:
    """Return the number of groups of the coarsest level with nearly the largest product, and the largest product.

    Args:
        units: Shape (n, d), rows of length 1.
        groups: The finest level: at least two groups, disjoint.
        path: The pairs of groups to join; the first of each pair stays.
        links: Shape (g, g): the total link weight from one group's members to another's.
    """
    count = len(groups)
    sample = np.sort(np.concatenate(groups))
    sample = sample[:: math.ceil(len(sample) / _SAMPLE)]
    own = group_of(groups, len(units))[sample]
    # A point's mean cosine to a group is one product with the group's sum, so no n x n matrix is needed.
    sums = units[sample] @ np.stack([units[members].sum(axis=0) for members in groups]).T
    sizes = np.asarray([len(members) for members in groups], dtype=np.float32)
    links = links.copy()
    alive = np.ones(count, dtype=bool)
    target = np.arange(count)
    measured = set(np.geomspace(_FEWEST, count, min(_LEVELS, count)).round().astype(int).tolist())
    scores: dict[int, float] = {}
    for number in range(count, _FEWEST - 1, -1):
        if number in measured:
            kept = np.flatnonzero(alive)
            column = np.searchsorted(kept, target[own])
            silhouette = max(0.0, _silhouette(sums[:, kept], sizes[kept], column))
            scores[number] = silhouette * max(0.0, _modularity(links))
        into, gone = path[count - number]
        sums[:, into] += sums[:, gone]
        sizes[into] += sizes[gone]
        links[into] += links[gone]
        links[:, into] += links[:, gone]
        links[gone] = links[:, gone] = 0
        alive[gone] = False
        target[target == gone] = into
    best = max(scores.values())
    # Where nothing is separated, all levels score 0, and the finest claims least.
    return min(number for number, score in scores.items() if score >= _AS_GOOD * best) if best else count, best


def links_between(groups: Groups, rows: NDArray[np.int64], pull: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the total link weight between the members of every two groups, shape (g, g)."""
    count = len(groups)
    own = group_of(groups, len(rows))
    ends = own[:, None] * (count + 1) + own[rows[:, : pull.shape[1]]]
    weight = np.bincount(ends.ravel(), pull.ravel(), minlength=(count + 1) ** 2)
    return np.asarray(weight.reshape(count + 1, count + 1)[:count, :count])


def _modularity(links: NDArray[np.float64]) -> float:
    """Return the share of link weight inside groups, minus the share expected if links were random."""
    total = links.sum()
    if total == 0:
        return 0.0
    return float(np.trace(links) / total - links.sum(axis=0) @ links.sum(axis=1) / total**2)


def _silhouette(sums: NDArray[np.float32], sizes: NDArray[np.float32], own: NDArray[np.int64]) -> float:
    """Return the mean silhouette, by cosine distance, from sums that merging only adds up.

    Args:
        sums: Shape (s, g): for each point, the sum of its cosines to the members of each group.
        sizes: Shape (g,): the size of each group.
        own: Shape (s,): each point's group.
    """
    place = np.arange(len(own))
    # A point's cosine to itself is 1; it counts neither in the sum nor in the size.
    inside = 1 - (sums[place, own] - 1) / np.maximum(sizes[own] - 1, 1)
    distances = 1 - sums / sizes
    distances[place, own] = np.inf
    outside = distances.min(axis=1)
    return float(((outside - inside) / np.maximum(np.maximum(outside, inside), _TINY)).mean())


_SIZE_POWER: Final = 0.6  # How much the size of groups delays their merging: 1 is Ward's rule, 0 compares centres alone
_ONE_TOPIC: Final = 0.55  # In a store about one topic, nine of ten points are this near to the mean of the others
_OUTSIDE: Final = 0.1  # The share of points that may be off the topic
_LEAST_PARTED: Final = 0.25  # The lowest score of the best level in a store about several topics
_VOTERS: Final = 10  # Neighbours that vote on where a noise point belongs
_LEAST_SHARE: Final = 0.5  # The minimum share of all votes
_LEAST_SIMILARITY: Final = 0.4  # The minimum cosine to the centroid


def joined(
    units: NDArray[np.float32],
    points: NDArray[np.float32],
    groups: Groups,
    neighbours: Neighbours,
    pull: NDArray[np.float32],
) -> Groups:
    """Merge groups up to the best level of the hierarchy, or all if they are about one topic. Rows are ascending.

    Args:
        units: Shape (n, d), rows of length 1: the raw vectors, on which levels are scored.
        points: Shape (n, m): the vectors of the density step, whose means say which groups are near.
        groups: Disjoint rows; none is split.
        neighbours: The neighbours of each point.
        pull: Shape (n, k): the weights of the first k neighbours.
    """
    count = len(groups)
    if count < _FEWEST:
        return groups
    sizes = np.asarray([len(members) for members in groups], dtype=np.float64)
    path = join_path(np.stack([points[members].mean(axis=0) for members in groups]), sizes)
    best, score = best_level(units, groups, path, links_between(groups, neighbours.rows, pull))
    if score < _LEAST_PARTED and _is_one_topic(units):
        best = 1
    target = np.arange(count)
    for into, gone in path[: count - best]:
        target[target == gone] = into
    return [
        np.sort(np.concatenate([groups[place] for place in np.flatnonzero(target == kept)]))
        for kept in np.unique(target)
    ]


def _is_one_topic(units: NDArray[np.float32]) -> bool:
    """Whether nearly all points are near the mean of the others; the score cannot tell two parts from two topics."""
    return bool(np.quantile(likeness_to_others(units), _OUTSIDE) >= _ONE_TOPIC)


def join_path(centres: NDArray[np.float32], sizes: NDArray[np.float64]) -> Path:
    """Return the pairs of groups to merge until one is left; the first of each pair stays.

    A pair of sizes a and b costs the squared distance of its centres times (a * b / (a + b)) ** 0.6.
    """
    count = len(centres)
    centres = centres.astype(np.float64)
    sizes = sizes.copy()
    alive = np.ones(count, dtype=bool)

    def prices(place: int) -> NDArray[np.float64]:
        harmonic = sizes * sizes[place] / (sizes + sizes[place])
        price = np.square(centres - centres[place]).sum(axis=1) * harmonic**_SIZE_POWER
        price[~alive] = np.inf
        price[place] = np.inf
        return np.asarray(price)

    table = np.stack([prices(place) for place in range(count)])
    path: Path = []
    for _ in range(count - 1):
        into, gone = sorted(divmod(int(table.argmin()), count))
        path.append((into, gone))
        total = sizes[into] + sizes[gone]
        centres[into] = (sizes[into] * centres[into] + sizes[gone] * centres[gone]) / total
        sizes[into] = total
        alive[gone] = False
        table[into] = table[:, into] = prices(into)
        table[gone] = table[:, gone] = np.inf
    return path


def readmitted(units: NDArray[np.float32], groups: Groups, neighbours: Neighbours) -> Groups:
    """Add noise points to the group with half of the squared cosines of their nearest neighbours, if near enough."""
    if not groups:
        return groups
    outside = len(groups)
    now = group_of(groups, len(units))
    noise = np.flatnonzero(now == outside)
    weight = np.square(np.maximum(neighbours.similarities[noise, :_VOTERS], 0))
    choice = now[neighbours.rows[noise, :_VOTERS]]
    # For each voter, the total weight of all voters that agree with it.
    backing = ((choice[:, :, None] == choice[:, None, :]) * weight[:, None, :]).sum(axis=2)
    backing[choice == outside] = 0
    voter = backing.argmax(axis=1)
    each = np.arange(len(noise))
    winner = np.minimum(choice[each, voter], outside - 1)
    centres = unit_rows(np.stack([units[members].sum(axis=0) for members in groups]))
    taken = (
        (backing[each, voter] > 0)
        & (backing[each, voter] >= _LEAST_SHARE * weight.sum(axis=1))
        & (np.vecdot(units[noise], centres[winner]) >= _LEAST_SIMILARITY)
    )
    return [
        np.sort(np.concatenate([members, noise[taken & (winner == position)]]))
        for position, members in enumerate(groups)
    ]
