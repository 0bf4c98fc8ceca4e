"""What keeps recurring: the clusters of each axis, under stable ids.

Clusters are a function of the experiences: once these change, the next question gets a new fit. A store of more than
20,000 gets the last fit until the new one is done.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.learning.clusters.lineage import LineageLog
from learning_memory_server.learning.clusters.live_axis import AxisSource, LiveAxis
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.system import timeouts
from learning_memory_server.system.memory_release import freeze_heap

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.writer import IndexWriter
    from learning_memory_server.journal.log import Log
    from learning_memory_server.learning.clusters.clusters import AxisClusters
    from learning_memory_server.learning.clusters.fitting import Fitting
    from learning_memory_server.model.cluster import ClusterId
    from learning_memory_server.model.moment import Clock


_LEAST: Final = {Axis.FULL: 20, Axis.STRATEGY: 20, Axis.SURPRISE: 8, Axis.ROOT_CAUSE: 8}


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
    waited_for: int = (
        20_000  # the most experiences in a fit that a question waits for if there is an earlier one
    )

    def __post_init__(self) -> None:
        self._lineages = LineageLog(self.history, self.clock)
        self._one_fit = asyncio.Lock()
        self._axes: dict[tuple[Axis, str | None], LiveAxis] = {}
        self._froze_heap = False

    async def cluster_axis(
        self, axis: Axis, project: str | None = None, within: float = timeouts.CLUSTERS
    ) -> AxisClusters:
        """Return the axis's clusters. Waits for the index, and for a fit unless a large store has one already.

        Args:
            axis: The axis.
            project: Cluster only this project's experiences; the clusters have ids of their own.
            within: The most seconds to wait for the index: to open, to catch up, and to give a server's vectors.

        Raises:
            InsufficientDataError: If there are fewer experiences than `min_experiences`.
            EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
            JournalUnavailableError: If the history of cluster numbers cannot be read or written.
        """
        until = asyncio.get_running_loop().time() + within
        await self.writer.settle(min(timeouts.SETTLE, within))
        if not self._froze_heap:
            # A fit briefly handles many objects, which triggers garbage collections over all of them.
            self.collector.load()
            freeze_heap()
            self._froze_heap = True
        if (axis, project) not in self._axes:
            least = _LEAST[axis] if self.min_experiences is None else self.min_experiences
            source = AxisSource(axis, project, self.index, self.collector)
            self._axes[axis, project] = LiveAxis(
                source, least, self.fitting, self._lineages, self.clock, self._one_fit, self.waited_for
            )
        return await self._axes[axis, project].clusters(until if self.index.is_on_server else None)

    async def clusters_with(self, cluster_id: ClusterId, within: float = timeouts.CLUSTERS) -> AxisClusters:
        """Return the clusters among which a cluster was named: those of its axis, or of one project on it.

        The cluster may be gone. Raises what `cluster_axis` raises.
        """
        projects = {entry.project for entry in self.collector.list_resolved()}
        project = await self._lineages.owner(cluster_id, projects)
        return await self.cluster_axis(cluster_id.axis, project, within)

    def reread_numbers(self) -> None:
        """Reread the history of cluster numbers, and drop all fits: texts or numbers were changed behind them."""
        self._lineages.reread()
        for axis in self._axes.values():
            axis.drop()

    async def settled(self) -> None:
        """Wait for the fits running in the background."""
        for axis in self._axes.values():
            await axis.settled()

    async def close(self) -> None:
        """Cancel running fits, and end the fitting process."""
        for axis in self._axes.values():
            await axis.close()
        await self.fitting.close()
