"""The numbers of a clustering: vectors and texts in; clusters, labels and evidence out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from learning_memory_server.clustering.evidence import ClusterEvidence
from learning_memory_server.clustering.incremental import neighbours_of
from learning_memory_server.clustering.labels import label_clusters
from learning_memory_server.clustering.matching import inherit
from learning_memory_server.clustering.neighbours import unit_rows

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.clustering.clusterer import Clusterer
    from learning_memory_server.clustering.incremental import KnownNeighbours
    from learning_memory_server.clustering.matching import Matching
    from learning_memory_server.clustering.neighbours import Neighbours
    from learning_memory_server.clustering.partition import Partition

_NAMED_BY: Final = 50
"""How many texts of a cluster, the most central ones, its label is made from: reading all of them took twice as
long as the clustering itself."""


@dataclass(frozen=True, slots=True, eq=False)
class FitRequest:
    """What is to be clustered. Rows are in a fixed order, by id.

    Args:
        vectors: Shape (n, d).
        weights: Shape (n,), each above 0.
        texts: What the vectors were made from.
        ids: What the rows are called.
        before: The ids of each cluster of the run before, by number.
        next_number: The number that the next new cluster gets.
        known: The neighbours that the fit before has found.
    """

    vectors: NDArray[np.float32]
    weights: NDArray[np.float64]
    texts: Sequence[str]
    ids: Sequence[str]
    before: Mapping[int, frozenset[str]]
    next_number: int
    known: KnownNeighbours | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The clusters of a request, and for each of them a label and what values are judged by.

    Args:
        partition: The clusters.
        labels: A few words for each.
        evidence: What a value of each is judged by.
        matching: Their numbers.
        neighbours: Those of every row, for the next request.
    """

    partition: Partition
    labels: Sequence[str]
    evidence: Sequence[ClusterEvidence]
    matching: Matching
    neighbours: Neighbours


class Fitting(Protocol):
    """A place where requests are worked on."""

    async def fit(self, prepare: Callable[[], Awaitable[FitRequest]]) -> Fit:
        """Return the fit of a request. Other tasks go on meanwhile.

        Args:
            prepare: Makes the request; called once, while the place gets ready.

        Raises:
            LearningMemoryError: If that failed, or `prepare` did.
        """
        ...


def fit(request: FitRequest, clusterer: Clusterer) -> Fit:
    """Compute the fit; this takes a second for 10,000 rows, and holds the interpreter for some of it."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]  # noqa: PLC0415

    vectors, texts = request.vectors, request.texts
    # For the reason that `Clusterer.fit` has.
    with threadpool_limits(limits=1):
        neighbours = neighbours_of(
            unit_rows(vectors), request.ids, clusterer.neighbours_needed, request.known
        )
    partition = clusterer.fit(vectors, request.weights, neighbours)
    labels = label_clusters(
        [[texts[row] for row in cluster.members[:_NAMED_BY]] for cluster in partition.clusters],
        background=[texts[row] for row in partition.noise[:_NAMED_BY]],
    )
    evidence = [
        ClusterEvidence.of("", vectors[cluster.members], cluster.weights) for cluster in partition.clusters
    ]
    members = [frozenset(request.ids[row] for row in cluster.members) for cluster in partition.clusters]
    matching = inherit(request.before, members, request.next_number)
    return Fit(partition, labels, evidence, matching, neighbours)
