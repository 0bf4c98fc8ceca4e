"""Which level of a hierarchy of groups to keep: how well it parts the points, times how well it keeps neighbours together.

The first is the mean silhouette (Rousseeuw, "Silhouettes", 1987), which alone prefers too many groups; the second is
the modularity of the neighbour graph (Newman, 2004), which alone prefers too few, the more so the larger the store is.
Of 48 draws of 100 to 5,000 requests, the silhouette kept 1.5 times as many groups as there were topics, modularity .95
times as many, and their product 1.35 times as many, with an ARI .03 and .01 above theirs.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Groups = list[NDArray[np.int64]]
    Path = list[tuple[int, int]]

_SAMPLE: Final = 8_000
"""Members at most that the silhouette of a level is measured on. With 2,000 of 5,000 the best level changed more often
as the store grew: 80 % of clusters kept their number, against 96 %."""
_LEVELS: Final = 64
"""Levels at most that are measured, evenly spaced by the logarithm of their number of groups."""
_FEWEST: Final = 2
"""Nothing is parted by fewer."""
_TINY: Final = 1e-6


def group_of(groups: Groups, count: int) -> NDArray[np.int64]:
    """Return the position of each row's group, or the number of groups for a row in none. Shape (count,).

    Args:
        groups: Disjoint rows.
        count: How many rows there are.
    """
    found = np.full(count, len(groups), dtype=np.int64)
    for position, members in enumerate(groups):
        found[members] = position
    return found


def best_level(
    units: NDArray[np.float32], groups: Groups, path: Path, links: NDArray[np.float64]
) -> tuple[int, float]:
    """Return the number of groups at which the product is the largest, of equals the finest, and the product.

    Every point counts the same. If every group did, or if the vectors were taken less their mean, small topics beside a
    large one would be joined to one another.

    Args:
        units: Shape (n, d), rows of length 1.
        groups: At least two, disjoint: the finest level.
        path: The pairs of groups to join, the first of each staying.
        links: Shape (g, g): the weight of the links from the members of one group to those of another.
    """
    count = len(groups)
    sample = np.sort(np.concatenate(groups))
    sample = sample[:: math.ceil(len(sample) / _SAMPLE)]
    own = group_of(groups, len(units))[sample]
    # The mean cosine of a point to a group is one product with the group's sum: no n x n matrix is needed.
    sums = units[sample] @ np.stack([units[members].sum(axis=0) for members in groups]).T
    sizes = np.asarray([len(members) for members in groups], dtype=np.float32)
    links = links.copy()
    alive = np.ones(count, dtype=bool)
    target = np.arange(count)
    measured = set(np.geomspace(_FEWEST, count, min(_LEVELS, count)).round().astype(int).tolist())
    best, level = -np.inf, count
    for number in range(count, _FEWEST - 1, -1):
        if number in measured:
            kept = np.flatnonzero(alive)
            column = np.searchsorted(kept, target[own])
            score = max(0.0, _silhouette(sums[:, kept], sizes[kept], column)) * max(0.0, _modularity(links))
            if score > best:
                best, level = score, number
        into, gone = path[count - number]
        sums[:, into] += sums[:, gone]
        sizes[into] += sizes[gone]
        links[into] += links[gone]
        links[:, into] += links[:, gone]
        links[gone] = links[:, gone] = 0
        alive[gone] = False
        target[target == gone] = into
    return level, float(best)


def links_between(groups: Groups, rows: NDArray[np.int64], pull: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the weight of the links between the members of each two groups, of shape (g, g).

    Args:
        groups: Disjoint rows.
        rows: Shape (n, at least k): the neighbours of each point.
        pull: Shape (n, k): how much the first k of them weigh.
    """
    count = len(groups)
    own = group_of(groups, len(rows))
    ends = own[:, None] * (count + 1) + own[rows[:, : pull.shape[1]]]
    weight = np.bincount(ends.ravel(), pull.ravel(), minlength=(count + 1) ** 2)
    return np.asarray(weight.reshape(count + 1, count + 1)[:count, :count])


def _modularity(links: NDArray[np.float64]) -> float:
    """Return the share of the links that stay inside, less what it would be if ends met at random."""
    total = links.sum()
    if total == 0:
        return 0.0
    return float(np.trace(links) / total - links.sum(axis=0) @ links.sum(axis=1) / total**2)


def _silhouette(sums: NDArray[np.float32], sizes: NDArray[np.float32], own: NDArray[np.int64]) -> float:
    """Return the mean silhouette by cosine distance.

    Args:
        sums: Shape (s, g): for each point, the sum of its cosines to the members of each group.
        sizes: Shape (g,): how many members each group has.
        own: Shape (s,): each point's group.
    """
    place = np.arange(len(own))
    # A point's cosine to itself is 1, and counts neither in the sum nor in the number.
    inside = 1 - (sums[place, own] - 1) / np.maximum(sizes[own] - 1, 1)
    distances = 1 - sums / sizes
    distances[place, own] = np.inf
    outside = distances.min(axis=1)
    return float(((outside - inside) / np.maximum(np.maximum(outside, inside), _TINY)).mean())
