"""Joins groups that density parted too finely, takes noise back, and drops who is nearer to another group.

Groups are joined two by two, the nearest first, to the level that `levels.py` finds best. Density is asked for small
groups, because what it does not part no later step does: with groups three times as large, in draws of 300 to 5,000
requests a fifth more of the members were of another topic than most of their cluster.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from learning_memory_server.clustering.levels import best_level, group_of, links_between
from learning_memory_server.clustering.neighbours import likeness_to_others, unit_rows
from learning_memory_server.clustering.placement import LEAST_SHARE, LEAST_SIMILARITY, VOTERS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from learning_memory_server.clustering.levels import Groups, Path
    from learning_memory_server.clustering.neighbours import Neighbours

_SIZE_POWER: Final = 0.6
"""How much the joining of large groups is put off: 1 is Ward's rule, under which the parts of one very large topic
outlive small topics, and 0 compares centres alone. .25, .6 and 1 measured within .01 ARI of one another over all draws;
lower is better where sizes follow Zipf's law, higher where topics are alike in size."""
_FEWEST: Final = 2
_ONE_TOPIC: Final = 0.55
"""The cosine to the mean of the others that nine of ten points of a store on one topic have."""
_OUTSIDE: Final = 0.1
"""The share of points that may be off the topic."""
_LEAST_PARTED: Final = 0.25
"""What the best level of a store on several topics scores at least."""


def joined(
    units: NDArray[np.float32],
    points: NDArray[np.float32],
    groups: Groups,
    neighbours: Neighbours,
    pull: NDArray[np.float32],
) -> Groups:
    """Join groups to the level of the hierarchy that is parted best, or all of them if they are on one topic.

    Args:
        units: Shape (n, d), rows of length 1: the raw vectors, which levels are measured on.
        points: Shape (n, m): the vectors in which density was found, whose means say what is near.
        groups: Disjoint rows; each is kept whole.
        neighbours: Those of each point.
        pull: Shape (n, k): how much the first k of them pull.

    Returns:
        Rows ascend in each.
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
    """Whether nearly all points are near to the mean of the others; of a store with small topics beside a large one, few.

    Parts of one topic are parted no worse than two topics of one field are, so the score alone cannot tell.
    """
    return bool(np.quantile(likeness_to_others(units), _OUTSIDE) >= _ONE_TOPIC)


def join_path(centres: NDArray[np.float32], sizes: NDArray[np.float64]) -> Path:
    """Return the pairs of groups to join, the first of each staying, until one is left.

    The price of a pair is the squared distance of its centres times (a * b / (a + b)) ** 0.6 for sizes a and b.

    Args:
        centres: Shape (g, m).
        sizes: Shape (g,).
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
    partner = table.argmin(axis=1)
    cheapest = table[np.arange(count), partner]
    path: Path = []
    for _ in range(count - 1):
        one = int(cheapest.argmin())
        into, gone = sorted((one, int(partner[one])))
        path.append((into, gone))
        total = sizes[into] + sizes[gone]
        centres[into] = (sizes[into] * centres[into] + sizes[gone] * centres[gone]) / total
        sizes[into] = total
        alive[gone] = False
        renewed = prices(into)
        table[into] = renewed
        table[:, into] = renewed
        table[gone] = table[:, gone] = np.inf
        stale = np.flatnonzero(alive & ((partner == into) | (partner == gone)))
        stale = np.union1d(stale, [into])
        partner[stale] = table[stale].argmin(axis=1)
        nearer = np.flatnonzero(renewed < cheapest)
        partner[nearer] = into
        cheapest[nearer] = renewed[nearer]
        cheapest[stale] = table[stale, partner[stale]]
        cheapest[gone] = np.inf
    return path


def readmitted(units: NDArray[np.float32], groups: Groups, neighbours: Neighbours) -> Groups:
    """Take back points of noise that most of their nearest neighbours vouch for.

    This is the rule of `placement.place` for many points at once: neighbours vote by the square of their cosine, noise
    for noise.

    Args:
        units: Shape (n, d), rows of length 1.
        groups: Disjoint rows.
        neighbours: Those of each point.
    """
    if not groups:
        return groups
    nobody = len(groups)
    now = group_of(groups, len(units))
    noise = np.flatnonzero(now == nobody)
    weight = np.square(np.maximum(neighbours.similarities[noise, :VOTERS], 0))
    choice = now[neighbours.rows[noise, :VOTERS]]
    # For each voter, the weight of all that vote as it does.
    backing = ((choice[:, :, None] == choice[:, None, :]) * weight[:, None, :]).sum(axis=2)
    backing[choice == nobody] = 0
    voter = backing.argmax(axis=1)
    each = np.arange(len(noise))
    winner = np.minimum(choice[each, voter], nobody - 1)
    centres = unit_rows(np.stack([units[members].sum(axis=0) for members in groups]))
    taken = (
        (backing[each, voter] > 0)
        & (backing[each, voter] >= LEAST_SHARE * weight.sum(axis=1))
        & (np.vecdot(units[noise], centres[winner]) >= LEAST_SIMILARITY)
    )
    return [
        np.sort(np.concatenate([members, noise[taken & (winner == position)]]))
        for position, members in enumerate(groups)
    ]


def without_misplaced(
    units: NDArray[np.float32], groups: Groups, neighbours: Neighbours, size: int
) -> Groups:
    """Drop members that are nearer to the mean of a neighbour's group than to that of the others of their own.

    In class-balanced and in skewed draws this made purity .01 larger, noise .01, and ARI not smaller by more than .003.

    Args:
        units: Shape (n, d), rows of length 1.
        groups: Disjoint rows.
        neighbours: Those of each point.
        size: A group that falls below this is dissolved.
    """
    nobody = len(groups)
    now = group_of(groups, len(units))
    sums = [units[members].sum(axis=0) for members in groups]
    centres = unit_rows(np.stack(sums)) if sums else units[:0]
    kept = []
    for position, members in enumerate(groups):
        own = likeness_to_others(units[members])
        beside = now[neighbours.rows[members, :VOTERS]]
        stays = np.ones(len(members), dtype=bool)
        for rival in np.unique(beside[(beside != position) & (beside != nobody)]).tolist():
            near = np.flatnonzero((beside == rival).any(axis=1))
            stays[near] &= own[near] >= units[members[near]] @ centres[rival]
        if stays.sum() >= size:
            kept.append(members[stays])
    return kept
