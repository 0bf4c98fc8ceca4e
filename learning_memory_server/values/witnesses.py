"""Which experiences were made in a situation that a value speaks of.

That much is for vectors to say, and it is written down once it is found: which experience, which values, how near.
What it means for a value is worked out from the entries each time (see `standing`), so what is forgotten counts no more,
and no line says of an entry more than its id.

An experience is not judged while it is being resolved, but when somebody next asks for values.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.indexing.document import Collection, point_id
from learning_memory_server.observation.documents import is_on
from learning_memory_server.observation.query import EntryQuery
from learning_memory_server.storage.base import Filter, TimeRange
from learning_memory_server.values.witness_log import Earlier, Judged

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.domain.value import Value
    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.observation.collector import ObservationCollector
    from learning_memory_server.storage.base import VectorStore
    from learning_memory_server.values.circles import Circle
    from learning_memory_server.values.witness_log import Near, WitnessLog

log = structlog.get_logger()

_BATCH: Final = 512
"""Experiences that are judged in one go; others get their turn in between."""


class Witnesses:
    """Finds the experiences that count for values. Nothing that goes wrong here stops anybody else.

    Args:
        log: Where they are written down.
        collector: Where experiences are.
        index: Where their vectors are.
        clock: Tells the time.
    """

    def __init__(
        self, log: WitnessLog, collector: ObservationCollector, index: VectorIndex, clock: Clock
    ) -> None:
        self._log = log
        self._collector = collector
        self._index = index
        self._clock = clock
        self._lock = asyncio.Lock()
        self._judged: set[str] = set()
        self._known: set[str] = set()
        self._latest: datetime | None = None
        self._made: dict[str, Circle] = {}

    def of_values(self) -> dict[str, list[str]]:
        """Return the ids of the experiences that count for each value, as far as they have been judged."""
        return self._log.of_values()

    def count_unjudged(self, shown: Sequence[Value], values: Sequence[Value]) -> int:
        """Return how many experiences may count for the values that are shown, of all values, and are not judged yet."""
        return self._log.count_unjudged(shown, values, self._collector)

    async def catch_up(self, values: Sequence[Value]) -> None:
        """Judge the experiences that were not judged yet, as far as that is possible now.

        The others wait for the model, for the engine, or to be indexed. In each process the ones since the oldest value
        are judged once more; only what is new is written.

        Args:
            values: All values.
        """
        async with self._lock:
            self._begin_again_for_older(values)
            waiting = self._waiting(values)
            if waiting and self._index.is_open:
                try:
                    for start in range(0, len(waiting), _BATCH):
                        await self._judge(waiting[start : start + _BATCH], values)
                        # Nothing above gives others their turn.
                        await asyncio.sleep(0)
                except LearningMemoryError as error:
                    log.warning("experiences.unjudged", count=len(waiting), reason=error.message)

    def _begin_again_for_older(self, values: Sequence[Value]) -> None:
        """Judge everything again if a value has come that is older than what is judged: one from elsewhere."""
        new = [value for value in values if value.id not in self._known]
        if any(self._latest is not None and value.created_at < self._latest for value in new):
            self._judged.clear()
        self._known = {value.id for value in values}

    def _waiting(self, values: Sequence[Value]) -> list[Ghap]:
        if not values:
            return []
        since = EntryQuery(since=min(value.created_at for value in values))
        later = self._collector.list_resolved(since)
        return [entry for entry in reversed(later) if entry.id not in self._judged]

    async def _judge(self, waiting: Sequence[Ghap], values: Sequence[Value]) -> None:
        """Judge experiences, which are in the order of their resolution, as far as they are in the index."""
        from learning_memory_server.values.circles import containing  # noqa: PLC0415 - numpy

        store = await self._index.open()
        points = {entry.id: point_id("ghap", entry.id) for entry in waiting}
        found: dict[str, Near] = {entry.id: {} for entry in waiting}
        by_id = {value.id: value for value in values}
        for axis in {value.cluster_id.axis for value in values}:
            circles = await self._circles(store, [value for value in values if value.cluster_id.axis is axis])
            if circles is None:
                return
            vectors = await _vectors_between(store, axis, waiting)
            for entry in waiting:
                if is_on(axis, entry) and points[entry.id] not in vectors:
                    found.pop(entry.id, None)
            here = [entry for entry in waiting if entry.id in found and points[entry.id] in vectors]
            rows = _stack([vectors[points[entry.id]] for entry in here])
            for entry, near in zip(here, containing(rows, circles) if here else (), strict=True):
                found[entry.id].update(_of_earlier_values(entry, near, by_id))
        earlier, ends = Earlier(values), {entry.id: entry for entry in waiting}
        self._log.add(
            {name: Judged(near, earlier.than(ends[name])) for name, near in found.items()}, self._clock()
        )
        self._judged |= found.keys()
        judged = [entry.outcome.resolved_at for entry in waiting if entry.id in found]
        self._latest = max([*judged, *([self._latest] if self._latest else [])], default=None)

    async def _circles(self, store: VectorStore, values: Sequence[Value]) -> list[Circle] | None:
        """Return the values' circles. Where another model made one, it is made anew from the members there are.

        None if that is to be done, and members are not in the index yet.
        """
        import numpy as np  # noqa: PLC0415 - not before a value is judged by

        from learning_memory_server.values.circles import Circle  # noqa: PLC0415 - numpy

        identity, origin = await self._index.identity(), await self._index.origin()
        for value in values:
            kept = value.evidence
            if value.id in self._made:
                continue
            if (
                kept.radius is not None
                and kept.embedding == origin
                and len(kept.centroid) == identity.dimension
            ):
                centre = np.array(kept.centroid, dtype=np.float32)
                self._made[value.id] = Circle(value.id, centre, kept.radius)
                continue
            known = self._collector.look_up(kept.member_ids).found
            members = [point_id("ghap", entry.id) for entry in known]
            collection = Collection.of(value.cluster_id.axis)
            records = await store.retrieve(collection, members, with_vectors=True)
            if len(records) < len(members):
                return None
            if records:
                vectors = _stack([record.vector for record in records])
                self._made[value.id] = Circle.around(value.id, vectors)
        return [self._made[value.id] for value in values if value.id in self._made]


def _of_earlier_values(entry: Ghap, near: Near, values: Mapping[str, Value]) -> Near:
    """Return the part about values that were there before; what a value was learned from is kept with the value."""
    return {
        value_id: round(cosine, 4)
        for value_id, cosine in near.items()
        if values[value_id].created_at < entry.outcome.resolved_at
        and entry.id not in values[value_id].evidence.member_ids
    }


async def _vectors_between(
    store: VectorStore, axis: Axis, entries: Sequence[Ghap]
) -> dict[str, NDArray[np.float32]]:
    """Return the vectors of an axis from the first to the last of the entries, by the ids of their points."""
    times = TimeRange("resolved_at", entries[0].outcome.resolved_at, entries[-1].outcome.resolved_at)
    records = await store.scroll(Collection.of(axis), where=Filter(times=(times,)), with_vectors=True)
    return {record.id: record.vector for record in records if record.vector is not None}


def _stack(rows: Sequence[NDArray[np.float32] | None]) -> NDArray[np.float32]:
    import numpy as np  # noqa: PLC0415 - not before a vector is needed

    return np.array(rows, dtype=np.float32)
