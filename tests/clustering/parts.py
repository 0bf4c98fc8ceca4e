"""What the tests of clusters share."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from learning_memory_server.clustering.clusterer import Clusterer
from learning_memory_server.clustering.experiences import ExperienceClusterer
from learning_memory_server.clustering.fitting import fit
from learning_memory_server.clustering.kept_fits import KeptFits
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.indexing.document import point_id
from tests.support import about, open_memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
    from pathlib import Path

    from learning_memory_server.clustering.clusters import AxisClusters
    from learning_memory_server.clustering.fitting import Fit, FitRequest
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.errors import LearningMemoryError
    from tests.support import Memory

MINIMUM = 12


class Learning:
    """A running memory and the clusters over it; it is also where fits are made, and counts them."""

    def __init__(self, memory: Memory, min_cluster_size: int | None) -> None:
        self.memory = memory
        self.requests: list[FitRequest] = []
        self.down: LearningMemoryError | None = None
        """Raised by every fit while it is set."""
        self.gate = asyncio.Event()
        """Fits wait for it."""
        self.gate.set()
        self.entered = asyncio.Event()
        """Set when a fit begins."""
        self._size = min_cluster_size
        self.directory = memory.journal.path.parent / "clusters"
        self.clusterer = ExperienceClusterer(
            memory.index,
            memory.writer,
            memory.collector,
            self,
            memory.journal.clusters,
            KeptFits(self.directory, str(min_cluster_size)),
            memory.clock,
            MINIMUM,
        )

    @property
    def runs(self) -> int:
        return len(self.requests)

    async def clusters(self, axis: Axis = Axis.FULL) -> AxisClusters:
        return await self.clusterer.cluster_axis(axis)

    async def refitted(self, axis: Axis = Axis.FULL) -> AxisClusters:
        """The clusters after the fits that asking for them began."""
        await self.clusters(axis)
        await self.clusterer.settled()
        return await self.clusters(axis)

    def hold(self) -> None:
        """Make the fits from now on wait for the gate."""
        self.gate.clear()
        self.entered.clear()

    async def forget(self, entries: Iterable[Ghap]) -> None:
        names = [entry.id for entry in entries]
        self.memory.collector.forget(names, self.memory.clock())
        await self.memory.writer.remove([point_id("ghap", name) for name in names])

    async def fit(self, prepare: Callable[[], Awaitable[FitRequest]]) -> Fit:
        request = await prepare()
        self.requests.append(request)
        self.entered.set()
        await self.gate.wait()
        if self.down is not None:
            raise self.down
        return fit(request, Clusterer(self._size))


@asynccontextmanager
async def learning(
    path: Path, *entries: Ghap, min_cluster_size: int | None = None
) -> AsyncIterator[Learning]:
    async with open_memory(path) as memory, memory.running():
        await memory.writer.settle()
        await memory.learn(*entries)
        each = Learning(memory, min_cluster_size)
        try:
            yield each
        finally:
            await each.clusterer.close()


def entries_about(topic: str, numbers: Sequence[int]) -> list[Ghap]:
    return [about(topic, number) for number in numbers]


POOL = entries_about("pool", range(10))
CACHE = entries_about("cache", range(10, 18))
TYPES = entries_about("types", range(18, 24))
ALL = [*POOL, *CACHE, *TYPES]


def named(found: AxisClusters) -> dict[str, set[str]]:
    return {str(cluster.id): {entry.id for entry in cluster.members} for cluster in found.clusters}


def ids(entries: Iterable[Ghap]) -> set[str]:
    return {entry.id for entry in entries}
