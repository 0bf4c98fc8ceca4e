"""Shared parts of the cluster tests."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.document import point_id
from learning_memory_server.lessons.clustering.clusterer import Clusterer
from learning_memory_server.lessons.clusters.clusterer import ExperienceClusterer
from learning_memory_server.lessons.clusters.clusters import AxisClusters, AxisFit
from learning_memory_server.lessons.clusters.fitting import FitRequest, fit
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import Axis
from tests.support import Parts, about, open_parts

MINIMUM = 12


class Learning:
    """A running store and its clusters; also makes the fits, and counts them."""

    def __init__(self, parts: Parts, min_cluster_size: int | None, waited_for: int, minimum: int | None) -> None:
        self.parts = parts
        self.requests: list[FitRequest] = []
        self.down: LearningMemoryError | None = None
        """Raised by every fit while it is set."""
        self.gate = asyncio.Event()
        """Fits wait until it is set."""
        self.gate.set()
        self.entered = asyncio.Event()
        """Set when a fit begins."""
        self._size = min_cluster_size
        self.clusterer = ExperienceClusterer(
            parts.index, parts.writer, parts.collector, self, parts.journal.clusters, parts.clock, minimum, waited_for
        )

    @property
    def runs(self) -> int:
        return len(self.requests)

    async def clusters(self, axis: Axis = Axis.FULL) -> AxisClusters:
        return await self.clusterer.cluster_axis(axis)

    def hold(self) -> None:
        """Make the fits from now on wait for the gate."""
        self.gate.clear()
        self.entered.clear()

    async def forget(self, entries: Iterable[Ghap]) -> None:
        names = [entry.id for entry in entries]
        self.parts.collector.forget(names, self.parts.clock())
        await self.parts.writer.remove([point_id("ghap", name) for name in names])

    async def fit(self, prepare: Callable[[], Awaitable[FitRequest]]) -> AxisFit:
        request = await prepare()
        self.requests.append(request)
        self.entered.set()
        await self.gate.wait()
        if self.down is not None:
            raise self.down
        return fit(request, Clusterer(self._size))

    async def close(self) -> None:
        """Nothing is kept."""


@asynccontextmanager
async def learning(
    path: Path,
    *entries: Ghap,
    min_cluster_size: int | None = None,
    waited_for: int = 1_000,
    minimum: int | None = MINIMUM,
) -> AsyncIterator[Learning]:
    async with open_parts(path) as parts, parts.running():
        await parts.writer.settle()
        await parts.learn(*entries)
        each = Learning(parts, min_cluster_size, waited_for, minimum)
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
