"""The clusters of one axis, of all projects or one: the last fit, and when the next is needed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.errors import InsufficientDataError, LearningMemoryError, NoAnswerError
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.index.entry_documents import axis_texts, is_on
from learning_memory_server.index.entry_query import EntryQuery
from learning_memory_server.learning.clusters.clusters import AxisClusters, AxisFit, clusters_of
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.system.memory_release import trim_heap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.learning.clusters.fitting import FitRequest, Fitting
    from learning_memory_server.learning.clusters.lineage import LineageLog
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.moment import Clock

_TASK: Final = (Axis.STRATEGY, Axis.FULL)
_APART: Final = {Axis.SURPRISE: _TASK, Axis.ROOT_CAUSE: (*_TASK, Axis.SURPRISE)}
"""The other axes that `without_task` needs. Every entry is on those of the task."""
_SLICE: Final = 2_000
"""Vectors put into a matrix at a time, while the GIL is held."""


class AxisSource:
    """The experiences of one axis, of all projects or one, as the journal and the index have them."""

    def __init__(
        self, axis: Axis, project: str | None, index: VectorIndex, collector: ObservationCollector
    ) -> None:
        self.axis = axis
        self.project = project
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
            for entry in self._collector.list_resolved(EntryQuery(project=self.project))
            if is_on(self.axis, entry)
        }

    async def material(self) -> FitRequest:
        """Return the input of a fit: all indexed entries, without a previous run."""
        vectors = await self._index.vectors(self._collection)
        others = [await self._index.vectors_of(other, list(vectors)) for other in self._others]
        # Read after the awaits: what was forgotten meanwhile is left out.
        return await asyncio.to_thread(_material, self.axis, self.entries(), vectors, others)


def _material(
    axis: Axis,
    entries: Mapping[str, Ghap],
    vectors: Mapping[str, NDArray[np.float32]],
    others: Sequence[Mapping[str, NDArray[np.float32]]],
) -> FitRequest:
    import numpy as np  # noqa: PLC0415 - not before clusters are requested

    from learning_memory_server.learning.clusters.fitting import FitRequest  # noqa: PLC0415 - the same

    points = {name: point_id("ghap", name) for name in entries}
    needed = (vectors, *others[: len(_TASK)])
    indexed = [name for name, point in points.items() if all(point in each for each in needed)]
    texts = {name: axis_texts(entries[name])[axis] for name in indexed}
    ids = sorted(indexed, key=lambda name: (texts[name], name))
    nothing = np.zeros_like(next(iter(vectors.values()), np.empty(0, np.float32)))
    found = [_matrix([each.get(points[name], nothing) for name in ids]) for each in (vectors, *others)]
    weights = np.array([entries[name].weight for name in ids])
    return FitRequest(found[0], weights, [_said(axis, entries[name]) for name in ids], ids, apart=found[1:])


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


log = structlog.get_logger()


@dataclass(eq=False)
class LiveAxis:
    """The state of one axis's clusters."""

    source: AxisSource
    min_experiences: int
    fitting: Fitting
    lineages: LineageLog
    clock: Clock
    one_fit: asyncio.Lock  # makes the axes take turns, because they share numbers and the fitting process
    waited_for: int  # the most experiences in a fit that a question waits for if there is an earlier one
    _fit: AxisFit | None = field(default=None, init=False)
    _fitted: tuple[int, int] | None = field(default=None, init=False)  # the stamp of the fit
    _shown: AxisClusters | None = field(default=None, init=False)
    _running: asyncio.Task[None] | None = field(default=None, init=False)
    _is_reading: bool = field(default=False, init=False)

    async def clusters(self, until: float | None) -> AxisClusters:
        """Return the clusters of the current experiences, or of the last fit while a large store is fitted again.

        `until`, in the loop's time, is when to stop waiting for vectors. Raises what `cluster_axis` raises.
        """
        if self._fit is None or self._fitted != self.source.stamp():
            self._shown = None
            if len(self.source.entries()) < self.min_experiences:
                # Counted in the index, so that a broken index is reported rather than a lack of data.
                self._require(await self._count(until))
            await self._follow(until)
        return self._shown or await self._view()

    def drop(self) -> None:
        """Drop the fit."""
        self._fit = self._shown = None

    async def settled(self) -> None:
        """Wait for a running fit."""
        if self._running is not None:
            await asyncio.wait([self._running])

    async def close(self) -> None:
        """Cancel a running fit."""
        if self._running is not None:
            self._running.cancel()
            await self.settled()

    async def _count(self, until: float | None) -> int:
        try:
            async with asyncio.timeout_at(until):
                return len((await self.source.material()).ids)
        except TimeoutError:
            raise _late() from None

    async def _follow(self, until: float | None) -> None:
        """Wait for a fit of what is there now; if a large store has a fit already, only start one."""
        last = self._fit
        if last is not None and len(last.numbers) > self.waited_for:
            self._run()
            return
        stamp = self.source.stamp()
        try:
            await self._wait_for(self._run(), until)
            if self._fitted is None or self._fitted < stamp:
                # It had begun before the last write that this caller knows of.
                await self._wait_for(self._run(), until)
        except InsufficientDataError:
            raise
        except LearningMemoryError:
            if self._fit is None:
                raise

    async def _wait_for(self, fitting: asyncio.Task[None], until: float | None) -> None:
        """Wait for a fit. Cancelling the caller does not cancel the fit: others may wait for it.

        Raises `NoAnswerError` if its vectors are still being read at the end of the wait.
        """
        left = None if until is None else max(until - asyncio.get_running_loop().time(), 0)
        await asyncio.wait([fitting], timeout=left)
        if self._is_reading and not fitting.done():
            raise _late()
        await asyncio.shield(fitting)

    def _run(self) -> asyncio.Task[None]:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._refit())
            self._running.add_done_callback(self._report)
        return self._running

    def _report(self, done: asyncio.Task[None]) -> None:
        if not done.cancelled() and isinstance(error := done.exception(), LearningMemoryError):
            log.warning("axis.not_clustered", axis=self.source.axis.value, reason=error.message)

    async def _refit(self) -> None:
        async with self.one_fit:
            stamp, at = self.source.stamp(), self.clock()
            try:
                self._fit = await self._new_fit(at)
                self._fitted, self._shown = stamp, None
            finally:
                trim_heap()

    async def _new_fit(self, at: datetime) -> AxisFit:
        ids: Sequence[str] = ()

        async def prepare() -> FitRequest:
            nonlocal ids
            request = await self._request()
            ids = request.ids
            return request

        result = await self.fitting.fit(prepare)
        fit = await asyncio.to_thread(AxisFit.of, self.source.axis, at, ids, result)
        await self.lineages.remember(self.source.axis, self.source.project, fit.members(), result.matching)
        log.info(
            "axis.clustered", axis=self.source.axis.value, count=len(fit.clusters), total=len(fit.numbers)
        )
        return fit

    async def _request(self) -> FitRequest:
        self._is_reading = True
        try:
            request = await self.source.material()
        finally:
            self._is_reading = False
        self._require(len(request.ids))
        lineage = await self.lineages.of(self.source.axis, self.source.project)
        return replace(
            request,
            before={number: frozenset(members) for number, members in lineage.members.items()},
            next_number=await self.lineages.next_number(self.source.axis),
        )

    async def _view(self) -> AxisClusters:
        lineage = await self.lineages.of(self.source.axis, self.source.project)
        fit, stamp, entries = self._fit, self.source.stamp(), self.source.entries()
        if fit is None:
            return await self.clusters(None)
        stale = 0 if stamp == self._fitted else len(entries.keys() ^ fit.numbers.keys())
        shown = await asyncio.to_thread(clusters_of, self.source.axis, fit, lineage, entries, stale)
        self._require(shown.total)
        if stamp == self._fitted and fit is self._fit:
            self._shown = shown
        return shown

    def _require(self, count: int) -> None:
        """Require enough experiences; with fewer there are no clusters, not even earlier ones."""
        if count < self.min_experiences:
            self.drop()
            where = "" if self.source.project is None else f" of project {self.source.project}"
            raise InsufficientDataError(
                f"Axis {self.source.axis} has {count} of the {self.min_experiences} experiences{where} "
                "that clustering needs.",
                hint="Resolve more GHAP entries, or find single experiences with search_experiences.",
            )


def _late() -> NoAnswerError:
    return NoAnswerError(
        "The index did not give all vectors in time.",
        hint="They are still being read; call again in a few seconds.",
    )
