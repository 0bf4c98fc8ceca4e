"""What keeps recurring: the clusters of each axis, under ids that last.

Who asks for the clusters of an axis waits for a fit if there is none yet, or if too many experiences have come since the
last one to place them all (see `newcomers`). Otherwise those are placed into the clusters that there are; once enough
have come, or one was forgotten, a new fit is made in the background.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.clustering.axis_memory import AxisMemory
from learning_memory_server.clustering.lineage import LineageLog
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.heap import keep

if TYPE_CHECKING:
    from learning_memory_server.clustering.clusters import AxisClusters
    from learning_memory_server.clustering.fitting import Fitting
    from learning_memory_server.clustering.kept_fits import KeptFits
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.journal.log import Log
    from learning_memory_server.observation.collector import ObservationCollector

log = structlog.get_logger()

_LOOK_SECONDS: Final = 20.0
"""Between two looks at whether a fit is due."""


class ExperienceClusterer:
    """The clusters of every axis.

    Args:
        index: Where the vectors are.
        writer: Brings the index up to date with the journal.
        collector: Where the entries are.
        fitting: Where the numbers are computed.
        history: The log that keeps cluster numbers over restarts.
        kept: The last fits.
        clock: Tells the time.
        min_experiences: The fewest experiences that are clustered.
    """

    def __init__(  # noqa: PLR0913
        self,
        index: VectorIndex,
        writer: IndexWriter,
        collector: ObservationCollector,
        fitting: Fitting,
        history: Log,
        kept: KeptFits,
        clock: Clock,
        min_experiences: int,
    ) -> None:
        self._writer = writer
        self._collector = collector
        self._kept_heap = False
        self._lineages = lineages = LineageLog(history, clock)
        self._kept = kept
        one_fit = asyncio.Lock()
        self._axes = {
            axis: AxisMemory(axis, index, collector, fitting, lineages, kept, clock, min_experiences, one_fit)
            for axis in Axis
        }
        self._refits: dict[Axis, asyncio.Task[None]] = {}

    async def cluster_axis(self, axis: Axis) -> AxisClusters:
        """Return the axis' clusters. Waits for the index, and for a fit only if there is none that is nearly right.

        Raises:
            InsufficientDataError: If there are fewer experiences than `min_experiences`.
            EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
            JournalUnavailableError: If the history of cluster numbers cannot be read or written.
        """
        await self._writer.settle()
        if not self._kept_heap:
            # A fit handles many objects for a moment, which sets off searches for garbage among all.
            self._collector.load()
            keep()
            self._kept_heap = True
        clusters = await self._axes[axis].clusters()
        if self._axes[axis].is_due:
            self._refit_soon(axis)
        return clusters

    def is_refitting(self, axis: Axis) -> bool:
        """Tell whether a new fit of the axis is being made, or waits for its turn."""
        return axis in self._refits

    def reread_numbers(self) -> None:
        """Read the history of cluster numbers again: somebody else has written to it."""
        self._lineages.reread()
        for memory in self._axes.values():
            memory.drop()

    def discard_kept(self) -> None:
        """Remove the kept fits, which name and describe what they were made from; they are made anew when needed."""
        for axis in Axis:
            self._kept.discard(axis)

    async def settled(self) -> None:
        """Wait for the fits that are being made in the background."""
        while self._refits:
            await asyncio.wait(self._refits.values())

    async def run(self) -> None:
        """Make new fits as they become due, of the axes that somebody has asked for, until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            for axis, memory in self._axes.items():
                if memory.is_outdated:
                    with suppress(LearningMemoryError):
                        await self.cluster_axis(axis)

    async def close(self) -> None:
        """Give up the fits that are being made."""
        tasks = list(self._refits.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _refit_soon(self, axis: Axis) -> None:
        if axis not in self._refits:
            task = self._refits[axis] = asyncio.create_task(self._refit(axis))
            # Not at the task's end: one that is cancelled before its first step has none.
            task.add_done_callback(lambda _: self._refits.pop(axis))

    async def _refit(self, axis: Axis) -> None:
        try:
            await self._axes[axis].refit()
        except LearningMemoryError as error:
            log.warning("axis.not_clustered", axis=axis.value, reason=error.message)
