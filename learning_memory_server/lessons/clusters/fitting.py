"""The computation of a fit: vectors and texts in; clusters, labels, evidence and numbers out."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from learning_memory_server.index.ranking.threshold import NEAR_COPY
from learning_memory_server.lessons.clustering.density import unit_rows
from learning_memory_server.lessons.clustering.labels import label_clusters
from learning_memory_server.lessons.clustering.topic import ClusterEvidence
from learning_memory_server.lessons.clusters.clusters import AxisFit, FittedCluster
from learning_memory_server.model import limits
from learning_memory_server.model.lines import counted
from learning_memory_server.model.value import ClusterId

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from learning_memory_server.lessons.clustering.clusterer import Clusterer, Partition
    from learning_memory_server.model.vocabulary import Axis

INHERITED_SHARE: Final = 0.3  # The minimum Jaccard index over members of both runs for keeping a number


def inherit(previous: Mapping[int, frozenset[str]], current: Sequence[frozenset[str]], next_number: int) -> list[int]:
    """Number the clusters so that each keeps the number of the previous one with which it shares most members.

    The assignment maximises the sum of Jaccard indices (Hungarian method) over members of both runs. New numbers begin
    with `next_number`, which is above every number ever assigned.
    """
    if previous and next_number <= max(previous):
        raise ValueError(f"next_number {next_number} is not above {max(previous)}, which is already assigned")
    known = sorted(previous)
    inherited = _assigned(_overlap([previous[number] for number in known], current))
    new = count(next_number)
    return [known[inherited[place]] if place in inherited else next(new) for place in range(len(current))]


def _overlap(before: Sequence[frozenset[str]], now: Sequence[frozenset[str]]) -> NDArray[np.int64]:
    """Return how many members each previous cluster (rows) shares with each current one (columns)."""
    column_of = {member: column for column, members in enumerate(now) for member in members}
    overlap = np.zeros((len(before), len(now)), dtype=np.int64)
    for row, members in enumerate(before):
        for member in members & column_of.keys():
            overlap[row, column_of[member]] += 1
    return overlap


def _assigned(overlap: NDArray[np.int64]) -> dict[int, int]:
    """Return the row that each column inherits from, for columns that inherit."""
    from scipy.optimize import linear_sum_assignment

    if not overlap.any():
        return {}
    union = overlap.sum(axis=1, keepdims=True) + overlap.sum(axis=0, keepdims=True) - overlap
    jaccard = overlap / np.maximum(union, 1)
    rows, columns = linear_sum_assignment(jaccard, maximize=True)
    return {
        int(column): int(row)
        for row, column in zip(rows, columns, strict=True)
        if jaccard[row, column] >= INHERITED_SHARE
    }


_LEAST_LEFT: Final = 0.1  # The least length of the rest of a vector; below, the text stays as it is


def without_task(
    vectors: NDArray[np.float32],
    strategy: NDArray[np.float32],
    story: NDArray[np.float32],
    surprises: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """Return the part of surprises or root causes that is orthogonal to their tasks, rows of length 1 (decision 11).

    A root cause counts together with its surprise. The task is the strategy axis and the rest of the story.

    Args:
        vectors: Shape (n, d): the texts.
        strategy: Shape (n, d): the same entries on the strategy axis; zeros where one is not on it.
        story: Shape (n, d): the same entries on the full axis.
        surprises: Shape (n, d): for root causes, the same entries on the surprise axis; zeros where there is none.
    """
    units, first = unit_rows(vectors), unit_rows(strategy)
    if surprises is not None:
        units = unit_rows(units + unit_rows(surprises))
    second = _without(unit_rows(story), units)
    # Rounding would be scaled up where nothing is left.
    second = np.where(np.linalg.norm(second, axis=1, keepdims=True) > _LEAST_LEFT, second, 0)
    second = unit_rows(_without(unit_rows(second), first))
    left = _without(_without(units, first), second)
    return unit_rows(np.where(np.linalg.norm(left, axis=1, keepdims=True) > _LEAST_LEFT, left, units))


def _without(rows: NDArray[np.float32], directions: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the rows less their projections on directions of length 1, or 0."""
    return np.asarray(rows - np.vecdot(rows, directions)[:, None] * directions)


_FEWEST: Final = 2
_NAMED_BY: Final = 50  # The most central texts that label a cluster


