"""The clusters of an axis: as a fit found them, and as they are shown, without what was forgotten since."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import TYPE_CHECKING, Final, TypeVar

from learning_memory_server.errors import NotFoundError
from learning_memory_server.index.document import axis_texts
from learning_memory_server.model import limits
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, RootCauseCategory
from learning_memory_server.system import timeouts

if TYPE_CHECKING:
    from learning_memory_server.learning.clustering.topic import ClusterEvidence
    from learning_memory_server.learning.clusters.fitting import Matching
    from learning_memory_server.learning.clusters.lineage import Lineage
    from learning_memory_server.model.cluster import ClusterId
    from learning_memory_server.model.entry import Ghap


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

    axis: Axis
    clusters: tuple[FittedCluster, ...]  # largest first
    ids: Sequence[str]  # every entry, in a cluster or not
    explanation: str | None  # why there are few clusters, if so
    matching: Matching  # how its clusters continue those of the previous fit

    def members(self) -> dict[int, frozenset[str]]:
        """Return the members of each cluster, by number."""
        return {cluster.id.number: frozenset(cluster.members) for cluster in self.clusters}


Kind = TypeVar("Kind", OutcomeStatus, RootCauseCategory)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How the members ended, and when."""

    by_status: Mapping[OutcomeStatus, int]  # the number of members per outcome, most frequent first
    by_root_cause: Mapping[RootCauseCategory, int]
    """The number of members per root cause, most frequent first; members without one do not count."""
    times: Sequence[datetime]  # when they were resolved, in order

    @classmethod
    def of(cls, members: Sequence[Ghap]) -> Outcomes:
        """Return the outcomes of at least one resolved entry."""
        ends = [member.outcome for member in members]
        return cls(
            _ranked(Counter(end.status for end in ends)),
            _ranked(Counter(end.root_cause.category for end in ends if end.root_cause)),
            sorted(end.resolved_at for end in ends),
        )

    def recent(self, now: datetime) -> int:
        """Return how many were resolved within `timeouts.RECENT` before now."""
        return len(self.times) - bisect_left(self.times, now - timedelta(seconds=timeouts.RECENT))


def _ranked(counts: Counter[Kind]) -> dict[Kind, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


_BETWEEN_TERMS: Final = ", "


@dataclass(frozen=True, slots=True, eq=False)
class ExperienceCluster:
    """A cluster of experiences."""

    id: ClusterId  # the id that clients see
    label: str  # its most distinctive terms
    members: tuple[Ghap, ...]  # the entries, most central first
    exemplars: tuple[Ghap, ...]  # the entries that represent it best
    mean_weight: float  # the mean tier weight of the members
    outcomes: Outcomes  # how the members ended, and when
    evidence: ClusterEvidence  # what a value is judged by, from the members the fit found


@dataclass(frozen=True, slots=True, eq=False)
class AxisClusters:
    """The clusters of one axis, largest first, and the noise."""

    axis: Axis
    clusters: tuple[ExperienceCluster, ...]
    noise: tuple[Ghap, ...]  # the experiences in no cluster, most recently resolved first
    total: int  # the number of experiences
    explanation: str | None  # why the fit found few clusters, if so
    fitted_at: datetime  # when the clusters were found
    stale: int  # how many experiences have come or gone since, and are not taken into account yet
    lineage: Lineage  # the history of the clusters
    places: Mapping[str, int | None]  # the number of each experience's cluster, or None for noise

    def get(self, cluster_id: ClusterId) -> ExperienceCluster:
        """Return the cluster."""
        for cluster in self.clusters:
            if cluster.id == cluster_id:
                return cluster
        if whereabouts := self.lineage.whereabouts(cluster_id.number, self.places):
            raise whereabouts.error(cluster_id)
        present = ", ".join(str(cluster.id) for cluster in self.clusters[: limits.CLUSTERS_NAMED]) or "none"
        most = f"the {limits.CLUSTERS_NAMED} largest" if len(self.clusters) > limits.CLUSTERS_NAMED else "the"
        raise NotFoundError(
            f"There has never been a cluster {cluster_id}; {most} clusters of {self.axis} are: {present}.",
            hint=f"Call get_clusters with axis {self.axis}.",
        )


def clusters_of(fit: AxisFit, at: datetime, lineage: Lineage, entries: Mapping[str, Ghap], stale: int) -> AxisClusters:
    """Build the view of an axis's clusters, which were found at some time."""
    places: dict[str, int | None] = {name: None for name in fit.ids if name in entries}
    clusters = []
    for fitted in fit.clusters:
        present = {name: cosine for name, cosine in fitted.members.items() if name in entries}
        if present:
            places.update(dict.fromkeys(present, fitted.id.number))
            label = fitted.label
            if len(present) < len(fitted.members):
                label = _unforgotten(label, fit.axis, (entries[name] for name in present))
            clusters.append(_cluster(fitted, label, [(entries[name], present[name]) for name in present]))
    clusters.sort(key=lambda cluster: (-len(cluster.members), cluster.id))
    noise = [entries[name] for name, number in places.items() if number is None]
    noise.sort(key=lambda entry: (entry.outcome.resolved_at, entry.id), reverse=True)
    return AxisClusters(
        fit.axis, tuple(clusters), tuple(noise), len(places), fit.explanation, at, stale, lineage, places
    )


def _unforgotten(label: str, axis: Axis, members: Iterable[Ghap]) -> str:
    """Return the label without terms that only forgotten members had."""
    texts = [axis_texts(member)[axis].casefold() for member in members]
    terms = label.split(_BETWEEN_TERMS)
    return _BETWEEN_TERMS.join(term for term in terms if any(term.casefold() in text for text in texts))


def _cluster(fitted: FittedCluster, label: str, members: Sequence[tuple[Ghap, float]]) -> ExperienceCluster:
    ranked = sorted(members, key=lambda member: (-member[1], member[0].id))
    best = nsmallest(
        limits.EXEMPLARS_SHOWN, ranked, key=lambda member: (-member[0].weight * max(member[1], 0.0), member[0].id)
    )
    entries = tuple(entry for entry, _ in ranked)
    return ExperienceCluster(
        id=fitted.id,
        label=label,
        members=entries,
        exemplars=tuple(entry for entry, _ in best),
        mean_weight=sum(entry.weight for entry in entries) / len(entries),
        outcomes=Outcomes.of(entries),
        evidence=fitted.evidence,
    )
