"""The clusters of one axis: the last fit, what came since, and when the next fit is due."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.clustering.clusters import clusters_of
from learning_memory_server.clustering.material import AxisSource
from learning_memory_server.clustering.newcomers import FitWithNewcomers
from learning_memory_server.errors import InsufficientDataError, LearningMemoryError
from learning_memory_server.heap import give_back

if TYPE_CHECKING:
    from collections.abc import Sequence

    from learning_memory_server.clustering.axis_fit import AxisFit
    from learning_memory_server.clustering.clusters import AxisClusters
    from learning_memory_server.clustering.fitting import FitRequest, Fitting
    from learning_memory_server.clustering.kept_fits import KeptFits
    from learning_memory_server.clustering.lineage import LineageLog
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.observation.collector import ObservationCollector

log = structlog.get_logger()

_DUE_GROWTH: Final = 0.1
"""How many newcomers, by the size of the last fit, make the next one due."""
_LEAST_GROWTH: Final = 5


class AxisMemory:
    """What is known about the clusters of an axis.

    Args:
        axis: The axis.
        index: Where the vectors are.
        collector: Where the entries are.
        fitting: Where the numbers are computed.
        lineages: The history of cluster numbers.
        kept: The last fits.
        clock: Tells the time.
        min_experiences: The fewest experiences that are clustered.
        one_fit: Held while a fit is made, so that axes take turns.
    """

    def __init__(  # noqa: PLR0913
        self,
        axis: Axis,
        index: VectorIndex,
        collector: ObservationCollector,
        fitting: Fitting,
        lineages: LineageLog,
        kept: KeptFits,
        clock: Clock,
        min_experiences: int,
        one_fit: asyncio.Lock,
    ) -> None:
        self._axis = axis
        self._index = index
        self._source = AxisSource(axis, index, collector)
        self._fitting = fitting
        self._lineages = lineages
        self._kept = kept
        self._clock = clock
        self._min_experiences = min_experiences
        self._one_fit = one_fit
        self._lock = asyncio.Lock()
        self._state: FitWithNewcomers | None = None
        self._seen: AxisClusters | None = None
        self._stamp: tuple[int, int] | None = None
        self._failed: tuple[int, int] | None = None

    @property
    def is_outdated(self) -> bool:
        """Whether the axis has changed since somebody asked for its clusters."""
        return self._seen is not None and self._stamp != self._source.stamp()

    @property
    def is_due(self) -> bool:
        """Whether a new fit should be made: enough is new, or something was forgotten, and none has just failed."""
        seen, state = self._seen, self._state
        if seen is None or state is None or seen.fitted_at != state.fit.at or self._failed == self._stamp:
            return False
        size = len(state.fit.numbers)
        has_lost = seen.total - seen.placed_since < size
        return has_lost or seen.placed_since >= max(_LEAST_GROWTH, _DUE_GROWTH * size)

    async def clusters(self) -> AxisClusters:
        """Return the clusters as they stand; of the last fit, if it can still say where everything belongs.

        Raises:
            InsufficientDataError: If there are fewer experiences than `min_experiences`.
            EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
            JournalUnavailableError: If the history of cluster numbers cannot be read or written.
            LearningMemoryError: If the first fit failed.
        """
        async with self._lock:
            before = self._seen
            if self._state and before and before.fitted_at == self._state.fit.at:
                if self._stamp == self._source.stamp():
                    return before
            else:
                before = None
            if len(self._source.entries()) < self._min_experiences:
                # Counted by the index: one that does not work is the worse news.
                self._require(len((await self._source.material()).ids))
            state = await self._usable()
            stamp, entries = self._source.stamp(), self._source.entries()
            await state.take_in(self._source, entries)
            lineage = await self._lineages.of(self._axis)
            clusters = await asyncio.to_thread(
                clusters_of, self._axis, state.fit, lineage, entries, state.placed, before
            )
            self._require(clusters.total)
            self._seen, self._stamp = clusters, stamp
            return clusters

    def drop(self) -> None:
        """Forget the fit; the kept one is used again only if it has the journal's numbers."""
        self._state = self._seen = None

    async def refit(self) -> FitWithNewcomers:
        """Make and return a new fit, unless one was made while this waited for its turn.

        Raises:
            InsufficientDataError: If there are fewer experiences than `min_experiences`.
            LearningMemoryError: If it failed; the last fit stays.
        """
        last = self._state
        async with self._one_fit:
            if self._state is not None and self._state is not last:
                return self._state
            stamp = self._source.stamp()
            try:
                made = self._state = FitWithNewcomers(await self._fitted())
            except LearningMemoryError:
                self._failed = stamp
                raise
            finally:
                give_back()
            return made

    async def _fitted(self) -> AxisFit:
        from learning_memory_server.clustering.axis_fit import AxisFit  # noqa: PLC0415 - numpy

        at, origin = self._clock(), await self._index.origin()
        ids: Sequence[str] = ()

        async def prepare() -> FitRequest:
            nonlocal ids
            request = await self._request(origin)
            ids = request.ids
            return request

        result = await self._fitting.fit(prepare)
        fit = await asyncio.to_thread(AxisFit.of, self._axis, at, ids, result)
        await self._lineages.remember(self._axis, fit.members(), result.matching)
        await asyncio.to_thread(self._kept.save, self._axis, origin, fit, result.neighbours)
        log.info("axis.clustered", axis=self._axis.value, count=len(fit.clusters), total=len(fit.numbers))
        return fit

    async def _request(self, origin: str) -> FitRequest:
        from learning_memory_server.clustering.fitting import FitRequest  # noqa: PLC0415 - numpy

        material = await self._source.material()
        self._require(len(material.ids))
        lineage = await self._lineages.of(self._axis)
        return FitRequest(
            material.vectors,
            material.weights,
            material.texts,
            material.ids,
            before={number: frozenset(members) for number, members in lineage.members.items()},
            next_number=lineage.next_number,
            known=await asyncio.to_thread(self._kept.neighbours, self._axis, origin),
        )

    async def _load(self) -> None:
        origin = await self._index.origin()
        lineage = await self._lineages.of(self._axis)
        fit = await asyncio.to_thread(self._kept.load, self._axis, origin, lineage)
        if fit is not None:
            self._state = FitWithNewcomers(fit)

    async def _usable(self) -> FitWithNewcomers:
        """Return the last fit, or a new one if there is none that most experiences were in."""
        if self._state is None:
            await self._load()
        last = self._state
        if last is not None:
            failed = self._failed == self._source.stamp()
            if failed or not last.is_outgrown(self._source.entries()):
                return last
        try:
            return await self.refit()
        except InsufficientDataError:
            raise
        except LearningMemoryError as error:
            if last is None:
                raise
            log.warning("axis.not_clustered", axis=self._axis.value, reason=error.message)
            return last

    def _require(self, count: int) -> None:
        """Insist on enough experiences; with fewer there are no clusters, not even earlier ones."""
        if count < self._min_experiences:
            self.drop()
            self._kept.discard(self._axis)
            raise InsufficientDataError(
                f"Axis {self._axis} has {count} of the {self._min_experiences} experiences that clusters need.",
                hint="Resolve more GHAP entries, or look at single ones with search_experiences.",
            )
