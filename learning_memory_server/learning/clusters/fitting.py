"""The computation of a fit: vectors and texts in; clusters, labels and evidence out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from learning_memory_server.learning.clustering.evidence import ClusterEvidence
from learning_memory_server.learning.clustering.labels import label_clusters
from learning_memory_server.learning.clustering.task_projection import own_part
from learning_memory_server.learning.clusters.matching import inherit

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.learning.clustering.clusterer import Clusterer
    from learning_memory_server.learning.clustering.partition import Partition
    from learning_memory_server.learning.clusters.matching import Matching

_FEWEST: Final = 2
_NAMED_BY: Final = 50
"""A label is made from this many of a cluster's most central texts: reading all took twice as long as clustering."""


@dataclass(frozen=True, slots=True, eq=False)
class FitRequest:
    """The input of a fit. Rows are in an order that does not depend on when they came."""

    vectors: NDArray[np.float32]  # shape (n, d): what values are compared with
    weights: NDArray[np.float64]  # shape (n,), each above 0
    texts: Sequence[str]  # what labels are made from, one text a row
    ids: Sequence[str]  # the rows' ids
    before: Mapping[int, frozenset[str]]  # the ids in each cluster of the previous run, by number
    next_number: int  # the number of the next new cluster
    apart: Sequence[NDArray[np.float32]] = ()
    """What else `own_part` takes, each of shape (n, d), if tasks do not count."""


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The output of a fit: the clusters with their labels, evidence and numbers."""

    partition: Partition
    labels: Sequence[str]  # the label of each
    evidence: Sequence[ClusterEvidence]  # what a value about each is judged by
    matching: Matching


class Fitting(Protocol):
    """Runs fits, one at a time: callers take turns."""

    async def fit(self, prepare: Callable[[], Awaitable[FitRequest]]) -> Fit:
        """Return the fit of a request without blocking other tasks.

        Args:
            prepare: Makes the request; called once, while the fitting process starts.

        Raises:
            LearningMemoryError: If the fit or `prepare` failed.
        """
        ...

    async def close(self) -> None:
        """Free what is kept for the next fit."""
        ...


def fit(request: FitRequest, clusterer: Clusterer) -> Fit:
    """Compute a fit. 10,000 rows take a second, and the GIL is held for part of it."""
    vectors, texts = request.vectors, request.texts
    partition = None
    if request.apart:
        partition = clusterer.fit(own_part(vectors, *request.apart), request.weights)
    if partition is None or len(partition.clusters) < _FEWEST:
        # Where every task has causes of its own, nothing is left to compare apart from the tasks.
        partition = clusterer.fit(vectors, request.weights)
    labels = label_clusters(
        [[texts[row] for row in cluster.members[:_NAMED_BY]] for cluster in partition.clusters],
        background=[texts[row] for row in partition.noise[:_NAMED_BY]],
    )
    evidence = [
        ClusterEvidence.of("", vectors[cluster.members], cluster.weights) for cluster in partition.clusters
    ]
    members = [frozenset(request.ids[row] for row in cluster.members) for cluster in partition.clusters]
    matching = inherit(request.before, members, request.next_number)
    return Fit(partition, labels, evidence, matching)
