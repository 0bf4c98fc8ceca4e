"""The neighbour list of a store that has changed a little, from the one before.

Finding all neighbours compares every point with every other. After a change only the new points have to be compared
with all, and the points that have lost a neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from learning_memory_server.clustering.neighbours import (
    BLOCK_FLOATS,
    Neighbours,
    largest,
    nearest_neighbours,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MOST_CHANGED: Final = 0.4
"""The share of rows from which starting anew is as quick."""
_TOLERANCE: Final = 1e-3
"""How far a similarity may be from the one kept: single precision is off by 1e-6, another model by far more."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownNeighbours:
    """Neighbours that were found earlier.

    Args:
        ids: What the rows were called.
        neighbours: The neighbours of those rows.
    """

    ids: Sequence[str]
    neighbours: Neighbours


def neighbours_of(
    units: NDArray[np.float32], ids: Sequence[str], k: int, known: KnownNeighbours | None
) -> Neighbours:
    """Find the exact nearest neighbours, with the help of what is known where it helps.

    Args:
        units: Shape (n, d), rows of length 1.
        ids: What the rows are called.
        k: How many neighbours to keep; n - 1 if that is less.
        known: What was found earlier, for rows some of which may be gone and others new; its vectors may turn out
            to have been others, in which case it is not used.
    """
    if known is not None and known.neighbours.k == k < len(ids):
        found = _updated(units, ids, known)
        if found is not None:
            return found
    return nearest_neighbours(units, k)


def _updated(units: NDArray[np.float32], ids: Sequence[str], known: KnownNeighbours) -> Neighbours | None:
    count, before = len(ids), known.neighbours
    row_of = {name: row for row, name in enumerate(ids)}
    now = np.array([row_of.get(name, -1) for name in known.ids], dtype=np.int64)
    rows = np.full((count, before.k), -1, dtype=np.int64)
    similarities = np.zeros((count, before.k), dtype=np.float32)
    kept = np.flatnonzero(now >= 0)
    rows[now[kept]] = now[before.rows[kept]]
    similarities[now[kept]] = before.similarities[kept]
    intact = np.flatnonzero((rows >= 0).all(axis=1))
    missing = np.setdiff1d(np.arange(count), intact)
    if len(missing) > _MOST_CHANGED * count:
        return None
    actual = np.vecdot(units[intact], units[rows[intact, 0]])
    if np.abs(actual - similarities[intact, 0]).max() > _TOLERANCE:
        return None
    is_new = np.ones(count, dtype=bool)
    is_new[now[kept]] = False
    rivals = []
    height = max(1, BLOCK_FLOATS // count)
    for start in range(0, len(missing), height):
        these = missing[start : start + height]
        block = units[these] @ units.T
        block[np.arange(len(these)), these] = -np.inf
        rows[these], similarities[these] = largest(block, before.k)
        new = np.flatnonzero(is_new[these])
        closer, owner = np.nonzero(block[np.ix_(new, intact)] >= similarities[intact, -1])
        rivals.append((intact[owner], these[new[closer]], block[new[closer], intact[owner]]))
    _merge(rows, similarities, rivals)
    return Neighbours(rows, similarities)


def _merge(
    rows: NDArray[np.int64],
    similarities: NDArray[np.float32],
    rivals: Sequence[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]],
) -> None:
    """Let each of the rivals (owner, neighbour, similarity) take its place among its owner's neighbours, if it has one."""
    if not rivals:
        return
    owner, neighbour, similarity = (np.concatenate(parts) for parts in zip(*rivals, strict=True))
    touched = np.unique(owner)
    k = rows.shape[1]
    owner = np.concatenate([np.repeat(touched, k), owner])
    neighbour = np.concatenate([rows[touched].ravel(), neighbour])
    similarity = np.concatenate([similarities[touched].ravel(), similarity])
    order = np.lexsort((neighbour, -similarity, owner))
    first = np.searchsorted(owner[order], touched)
    chosen = order[first[:, None] + np.arange(k)]
    rows[touched] = neighbour[chosen]
    similarities[touched] = similarity[chosen]
