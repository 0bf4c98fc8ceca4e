"""What keeps recurring: the clusters of each axis, under ids that last."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.errors import InsufficientDataError, NotFoundError
from learning_memory_server.heap import give_back
from learning_memory_server.indexing.document import Collection, point_id
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.documents import axis_texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.clustering.evidence import ClusterEvidence
    from learning_memory_server.clustering.fitting import Fit, FitRequest, Fitting
    from learning_memory_server.clustering.matching import Matching
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.journal.log import Log
    from learning_memory_server.observation.collector import ObservationCollector

log = structlog.get_logger()

_EXEMPLARS: Final = 3


@dataclass(frozen=True, slots=True, eq=False)
class ExperienceCluster:
    """Experiences that belong together.

    Args:
        id: What clients call it.
        label: A few words that set it apart.
        members: The entries, most central first.
        exemplars: The entries that stand for it best.
        mean_weight: The mean tier weight of the members.
        evidence: What a value is judged by.
    """

    id: ClusterId
    label: str
    members: tuple[Ghap, ...]
    exemplars: tuple[Ghap, ...]
    mean_weight: float
    evidence: ClusterEvidence


@dataclass(frozen=True, slots=True, eq=False)
class AxisClusters:
    """The clusters of one axis, largest first, and what is in none of them."""

    axis: Axis
    clusters: tuple[ExperienceCluster, ...]
    noise_count: int
    total: int
    explanation: str | None

    def get(self, cluster_id: ClusterId) -> ExperienceCluster:
        """Return the cluster.

        Raises:
            NotFoundError: If there is none of that id now.
        """
        for cluster in self.clusters:
            if cluster.id == cluster_id:
                return cluster
        present = ", ".join(str(cluster.id) for cluster in self.clusters) or "none"
        raise NotFoundError(
            f"There is no cluster {cluster_id} now; the clusters of {self.axis} are: {present}.",
            hint=f"Call get_clusters with axis {self.axis}.",
        )


@dataclass(slots=True)
class _Lineage:
    """Which numbers are given, to whom, and which comes next."""

    members: dict[int, set[str]] = field(default_factory=dict)
    next_number: int = 0

    def after(self, change: dict[str, Any]) -> _Lineage:
        """Return the lineage that a line of the journal leads to."""
        members: dict[int, set[str]] = {}
        for member, number in {**self.number_of(), **change["moved"]}.items():
            if number is not None:
                members.setdefault(number, set()).add(member)
        return _Lineage(members, change["next_number"])

    def number_of(self) -> dict[str, int]:
        return {member: number for number, members in self.members.items() for member in members}


class ExperienceClusterer:
    """Clusters the experiences of an axis, once for each content of its collection.

    Args:
        index: Where the vectors are.
        writer: Brings the index up to date with the journal.
        collector: Where the entries are.
        fitting: Where the numbers are computed.
        history: The log that keeps cluster numbers over restarts.
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
        clock: Clock,
        min_experiences: int,
    ) -> None:
        self._index = index
        self._writer = writer
        self._collector = collector
        self._fitting = fitting
        self._history = history
        self._clock = clock
        self._min_experiences = min_experiences
        self._lock = asyncio.Lock()
        self._cache: dict[Axis, tuple[int, AxisClusters]] = {}
        self._lineages: dict[str, _Lineage] | None = None

    async def cluster_axis(self, axis: Axis) -> AxisClusters:
        """Return the axis' clusters. Waits for the index; computed anew only when the axis has changed.

        Raises:
            InsufficientDataError: If there are fewer experiences than `min_experiences`.
            EmbeddingUnavailableError, StorageUnavailableError: If there is no index.
        """
        await self._writer.settle()
        async with self._lock:
            collection = Collection.of(axis)
            generation = self._index.generation(collection)
            cached = self._cache.get(axis)
            if cached and cached[0] == generation:
                return cached[1]
            entries, vectors = await self._experiences(collection)
            if len(entries) < self._min_experiences:
                raise InsufficientDataError(
                    f"Axis {axis} has {len(entries)} of the {self._min_experiences} experiences that clusters need.",
                    hint="Resolve more GHAP entries, or look at single ones with search_experiences.",
                )
            result = self._named(
                axis, entries, await self._fitting.fit(self._request(axis, entries, vectors))
            )
            self._cache[axis] = (generation, result)
            give_back()
            return result

    async def _experiences(self, collection: Collection) -> tuple[list[Ghap], NDArray[np.float32]]:
        """Return the entries that have a vector, ordered by id, and their vectors, of shape (n, d)."""
        entries = {point_id("ghap", entry.id): entry for entry in self._collector.list_resolved()}
        ids, vectors = await self._index.vectors(collection)
        rows = sorted(
            (row for row, point in enumerate(ids) if point in entries), key=lambda row: entries[ids[row]].id
        )
        return [entries[ids[row]] for row in rows], vectors[rows]

    def _request(self, axis: Axis, entries: Sequence[Ghap], vectors: NDArray[np.float32]) -> FitRequest:
        import numpy as np  # noqa: PLC0415 - not before a cluster is wanted

        from learning_memory_server.clustering.fitting import FitRequest  # noqa: PLC0415

        lineage = self._lineage(axis)
        return FitRequest(
            vectors,
            weights=np.array([entry.weight for entry in entries]),
            texts=[axis_texts(entry)[axis] for entry in entries],
            ids=[entry.id for entry in entries],
            before={number: frozenset(members) for number, members in lineage.members.items()},
            next_number=lineage.next_number,
        )

    def _named(
        self,
        axis: Axis,
        entries: Sequence[Ghap],
        fit: Fit,
    ) -> AxisClusters:
        from learning_memory_server.clustering.partition import explain  # noqa: PLC0415

        partition = fit.partition
        clusters = []
        for cluster, number, label, proof in zip(
            partition.clusters, fit.matching.numbers, fit.labels, fit.evidence, strict=True
        ):
            cluster_id = ClusterId(axis, number)
            clusters.append(
                ExperienceCluster(
                    id=cluster_id,
                    label=label,
                    members=tuple(entries[row] for row in cluster.members),
                    exemplars=tuple(entries[row] for row in cluster.exemplars(_EXEMPLARS)),
                    mean_weight=cluster.mean_weight,
                    evidence=replace(proof, name=str(cluster_id)),
                )
            )
        self._remember(axis, clusters, fit.matching)
        log.info("axis.clustered", axis=axis.value, count=len(clusters), total=partition.count)
        return AxisClusters(axis, tuple(clusters), len(partition.noise), partition.count, explain(partition))

    def _remember(self, axis: Axis, clusters: Sequence[ExperienceCluster], matching: Matching) -> None:
        """Write down what changed since the run before."""
        lineage = self._lineage(axis)
        now = {cluster.id.number: {entry.id for entry in cluster.members} for cluster in clusters}
        if now != lineage.members:
            self._history.append([self._change(axis, lineage, now, matching)])
            self._lineages = {**(self._lineages or {}), axis: _Lineage(now, matching.next_number)}

    def _change(
        self, axis: Axis, before: _Lineage, now: dict[int, set[str]], matching: Matching
    ) -> JournalRecord:
        """Return the line that leads from `before` to `now`: only who moved, so that lines stay short."""
        old, new = before.number_of(), _Lineage(now).number_of()
        moved = {
            member: new.get(member)
            for member in sorted(old.keys() | new.keys())
            if old.get(member) != new.get(member)
        }
        data = {
            "next_number": matching.next_number,
            "moved": moved,
            "split_from": {str(number): source for number, source in matching.split_from.items()},
            "merged_into": {str(number): target for number, target in matching.merged_into.items()},
        }
        return JournalRecord("clusters", axis.value, self._clock(), data)

    def _lineage(self, axis: Axis) -> _Lineage:
        if self._lineages is None:
            self._lineages = {}
            for record in self._history.read().records:
                before = self._lineages.get(record.id, _Lineage())
                self._lineages[record.id] = record.decoded(before.after)
        return self._lineages.get(axis, _Lineage())
