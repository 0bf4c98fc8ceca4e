"""The stored result of a fit: the members of each cluster, and the evidence that values are judged by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from learning_memory_server.learning.clusters.explanation import explain
from learning_memory_server.model.cluster import ClusterId

if TYPE_CHECKING:
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
        return cls.made_of(
            at,
            [
                FittedCluster(
                    ClusterId(axis, number),
                    label,
                    {
                        ids[row]: cosine
                        for row, cosine in zip(
                            cluster.members.tolist(), cluster.similarities.tolist(), strict=True
                        )
                    },
                    replace(proof, name=str(ClusterId(axis, number))),
                )
                for cluster, number, label, proof in parts
            ],
            ids,
            explain(fit.partition),
        )

    @classmethod
    def made_of(
        cls,
        at: datetime,
        clusters: Sequence[FittedCluster],
        ids: Sequence[str],
        explanation: str | None,
    ) -> AxisFit:
        """Return the fit with these clusters, largest first, of the entries `ids`, in order."""
        numbers: dict[str, int | None] = dict.fromkeys(ids)
        for cluster in clusters:
            numbers.update(dict.fromkeys(cluster.members, cluster.id.number))
        return cls(at, tuple(clusters), numbers, explanation)

    def members(self) -> dict[int, frozenset[str]]:
        """Return the members of each cluster, by number."""
        return {cluster.id.number: frozenset(cluster.members) for cluster in self.clusters}

    def noise(self) -> Iterator[str]:
        """Return the entries in no cluster."""
        return (name for name, number in self.numbers.items() if number is None)
