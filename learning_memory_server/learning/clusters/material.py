"""The input of fits: the entries of an axis, and their vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.index.entry_documents import axis_texts, is_on
from learning_memory_server.index.entry_query import EntryQuery
from learning_memory_server.model.vocabulary import Axis

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.model.entry import Ghap

_TASK: Final = (Axis.STRATEGY, Axis.FULL)
_APART: Final = {Axis.SURPRISE: _TASK, Axis.ROOT_CAUSE: (*_TASK, Axis.SURPRISE)}
"""The other axes that `own_part` needs. Every entry is on those of the task."""
_SLICE: Final = 2_000
"""Vectors put into a matrix at a time, while the GIL is held."""


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """The input of a fit of one axis: rows ordered by text and then id, whatever the order of writing."""

    ids: Sequence[str]  # the entries' ids
    vectors: NDArray[np.float32]  # shape (n, d)
    weights: NDArray[np.float64]  # shape (n,), each above 0
    texts: Sequence[str]  # what labels are made from: the texts of the vectors without the values of fields
    apart: Sequence[NDArray[np.float32]] = ()
    """On the axes surprise and root_cause, what else `own_part` takes."""


class AxisSource:
    """The experiences of one axis, as the journal and the index have them."""

    def __init__(
        self, axis: Axis, project: str | None, index: VectorIndex, collector: ObservationCollector
    ) -> None:
        self._axis = axis
        self._project = project
        self._collection = Collection.of(axis)
        self._others = tuple(map(Collection.of, _APART.get(axis, ())))
        self._index = index
        self._collector = collector

    def stamp(self) -> tuple[int, int]:
        """Return a value that changes whenever this process changes the axis."""
        used = (self._collection, *self._others)
        return sum(map(self._index.generation, used)), len(self._collector.all_forgotten())

    def entries(self) -> dict[str, Ghap]:
        """Return every entry on the axis, by id, indexed or not."""
        return {
            entry.id: entry
            for entry in self._collector.list_resolved(EntryQuery(project=self._project))
            if is_on(self._axis, entry)
        }

    async def material(self) -> Material:
        """Return the input of a fit: all indexed entries."""
        vectors = await self._index.vectors(self._collection)
        others = [await self._index.vectors_of(other, list(vectors)) for other in self._others]
        # Read after the awaits: what was forgotten meanwhile is left out.
        return await asyncio.to_thread(_material, self._axis, self.entries(), vectors, others)


def _material(
    axis: Axis,
    entries: Mapping[str, Ghap],
    vectors: Mapping[str, NDArray[np.float32]],
    others: Sequence[Mapping[str, NDArray[np.float32]]],
) -> Material:
    import numpy as np  # noqa: PLC0415 - not before clusters are requested

    points = {name: point_id("ghap", name) for name in entries}
    needed = (vectors, *others[: len(_TASK)])
    indexed = [name for name, point in points.items() if all(point in each for each in needed)]
    texts = {name: axis_texts(entries[name])[axis] for name in indexed}
    ids = sorted(indexed, key=lambda name: (texts[name], name))
    nothing = np.zeros_like(next(iter(vectors.values()), np.empty(0, np.float32)))
    found = [_matrix([each.get(points[name], nothing) for name in ids]) for each in (vectors, *others)]
    return Material(
        ids,
        found[0],
        np.array([entries[name].weight for name in ids]),
        [_said(axis, entries[name]) for name in ids],
        found[1:],
    )


def _matrix(rows: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415 - as above

    parts = [
        np.array(rows[start : start + _SLICE], dtype=np.float32) for start in range(0, len(rows), _SLICE)
    ]
    return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)


def _said(axis: Axis, entry: Ghap) -> str:
    """Return what an entry says on an axis, a line for each statement.

    The domain, strategy, status and category are values of fields, which name no topic.
    """
    end = entry.outcome
    cause = end.root_cause.description if end.root_cause else None
    worked = end.lesson.what_worked if end.lesson else None
    takeaway = end.lesson.takeaway if end.lesson else None
    statements = {
        Axis.FULL: (
            *(entry.goal, entry.hypothesis, entry.action, entry.prediction),
            *(end.result, end.surprise, cause, worked, takeaway),
        ),
        Axis.STRATEGY: (entry.goal, worked),
        Axis.SURPRISE: (end.surprise, entry.prediction, end.result, cause),
        Axis.ROOT_CAUSE: (cause,),
    }
    return "\n".join(said for said in statements[axis] if said)
