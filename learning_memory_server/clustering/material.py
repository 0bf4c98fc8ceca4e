"""What fits and placements are made from: the entries of an axis, and their vectors."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.indexing.document import Collection, point_id
from learning_memory_server.observation.documents import axis_texts, is_on

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.observation.collector import ObservationCollector
    from learning_memory_server.storage.base import Hit, Record

_SLICE: Final = 2_000
"""Vectors that are put into a matrix at a time; the interpreter is held meanwhile."""
_MOST_RETRIEVED: Final = 200


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """What a fit of an axis is made from. Rows are ordered by id.

    Args:
        ids: The entries' ids.
        vectors: Shape (n, d).
        weights: Shape (n,), each above 0.
        texts: What the vectors were made from.
    """

    ids: Sequence[str]
    vectors: NDArray[np.float32]
    weights: NDArray[np.float64]
    texts: Sequence[str]


class AxisSource:
    """The experiences of one axis, as the journal and the index have them.

    Args:
        axis: The axis.
        index: Where the vectors are.
        collector: Where the entries are.
    """

    def __init__(self, axis: Axis, index: VectorIndex, collector: ObservationCollector) -> None:
        self._axis = axis
        self._collection = Collection.of(axis)
        self._index = index
        self._collector = collector

    def stamp(self) -> tuple[int, int]:
        """Return what changes whenever this process changes what is on the axis."""
        return self._index.generation(self._collection), len(self._collector.all_forgotten())

    def entries(self) -> dict[str, Ghap]:
        """Return every entry that belongs on the axis, by id, whether it is indexed yet or not."""
        return {entry.id: entry for entry in self._collector.list_resolved() if is_on(self._axis, entry)}

    async def material(self) -> Material:
        """Return what a fit is made from: all entries that are indexed.

        Raises:
            EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
        """
        store = await self._index.open()
        records = await store.scroll(self._collection, with_vectors=True)
        return await asyncio.to_thread(_material, self._axis, self.entries(), records)

    async def vectors_of(self, ids: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        """Return the vectors, of length 1, of those of the entries that are indexed.

        Raises:
            EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
        """
        from learning_memory_server.clustering.neighbours import unit_rows  # noqa: PLC0415 - numpy

        store = await self._index.open()
        found: dict[str, NDArray[np.float32]] = {}
        for start in range(0, len(ids), _MOST_RETRIEVED):
            names = {point_id("ghap", name): name for name in ids[start : start + _MOST_RETRIEVED]}
            for record in await store.retrieve(self._collection, list(names), with_vectors=True):
                if record.vector is not None:
                    found[names[record.id]] = unit_rows(record.vector[None])[0]
        return found

    async def nearest(self, vector: NDArray[np.float32], limit: int) -> list[Hit]:
        """Return the points nearest to a vector; their ids are those of points.

        Raises:
            EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
        """
        store = await self._index.open()
        return await store.search(self._collection, vector, limit=limit)


def _material(axis: Axis, entries: Mapping[str, Ghap], records: Sequence[Record]) -> Material:
    import numpy as np  # noqa: PLC0415 - not before a cluster is wanted

    vectors = {record.id: record.vector for record in records}
    points = {name: point_id("ghap", name) for name in sorted(entries)}
    rows = [(name, vectors[point]) for name, point in points.items() if vectors.get(point) is not None]
    parts = [
        np.array([vector for _, vector in rows[start : start + _SLICE]], dtype=np.float32)
        for start in range(0, len(rows), _SLICE)
    ]
    ids = [name for name, _ in rows]
    return Material(
        ids,
        np.concatenate(parts) if parts else np.empty((0, 0), np.float32),
        np.array([entries[name].weight for name in ids]),
        [axis_texts(entries[name])[axis] for name in ids],
    )