@dataclass(frozen=True, slots=True, eq=False)
class FitRequest:
    """The input of a fit. Rows are ordered by text and then id, whatever the order of writing."""

    axis: Axis
    vectors: NDArray[np.float32]  # shape (n, d): what values are compared with
    weights: NDArray[np.float64]  # shape (n,), each above 0
    texts: Sequence[str]  # what labels are made from: the texts of the vectors without the values of fields
    ids: Sequence[str]
    apart: Sequence[NDArray[np.float32]] = ()  # The other inputs of `without_task`, each of shape (n, d)
    before: Mapping[int, frozenset[str]] = field(default_factory=dict)  # The ids in each earlier cluster, by number
    next_number: int = 0  # the number of the next new cluster
    near_copy: float = NEAR_COPY  # the cosine from which two texts count as one


class Fitting(Protocol):
    """Runs fits, one at a time: callers take turns."""

    async def fit(self, prepare: Callable[[], Awaitable[FitRequest]]) -> AxisFit:
        """Return the fit of a request without blocking; `prepare` makes the request while the process starts."""
        ...

    async def close(self) -> None:
        """Free what is kept for the next fit."""
        ...


def fit(request: FitRequest, clusterer: Clusterer) -> AxisFit:
    """Compute a fit. 10,000 rows take a second, and the GIL is held for part of it."""
    vectors, texts, ids = request.vectors, request.texts, request.ids
    partition = None
    if request.apart:
        partition = clusterer.fit(without_task(vectors, *request.apart), request.weights, request.near_copy)
    if partition is None or len(partition.clusters) < _FEWEST:
        # Where every task has causes of its own, nothing is left to compare apart from the tasks.
        partition = clusterer.fit(vectors, request.weights, request.near_copy)
    labels = label_clusters(
        [[texts[row] for row in cluster.members[:_NAMED_BY]] for cluster in partition.clusters],
        background=[texts[row] for row in partition.noise[:_NAMED_BY]],
    )
    members = [
        {ids[row]: cosine for row, cosine in zip(each.members.tolist(), each.similarities.tolist(), strict=True)}
        for each in partition.clusters
    ]
    numbers = inherit(request.before, list(map(frozenset, members)), request.next_number)
    clusters = []
    for cluster, number, label, cosines in zip(partition.clusters, numbers, labels, members, strict=True):
        name = ClusterId(request.axis, number)
        evidence = ClusterEvidence.of(str(name), vectors[cluster.members], cluster.weights)
        clusters.append(FittedCluster(name, label, cosines, evidence))
    return AxisFit(request.axis, tuple(clusters), ids, explain(partition))


_SIZE_SETTING: Final = "hdbscan_min_cluster_size"


def explain(partition: Partition) -> str | None:
    """Return why there are few or no clusters, and which setting would help; None if the partition is not thin."""
    if not partition.is_thin:
        return None
    needed = partition.min_cluster_size
    setting = f"{_SIZE_SETTING} = {needed}"
    if partition.count < needed:
        return f"There are {counted(partition.count, 'point')}, and {setting} requires at least {needed} in a cluster."
    if partition.clusters:
        found = (
            f"{counted(len(partition.clusters), 'cluster')} found, but {len(partition.noise)} of "
            f"{partition.count} points are in none of them ({setting}, min_samples = {partition.min_samples})."
        )
    else:
        found = (
            f"No {needed} of the {partition.count} points are close enough to each other to form a cluster "
            f"({setting}, min_samples = {partition.min_samples})."
        )
    return f"{found} {_way_out(partition)}"


def _way_out(partition: Partition) -> str:
    missed = partition.near_miss
    if missed is None:
        return f"A smaller {_SIZE_SETTING} would not find more: the other points are too dissimilar."
    shown = missed.sizes[: limits.GROUPS_NAMED]
    sizes = " and ".join(filter(None, [", ".join(map(str, shown[:-1])), str(shown[-1])]))
    of_them = (
        f", the largest of {sizes} points" if len(missed.sizes) > 1 else f" of {counted(missed.sizes[0], 'point')}"
    )
    groups = counted(len(missed.sizes), "cluster")
    return f"With {_SIZE_SETTING} = {missed.min_cluster_size} there would be {groups}{of_them}."
