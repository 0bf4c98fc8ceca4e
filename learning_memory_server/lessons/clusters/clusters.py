"""The clusters of an axis, as a fit found them and as they are shown, and the history of their numbers.

Projects are clustered on request. All clusters take their numbers from one sequence.
"""

from __future__ import annotations

import asyncio
import hashlib
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from learning_memory_server.errors import JournalUnavailableError, NotFoundError
from learning_memory_server.index.document import axis_text
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.model import limits
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.value import ClusterId
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, RootCauseCategory
from learning_memory_server.system import timeouts

if TYPE_CHECKING:
    from learning_memory_server.journal.log import Log
    from learning_memory_server.lessons.clustering.topic import ClusterEvidence
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.moment import Clock


@dataclass(slots=True)
class Lineage:
    """The cluster numbers of one axis, of all projects or one."""

    members: dict[int, set[str]] = field(default_factory=dict)  # The members of each cluster in the last fit, by number
    gone: dict[int, frozenset[str]] = field(default_factory=dict)  # The last members of each lost number
    next_number: int = 0  # above every number assigned here

    def number_of(self) -> dict[str, int]:
        """Return the number of each member's cluster."""
        return {member: number for number, members in self.members.items() for member in members}

    def apply(self, moved: Mapping[str, int | None], next_number: int) -> None:
        """Apply the changes of a fit: `moved` has the new number, or None, of each experience that moved."""
        before, numbers = self.members, {**self.number_of(), **moved}
        self.members = {}
        for member, number in numbers.items():
            if number is not None:
                self.members.setdefault(number, set()).add(member)
        self.gone |= {number: frozenset(members) for number, members in before.items() if number not in self.members}
        self.next_number = max(self.next_number, next_number)

    def whereabouts(self, number: int, places: Mapping[str, int | None]) -> Whereabouts | None:
        """Return where the last members of a cluster are now by `places`; None if its number was never assigned."""
        last = self.members.get(number) or self.gone.get(number)
        if last is None:
            return None
        present = [places[member] for member in last if member in places]
        found = Counter(place for place in present if place is not None)
        return Whereabouts(
            dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))),
            present.count(None),
            len(last) - len(present),
        )


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where the last members of a cluster that no longer exists are now."""

    clusters: Mapping[int, int]  # how many are in which current cluster, most first
    loose: int  # how many are in no cluster
    forgotten: int  # how many have been forgotten

    def error(self, gone: ClusterId) -> NotFoundError:
        """Return the error that tells a client what became of the cluster, and which one to use instead."""
        counts = {f"in {ClusterId(gone.axis, number)}": count for number, count in self.clusters.items()}
        counts |= {"in no cluster": self.loose, "forgotten": self.forgotten}
        now = ", ".join(f"{count} {where}" for where, count in counts.items() if count)
        story = f"{gone} no longer exists. Its members are now: {now}."
        ways = [f"cluster_id {ClusterId(gone.axis, number)}" for number in self.clusters]
        if ways:
            hint = f"Check with {{}}, then use {' or '.join(ways[:3])}."
            return NotFoundError(story, hint=hint, calls=["get_cluster_members"])
        return NotFoundError(story, hint=f"Call {{}} with axis {gone.axis}.", calls=["get_clusters"])


class LineageLog:
    """The lineages in the journal, read once, in a thread. `JournalUnavailableError` changes nothing."""

    def __init__(self, history: Log, clock: Clock) -> None:
        self._history = history
        self._clock = clock
        self._reading = asyncio.Lock()
        self._lineages: dict[tuple[str, str | None], Lineage] | None = None

    async def of(self, axis: Axis, project: str | None) -> Lineage:
        """Return the lineage of an axis, which callers must not change."""
        return (await self._all()).setdefault((axis, _digest(project)), Lineage())

    async def next_number(self, axis: Axis) -> int:
        """Return a number above every number of the axis, whatever its project."""
        lineages = await self._all()
        return max((each.next_number for (name, _), each in lineages.items() if name == axis), default=0)

    async def owner(self, cluster: ClusterId, projects: Iterable[str]) -> str | None:
        """Return the project of a cluster among these; None if it has none of them."""
        lineages = await self._all()
        nothing = Lineage()
        own = ((project, lineages.get((cluster.axis, _digest(project)), nothing)) for project in projects)
        return next((name for name, each in own if cluster.number in each.members or cluster.number in each.gone), None)

    async def _all(self) -> dict[tuple[str, str | None], Lineage]:
        async with self._reading:
            if self._lineages is None:
                self._lineages = await asyncio.to_thread(self._read)
            return self._lineages

    async def remember(self, axis: Axis, project: str | None, now: Mapping[int, frozenset[str]]) -> None:
        """Record which experiences a fit has moved to which cluster."""
        lineage = await self.of(axis, project)
        data = await asyncio.to_thread(self._write, axis, project, lineage, now)
        lineage.apply(data["moved"], data["next_number"])

    def _write(
        self, axis: Axis, project: str | None, lineage: Lineage, now: Mapping[int, frozenset[str]]
    ) -> dict[str, Any]:
        old, new = lineage.number_of(), {member: number for number, members in now.items() for member in members}
        moved = {
            member: new.get(member) for member in sorted(old.keys() | new.keys()) if old.get(member) != new.get(member)
        }
        next_number = max([lineage.next_number, *(number + 1 for number in now)])
        data: dict[str, Any] = {"next_number": next_number, "moved": moved}
        if project is not None:
            data["project"] = _digest(project)
        if moved:
            self._history.append([JournalRecord("clusters", axis.value, self._clock(), data)])
        return data

    def _read(self) -> dict[tuple[str, str | None], Lineage]:
        lineages: dict[tuple[str, str | None], Lineage] = {}
        for record in self._history.read().records:
            try:
                record.decoded(partial(_apply, lineages, record.id))
            except JournalUnavailableError:
                # The numbers that it has given are given again, at worst; those of the other lines stay.
                self._history.known_damage = (self._history.known_damage or 0) + 1
        return lineages


class _Change(msgspec.Struct):
    """What a line says of the clusters of an axis."""

    moved: dict[str, int | None]
    next_number: int
    project: str | None = None


def _apply(lineages: dict[tuple[str, str | None], Lineage], axis: str, data: dict[str, Any]) -> None:
    said = msgspec.convert(data, _Change)
    lineages.setdefault((axis, said.project), Lineage()).apply(said.moved, said.next_number)


def _digest(project: str | None) -> str | None:
    """Return what the journal calls a project: a purge keeps these lines, and must not keep the names."""
    return None if project is None else hashlib.sha256(project.encode()).hexdigest()[:32]


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


Choice = TypeVar("Choice", OutcomeStatus, RootCauseCategory)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """How the members ended, and when."""

    by_status: Mapping[OutcomeStatus, int]  # the number of members per outcome, most frequent first
    by_root_cause: Mapping[RootCauseCategory, int]  # Members per root cause, most frequent first
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
        start = now - timedelta(seconds=timeouts.RECENT)
        return sum(as_seen(time) >= start for time in self.times[bisect_left(self.times, start) :])


def _ranked(counts: Counter[Choice]) -> dict[Choice, int]:
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
            hint=f"Call {{}} with axis {self.axis}.",
            calls=["get_clusters"],
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
    noise.sort(key=lambda entry: (as_seen(entry.outcome.resolved_at), entry.id), reverse=True)
    return AxisClusters(
        fit.axis, tuple(clusters), tuple(noise), len(places), fit.explanation, at, stale, lineage, places
    )


def _unforgotten(label: str, axis: Axis, members: Iterable[Ghap]) -> str:
    """Return the label without terms that only forgotten members had."""
    texts = [axis_text(member, axis).casefold() for member in members]
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
