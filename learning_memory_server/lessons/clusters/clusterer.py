"""The clusters of each axis, under stable ids: a function of the experiences.

A store of more than 20,000 gets the last fit until the new one is done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.embedding.base import Vectors
from learning_memory_server.errors import InsufficientDataError, LearningMemoryError, NoAnswerError
from learning_memory_server.index.document import Collection, axis_text, is_on, point_id
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.index.ranking.threshold import NEAR_COPY
from learning_memory_server.lessons.clusters.clusters import AxisClusters, AxisFit, LineageLog, clusters_of
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.system import timeouts
from learning_memory_server.system.ram import trim_heap
from learning_memory_server.system.waiting import Budget

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.writer import IndexWriter
    from learning_memory_server.journal.log import Log
    from learning_memory_server.lessons.clusters.fitting import FitRequest, Fitting
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.moment import Clock
    from learning_memory_server.model.value import ClusterId

_TASK: Final = (Axis.STRATEGY, Axis.FULL)
_APART: Final = {Axis.SURPRISE: _TASK, Axis.ROOT_CAUSE: (*_TASK, Axis.SURPRISE)}
"""The other axes for `without_task`. What was written afterwards is not on axis strategy, and has zeros there."""
_SLICE: Final = 2_000  # Vectors put into a matrix at a time, while the GIL is held


def _material(
    axis: Axis, resolved: Sequence[Ghap], vectors: Mapping[str, Vectors], others: Sequence[Mapping[str, Vectors]]
) -> FitRequest:
    import numpy as np

    from learning_memory_server.lessons.clusters.fitting import FitRequest

    entries = _on_axis(axis, resolved)
    points = {name: point_id("ghap", name) for name in entries}
    needed = [(axis, vectors), *zip(_TASK, others, strict=False)]
    indexed = [
        name
        for name, point in points.items()
        if all(point in found for each, found in needed if is_on(each, entries[name]))
    ]
    texts = {name: axis_text(entries[name], axis) for name in indexed}
    ids = sorted(indexed, key=lambda name: (texts[name], name))
    nothing = np.zeros_like(next(iter(vectors.values()), np.empty(0, np.float32)))
    found = [_matrix([each.get(points[name], nothing) for name in ids]) for each in (vectors, *others)]
    weights = np.array([entries[name].weight for name in ids])
    return FitRequest(axis, found[0], weights, [_said(axis, entries[name]) for name in ids], ids, found[1:])


def _on_axis(axis: Axis, resolved: Sequence[Ghap]) -> dict[str, Ghap]:
    return {entry.id: entry for entry in resolved if is_on(axis, entry)}


def _matrix(rows: Sequence[Vectors]) -> Vectors:
    import numpy as np

    parts = [np.array(rows[start : start + _SLICE], dtype=np.float32) for start in range(0, len(rows), _SLICE)]
    return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)


def _said(axis: Axis, entry: Ghap) -> str:
    """Return the statements of an entry on an axis, a line each, without the values of fields."""
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
    """The clusters of one axis, of all projects or one, and the experiences that they are found in."""

    axis: Axis
    project: str | None
    min_experiences: int
    owner: ExperienceClusterer
    _fit: AxisFit | None = field(default=None, init=False)
    _fitted_at: datetime | None = field(default=None, init=False)
    _fitted: tuple[int, int] | None = field(default=None, init=False)  # the stamp of the fit
    _shown: AxisClusters | None = field(default=None, init=False)
    _running: asyncio.Task[None] | None = field(default=None, init=False)
    _is_reading: bool = field(default=False, init=False)

    def _collections(self) -> list[Collection]:
        return [Collection.of(axis) for axis in (self.axis, *_APART.get(self.axis, ()))]

    def stamp(self) -> tuple[int, int]:
        """Return a value that changes whenever this process changes the axis."""
        return sum(map(self.owner.index.generation, self._collections())), len(self.owner.collector.forgotten_ids())

    async def entries(self) -> dict[str, Ghap]:
        """Return every entry on the axis, by id, indexed or not."""
        return await asyncio.to_thread(_on_axis, self.axis, self._resolved())

    def _resolved(self) -> list[Ghap]:
        return self.owner.collector.list_resolved(EntryQuery(project=self.project))

    async def material(self, index: VectorIndex | None = None) -> FitRequest:
        """Return the input of a fit: all indexed entries, without a previous run."""
        own, *apart = self._collections()
        index = index or self.owner.index
        vectors = await index.vectors(own)
        others = [await index.vectors_of(other, list(vectors)) for other in apart]
        # Read after the awaits: what was forgotten meanwhile is left out.
        return await asyncio.to_thread(_material, self.axis, self._resolved(), vectors, others)

    async def clusters(self, until: float | None, index: VectorIndex) -> AxisClusters:
        """Return the clusters of the current experiences, or of a large store's last fit; raises as `cluster_axis`."""
        if self._fit is None or self._fitted != self.stamp():
            self._shown = None
            on_axis = (entry for entry in self._resolved() if is_on(self.axis, entry))
            if sum(1 for _ in islice(on_axis, self.min_experiences)) < self.min_experiences:
                # Counted in the index, so that a broken index is reported rather than a lack of data.
                try:
                    async with asyncio.timeout_at(until):
                        material = await self.material(index)
                except TimeoutError:
                    raise _late() from None
                self._require(len(material.ids))
            await self._follow(until, index)
        return self._shown or await self._view()

    def drop(self) -> None:
        """Drop the fit."""
        self._fit = self._shown = None

    async def close(self) -> None:
        """Cancel a running fit."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _follow(self, until: float | None, index: VectorIndex) -> None:
        """Wait for a fit of the present entries; if a large store has a fit already, only start one."""
        last = self._fit
        if last is not None and len(last.ids) > self.owner.waited_for:
            self._run(index)
            return
        stamp = self.stamp()
        try:
            await self._wait_for(self._run(index), until)
            if self._fitted is None or self._fitted < stamp:
                # It had begun before the last write that this caller knows of.
                await self._wait_for(self._run(index), until)
        except InsufficientDataError:
            raise
        except LearningMemoryError:
            if self._fit is None:
                raise

    async def _wait_for(self, fitting: asyncio.Task[None], until: float | None) -> None:
        """Wait for a fit, which goes on for others. Raises `NoAnswerError` if its vectors are still being read."""
        left = None if until is None else max(until - asyncio.get_running_loop().time(), 0)
        await asyncio.wait([fitting], timeout=left)
        if self._is_reading and not fitting.done():
            raise _late()
        await asyncio.shield(fitting)

    def _run(self, index: VectorIndex) -> asyncio.Task[None]:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._refit(index))
            self._running.add_done_callback(self._report)
        return self._running

    def _report(self, done: asyncio.Task[None]) -> None:
        if not done.cancelled() and isinstance(error := done.exception(), LearningMemoryError):
            log.warning("axis.not_clustered", axis=self.axis.value, reason=error.message)

    async def _refit(self, index: VectorIndex) -> None:
        async with self.owner.one_fit:
            stamp, at = self.stamp(), self.owner.clock()
            try:
                fit = await self.owner.fitting.fit(partial(self._request, index))
                members = {each.id.number: frozenset(each.members) for each in fit.clusters}
                await self.owner.lineages.remember(self.axis, self.project, members)
                log.info("axis.clustered", axis=self.axis.value, count=len(fit.clusters), total=len(fit.ids))
                self._fit, self._fitted_at, self._fitted, self._shown = fit, at, stamp, None
            finally:
                await asyncio.to_thread(trim_heap)  # With 100,000 experiences it takes a fifth of a second

    async def _request(self, index: VectorIndex) -> FitRequest:
        self._is_reading = True
        try:
            request = await self.material(index)
        finally:
            self._is_reading = False
        self._require(len(request.ids))
        lineage = await self.owner.lineages.of(self.axis, self.project)
        return replace(
            request,
            before={number: frozenset(members) for number, members in lineage.members.items()},
            next_number=await self.owner.lineages.next_number(self.axis),
            near_copy=1.0 - (1.0 - NEAR_COPY) * self.owner.index.scale.scale.stretch,
        )

    async def _view(self) -> AxisClusters:
        lineage = await self.owner.lineages.of(self.axis, self.project)
        # All of one fit: another may be done during the awaits below.
        fit, at, fitted = self._fit, self._fitted_at, self._fitted
        if fit is None or at is None:
            return await self.clusters(None, self.owner.index)
        stamp, entries = self.stamp(), await self.entries()
        stale = 0 if stamp == fitted else len(entries.keys() ^ set(fit.ids))
        shown = await asyncio.to_thread(clusters_of, fit, at, lineage, entries, stale)
        self._require(shown.total)
        if stamp == fitted and fit is self._fit:
            self._shown = shown
        return shown

    def _require(self, count: int) -> None:
        """Require enough experiences; with fewer there are no clusters, not even earlier ones."""
        if count < self.min_experiences:
            self.drop()
            where = "" if self.project is None else f" of project {self.project}"
            raise InsufficientDataError(
                f"Axis {self.axis} has {count} of the {self.min_experiences} experiences{where} that clustering needs.",
                hint="Resolve more GHAP entries, or find single experiences with {}.",
                calls=["search_experiences"],
            )


def _late() -> NoAnswerError:
    return NoAnswerError(
        "The index did not give all vectors in time.", hint="They are still being read; call again in a few seconds."
    )


_LEAST: Final = {Axis.FULL: 20, Axis.STRATEGY: 20, Axis.SURPRISE: 8, Axis.ROOT_CAUSE: 8}


_CLUSTERS: Final = Budget(index=timeouts.CLUSTERS)


@dataclass(eq=False)
class ExperienceClusterer:
    """The clusters of every axis."""

    index: VectorIndex
    writer: IndexWriter
    collector: ObservationCollector
    fitting: Fitting
    history: Log  # keeps the clusters' numbers across restarts
    clock: Clock
    min_experiences: int | None  # None for 8 on the axes that few experiences are on, and 20 on the others
    waited_for: int = 20_000  # the most experiences in a fit that a question waits for after the first

    def __post_init__(self) -> None:
        self.lineages = LineageLog(self.history, self.clock)
        # The axes take turns, because they share numbers and the fitting process.
        self.one_fit = asyncio.Lock()
        self._axes: dict[tuple[Axis, str | None], LiveAxis] = {}

    def least(self, axis: Axis) -> int:
        """Return the fewest experiences on an axis that are clustered."""
        return _LEAST[axis] if self.min_experiences is None else self.min_experiences

    async def cluster_axis(self, axis: Axis, project: str | None = None, budget: Budget = _CLUSTERS) -> AxisClusters:
        """Return the axis's clusters, after a fit unless a large store has one. Those of one project have own ids.

        The budget is for the index. Raises `InsufficientDataError` for too few experiences, and
        `JournalUnavailableError` if the history of numbers cannot be used.
        """
        seconds = timeouts.CLUSTERS if budget.index is None else budget.index
        until = asyncio.get_running_loop().time() + seconds
        await self.writer.settle(min(timeouts.SETTLE, seconds))
        if (axis, project) not in self._axes:
            self._axes[axis, project] = LiveAxis(axis, project, self.least(axis), self)
        return await self._axes[axis, project].clusters(
            until if self.index.is_on_server else None, self.index.with_budget(budget)
        )

    async def clusters_with(self, cluster_id: ClusterId, budget: Budget = _CLUSTERS) -> AxisClusters:
        """Return the clusters of a cluster's axis, or of its project on it; raises as `cluster_axis`."""
        project = await self.lineages.owner(cluster_id, self.collector.timeline.projects())
        return await self.cluster_axis(cluster_id.axis, project, budget)

    def reread_numbers(self) -> None:
        """Reread the history of cluster numbers, and drop all fits: texts or numbers were changed behind them."""
        self.lineages = LineageLog(self.history, self.clock)
        for axis in self._axes.values():
            axis.drop()

    async def close(self) -> None:
        """Cancel running fits, and end the fitting process."""
        for axis in self._axes.values():
            await axis.close()
        await self.fitting.close()
