"""Match the clusters of consecutive runs, so that a cluster keeps its number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

INHERITED_SHARE: Final = 0.3
"""The minimum Jaccard index, over members known to both runs, at which a cluster keeps its number."""


@dataclass(frozen=True, slots=True)
class Matching:
    """How the clusters of a run continue those of the previous run."""

    numbers: tuple[int, ...]  # the number of each current cluster, in the order given; unique
    next_number: int  # the number of the next new cluster. It only grows.
    split_from: Mapping[int, int]  # for a new number, the previous number that most of its known members had
    merged_into: Mapping[int, int]
    """For a previous number that no cluster inherited, the current number that most of its members have. A previous
    number that is neither here nor in `numbers` has no member in any cluster now."""


def inherit(
    previous: Mapping[int, frozenset[str]], current: Sequence[frozenset[str]], next_number: int
) -> Matching:
    """Number the current clusters so that each keeps the number of the previous cluster it shares most members with.

    The assignment maximises the sum of Jaccard indices (Hungarian method). Only members that both runs put into a
    cluster count, so new entries, deleted ones and noise never cost a cluster its number. `next_number` is above every
    number ever assigned.
    """
    if previous and next_number <= max(previous):
        raise ValueError(f"next_number {next_number} is not above {max(previous)}, which is already assigned")
    known = sorted(previous)
    overlap = _overlap([previous[number] for number in known], current)
    inherited = _assigned(overlap)
    numbers: list[int] = []
    split_from: dict[int, int] = {}
    for place in range(len(current)):
        if place in inherited:
            numbers.append(known[inherited[place]])
            continue
        numbers.append(next_number)
        if known and overlap[:, place].any():
            split_from[next_number] = known[int(overlap[:, place].argmax())]
        next_number += 1
    kept = set(inherited.values())
    merged_into = {
        number: numbers[int(overlap[row].argmax())]
        for row, number in enumerate(known)
        if row not in kept and overlap[row].any()
    }
    return Matching(tuple(numbers), next_number, split_from, merged_into)


def _overlap(before: Sequence[frozenset[str]], now: Sequence[frozenset[str]]) -> NDArray[np.int64]:
    """Return how many members each previous cluster (rows) shares with each current one (columns)."""
    column_of = {member: column for column, members in enumerate(now) for member in members}
    overlap = np.zeros((len(before), len(now)), dtype=np.int64)
    for row, members in enumerate(before):
        for member in members:
            if member in column_of:
                overlap[row, column_of[member]] += 1
    return overlap


def _assigned(overlap: NDArray[np.int64]) -> dict[int, int]:
    """Return the row that each column inherits from, for columns that inherit."""
    from scipy.optimize import linear_sum_assignment  # noqa: PLC0415

    if not overlap.any():
        return {}
    union = overlap.sum(axis=1, keepdims=True) + overlap.sum(axis=0, keepdims=True) - overlap
    jaccard = overlap / np.maximum(union, 1)
    rows, columns = linear_sum_assignment(jaccard, maximize=True)
    return {
        int(column): int(row)
        for row, column in zip(rows, columns, strict=True)
        if jaccard[row, column] >= INHERITED_SHARE
    }
