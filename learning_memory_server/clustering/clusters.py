"""The clusters of an axis as they stand now: those of the last fit, without what is forgotten, with what came since."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import nsmallest
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from learning_memory_server.clustering.profile import Profile
from learning_memory_server.errors import NotFoundError
from learning_memory_server.observation.documents import axis_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from learning_memory_server.clustering.axis_fit import AxisFit, FittedCluster
    from learning_memory_server.clustering.evidence import ClusterEvidence
    from learning_memory_server.clustering.lineage import Lineage
    from learning_memory_server.clustering.placement import Placement
    from learning_memory_server.domain.cluster import ClusterId
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.domain.vocabulary import Axis

_EXEMPLARS: Final = 3
_NAMED: Final = 10
"""How many clusters an error names, the largest."""
_BETWEEN_TERMS: Final = ", "


@dataclass(frozen=True, slots=True, eq=False)
class ExperienceCluster:
    """Experiences that belong together.

    Args:
        id: What clients call it.
        label: A few words that set it apart.
        members: The entries, most central first.
        exemplars: The entries that stand for it best.
        mean_weight: The mean tier weight of the members.
        profile: How the members ended, and when.
        evidence: What a value is judged by: the members that the fit has found.
    """

    id: ClusterId
    label: str
    members: tuple[Ghap, ...]
    exemplars: tuple[Ghap, ...]
    mean_weight: float
    profile: Profile
    evidence: ClusterEvidence


@dataclass(frozen=True, slots=True, eq=False)
class AxisClusters:
    """The clusters of one axis, largest first, and what is in none of them.

    Args:
        axis: The axis.
        clusters: The clusters.
        noise_count: How many experiences are in none.
        total: How many there are.
        explanation: Why there are few clusters, where that is so.
        fitted_at: When the clusters were found.
        placed_since: How many experiences came later and were placed into them, or into none, by their neighbours.
        lineage: Which clusters there were before.
        places: The number of each experience's cluster, or None.
    """

    axis: Axis
    clusters: tuple[ExperienceCluster, ...]
    noise_count: int
    total: int
    explanation: str | None
    fitted_at: datetime
    placed_since: int
    lineage: Lineage
    places: Mapping[str, int | None]

    def get(self, cluster_id: ClusterId) -> ExperienceCluster:
        """Return the cluster.

        Raises:
            NotFoundError: If there is none of that id now; it says what became of one that there was.
        """
        for cluster in self.clusters:
            if cluster.id == cluster_id:
                return cluster
        if whereabouts := self.lineage.whereabouts(cluster_id.number, self.places):
            raise whereabouts.error(cluster_id)
        present = ", ".join(str(cluster.id) for cluster in self.clusters[:_NAMED]) or "none"
        most = f"the {_NAMED} largest" if len(self.clusters) > _NAMED else "the"
        raise NotFoundError(
            f"There has never been a cluster {cluster_id}; {most} clusters of {self.axis} are: {present}.",
            hint=f"Call get_clusters with axis {self.axis}.",
        )


def clusters_of(  # noqa: PLR0913 - what a view is put together from
    axis: Axis,
    fit: AxisFit,
    lineage: Lineage,
    entries: Mapping[str, Ghap],
    placed: Mapping[str, Placement],
    before: AxisClusters | None,
) -> AxisClusters:
    """Put together how the clusters stand.

    Args:
        axis: The axis.
        fit: Its last fit.
        lineage: The numbers that were given on it.
        entries: Every experience there is now, by id.
        placed: Where those belong that the fit did not have.
        before: How they stood a moment ago, if that was with the same fit: what is unchanged is not put together again.
    """
    places = {name: number for name, number in fit.numbers.items() if name in entries}
    newcomers = {name: placement for name, placement in placed.items() if name in entries}
    places |= {name: placement.number for name, placement in newcomers.items()}
    joined: dict[int, dict[str, float]] = {}
    for name, placement in newcomers.items():
        if placement.number is not None:
            joined.setdefault(placement.number, {})[name] = placement.similarity
    unchanged = {cluster.id: cluster for cluster in before.clusters} if before else {}
    clusters = []
    for fitted in fit.clusters:
        cosines = {**fitted.members, **joined.get(fitted.id.number, {})}
        present = {name: cosine for name, cosine in cosines.items() if name in entries}
        same = unchanged.get(fitted.id)
        if same and present.keys() == {member.id for member in same.members}:
            clusters.append(same)
        elif present:
            label = fitted.label
            if not fitted.members.keys() <= entries.keys():
                label = _unforgotten(label, axis, (entries[name] for name in present))
            clusters.append(_cluster(fitted, label, [(entries[name], present[name]) for name in present]))
    clusters.sort(key=lambda cluster: (-len(cluster.members), cluster.id))
    noise = sum(number is None for number in places.values())
    return AxisClusters(
        axis,
        tuple(clusters),
        noise,
        len(places),
        _explanation(fit, len(clusters), noise, len(places)),
        fit.at,
        len(newcomers),
        lineage,
        places,
    )


def _unforgotten(label: str, axis: Axis, members: Iterable[Ghap]) -> str:
    """Return the label without the terms that only a forgotten member had."""
    texts = [axis_texts(member)[axis].casefold() for member in members]
    terms = label.split(_BETWEEN_TERMS)
    return _BETWEEN_TERMS.join(term for term in terms if any(term.casefold() in text for text in texts))


def _cluster(fitted: FittedCluster, label: str, members: Sequence[tuple[Ghap, float]]) -> ExperienceCluster:
    ranked = sorted(members, key=lambda member: (-member[1], member[0].id))
    weights = [entry.weight for entry, _ in ranked]
    merits = [
        (-weight * max(cosine, 0.0), entry.id, entry)
        for weight, (entry, cosine) in zip(weights, ranked, strict=True)
    ]
    entries = tuple(entry for entry, _ in ranked)
    return ExperienceCluster(
        id=fitted.id,
        label=label,
        members=entries,
        exemplars=tuple(entry for _, _, entry in nsmallest(_EXEMPLARS, merits, key=itemgetter(0, 1))),
        mean_weight=sum(weights) / len(weights),
        profile=Profile.of(entries),
        evidence=fitted.evidence,
    )


def _explanation(fit: AxisFit, found: int, noise: int, total: int) -> str | None:
    """Say why there are few clusters, or none, as of now."""
    from learning_memory_server.clustering.partition import THIN_NOISE  # noqa: PLC0415 - numpy

    if found and noise <= THIN_NOISE * total:
        return None
    if fit.explanation is not None:
        # It speaks of as many points as there were then.
        return fit.explanation if total == len(fit.numbers) else f"At the last fit: {fit.explanation}"
    return (
        f"{noise} of {total} experiences are in no cluster: many came after the last fit, and are unlike its clusters. "
        "The next fit looks for clusters among them."
    )
