"""The stored result of a fit: each cluster's members, what values are judged by, and why there are few clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from learning_memory_server.model import limits
from learning_memory_server.model.cluster import ClusterId

if TYPE_CHECKING:
    from learning_memory_server.learning.clustering.clusterer import Partition
    from learning_memory_server.learning.clustering.evidence import ClusterEvidence
    from learning_memory_server.learning.clusters.fitting import Fit
    from learning_memory_server.model.vocabulary import Axis


@dataclass(frozen=True, slots=True, eq=False)
class FittedCluster:
    """A cluster as the fit found it."""

    id: ClusterId  # the id that clients see
    label: str  # its most distinctive terms
    members: Mapping[str, float]  # each member's cosine to the centroid, by entry id, most central first
    evidence: ClusterEvidence  # what a value is judged by


@dataclass(frozen=True, slots=True, eq=False)
class AxisFit:
    """A fit of one axis."""

    at: datetime
    clusters: tuple[FittedCluster, ...]  # largest first
    numbers: Mapping[str, int | None]  # the number of each entry's cluster, or None for noise
    explanation: str | None  # why there are few clusters, if so

    @classmethod
    def of(cls, axis: Axis, at: datetime, ids: Sequence[str], fit: Fit) -> AxisFit:
        """Return what to keep of `fit`, whose rows have these `ids`."""
        parts = zip(fit.partition.clusters, fit.matching.numbers, fit.labels, fit.evidence, strict=True)
        clusters = []
        for cluster, number, label, proof in parts:
            name = ClusterId(axis, number)
            members = [ids[row] for row in cluster.members.tolist()]
            cosines = dict(zip(members, cluster.similarities.tolist(), strict=True))
            clusters.append(FittedCluster(name, label, cosines, replace(proof, name=str(name))))
        return cls.made_of(at, clusters, ids, explain(fit.partition))

    @classmethod
    def made_of(
        cls, at: datetime, clusters: Sequence[FittedCluster], ids: Sequence[str], explanation: str | None
    ) -> AxisFit:
        """Return the fit with these clusters, largest first, of the entries `ids`, in order."""
        numbers: dict[str, int | None] = dict.fromkeys(ids)
        for cluster in clusters:
            numbers.update(dict.fromkeys(cluster.members, cluster.id.number))
        return cls(at, tuple(clusters), numbers, explanation)

    def members(self) -> dict[int, frozenset[str]]:
        """Return the members of each cluster, by number."""
        return {cluster.id.number: frozenset(cluster.members) for cluster in self.clusters}


_SIZE_SETTING: Final = "hdbscan_min_cluster_size"


def explain(partition: Partition) -> str | None:
    """Return why there are few or no clusters, and which setting would help; None if the partition is not thin."""
    if not partition.is_thin:
        return None
    needed = partition.min_cluster_size
    setting = f"{_SIZE_SETTING} = {needed}"
    if partition.count < needed:
        return f"There are {_counted(partition.count, 'point')}, and {setting} requires at least {needed} in a cluster."
    if partition.clusters:
        found = (
            f"{_counted(len(partition.clusters), 'cluster')} found, but {len(partition.noise)} of "
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
    of_them = f", the largest of {sizes} points" if len(missed.sizes) > 1 else f" of {sizes} points"
    groups = _counted(len(missed.sizes), "cluster")
    return f"With {_SIZE_SETTING} = {missed.min_cluster_size} there would be {groups}{of_them}."


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
