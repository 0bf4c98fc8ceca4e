"""The values: a text is accepted only if its topic is the topic of its cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.base import Vectors
from learning_memory_server.errors import AWAY, InvalidInputError, JournalUnavailableError, NotFoundError
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import Filter
from learning_memory_server.index.ranking.hybrid import Match, Query, mode_for
from learning_memory_server.index.ranking.threshold import ALIKE, MEAN, NEAR
from learning_memory_server.lessons.values.log import (
    Closest,
    Likeness,
    Standing,
    ValueLog,
    closest_members,
    document_of,
    nearest_values,
    ordered,
    weigh_all,
)
from learning_memory_server.model import limits
from learning_memory_server.model.value import Evidence, Value, ValueOrder, new_value_id
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, SearchMode, Stance
from learning_memory_server.recall.recall import rank
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import Budget

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.writer import IndexWriter
    from learning_memory_server.lessons.clustering.topic import TopicMatch
    from learning_memory_server.lessons.clusters.clusterer import ExperienceClusterer
    from learning_memory_server.lessons.clusters.clusters import ExperienceCluster
    from learning_memory_server.lessons.values.log import VerdictLog
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.moment import Clock
    from learning_memory_server.model.value import ClusterId


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of validating a text as a value."""

    topic: TopicMatch  # whether its topic is the cluster's, and why
    similar: tuple[Likeness, ...] = ()  # the values of the axis that say nearly the same
    closest: Closest = field(default_factory=Closest)  # The closest lessons and beliefs of the cluster's members


@dataclass(frozen=True, slots=True)
class CitedEntries:
    """The entries an author gives for a value."""

    supported_by: tuple[str, ...] = ()  # the ids of the entries that support it
    contradicted_by: tuple[str, ...] = ()  # the ids of those that contradict it

    @property
    def stances(self) -> dict[str, Stance]:
        """The stance of each entry on the value, by id."""
        return {
            **dict.fromkeys(self.supported_by, Stance.SUPPORTS),
            **dict.fromkeys(self.contradicted_by, Stance.CONTRADICTS),
        }


_NOTHING_CITED: Final = CitedEntries()


@dataclass(frozen=True, slots=True)
class StoreResult:
    """The result of storing a value."""

    standing: Standing  # the value, new or not
    similar: tuple[Likeness, ...] = ()  # the values that say nearly the same as a new one
    is_new: bool = True  # whether this call stored it; if not, the same value already existed


@dataclass(eq=False)
class ValueStore:
    """Tests texts against clusters, keeps those on topic as values, records verdicts on them, and finds them."""

    log: ValueLog
    verdicts: VerdictLog
    collector: ObservationCollector
    clusterer: ExperienceClusterer
    index: VectorIndex
    writer: IndexWriter
    clock: Clock

    async def validate(self, text: str, cluster_id: ClusterId) -> Validation:
        """Test whether a text's topic is a cluster's, and find what to compare it with; raises as `store`."""
        vector = await self._embed(text)
        request = timeouts.VALIDATING
        cluster, match = await self._match(vector, cluster_id, Budget(request, index=timeouts.VALIDATING_CLUSTERS))
        index = self.index.with_budget(Budget(request, timeouts.CLOSEST_MODEL, timeouts.CLOSEST_READ))
        similar, closest = await asyncio.gather(
            self._similar(vector, cluster_id.axis, request),
            closest_members(index, cluster_id.axis, cluster.members, vector),
        )
        return Validation(match, similar, closest)

    async def store(
        self,
        caller: Caller,
        text: str,
        cluster_id: ClusterId,
        axis: Axis,
        supersedes: str | None = None,
        cited: CitedEntries = _NOTHING_CITED,
    ) -> StoreResult:
        """Store a text as a value, if its topic is the cluster's, with verdicts on the entries that are cited.

        A current value with the same text and axis in the project is returned, with the verdicts.

        Raises:
            InvalidInputError: For another axis than the cluster's, an invalid or known text, a superseded value to
                supersede, or an entry that is open or cited twice.
            NotFoundError: If the cluster, the value to supersede, or a cited entry does not exist.
        """
        if caller.request and caller.again and (done := self.log.find_by_request(caller.request)):
            return StoreResult(self._standing(done))
        if cluster_id.axis is not axis:
            raise InvalidInputError(
                f"axis: {axis} is not the axis of {cluster_id}; expected {cluster_id.axis}.", arguments=["axis"]
            )
        if existing := self._existing(caller, text, axis, supersedes, cited):
            return existing
        vector = await self._embed(text)
        request = timeouts.STORING
        cluster, match = await self._match(vector, cluster_id, Budget(request, index=timeouts.STORING_CLUSTERS))
        _require_on_topic(match, cluster_id)
        similar = await self._similar(vector, axis, request, supersedes)
        origin = await self.index.origin(Collection.of(axis))
        # Another call may have stored it during the awaits above; from here to the append there are none.
        if existing := self._existing(caller, text, axis, supersedes, cited):
            return existing
        now = self.clock()
        value = Value(
            id=new_value_id(now),
            text=text,
            cluster_id=cluster_id,
            project=caller.project,
            created_at=now,
            request=caller.request,
            supersedes=supersedes,
            evidence=_evidence_of(cluster, match, origin),
        )
        # The verdicts first: a crash in between leaves verdicts on nothing, never a value without its verdicts.
        self.verdicts.record(caller, value, self.clock(), cited.stances)
        self.log.add(value)
        await self.writer.write([document_of(value)], timeouts.STORING)
        return StoreResult(self._standing(value), similar)

    def add_new(self, values: Iterable[Value]) -> list[Value]:
        """Import values as they were judged elsewhere, and return those whose ids are new."""
        new = self.log.add_new(values)
        self.writer.postpone([document_of(value) for value in new])
        return new

    def _existing(
        self, caller: Caller, text: str, axis: Axis, supersedes: str | None, cited: CitedEntries
    ) -> StoreResult | None:
        """Return the current value that already has this text, now with these verdicts, if there is one to return."""
        if twice := sorted(set(cited.supported_by).intersection(cited.contradicted_by)):
            raise InvalidInputError(
                f"supported_by, contradicted_by: {', '.join(twice)} is in both; an entry has one verdict on a value."
            )
        require_resolved("supported_by", cited.supported_by, self.collector)
        require_resolved("contradicted_by", cited.contradicted_by, self.collector)
        same = self.log.find_same(text, axis, caller.project)
        if same and supersedes in (None, same.id, same.supersedes):
            self.verdicts.record(caller, same, self.clock(), cited.stances)
            return StoreResult(self._standing(same), is_new=False)
        if supersedes is not None:
            self.log.require_current(supersedes)
        if same:
            raise InvalidInputError(
                f"supersedes: {same.id} already has this text and cannot replace another value.",
                hint=f"Reword the text to supersede {supersedes}, or leave supersedes out.",
                arguments=["supersedes"],
            )
        return None

    async def _match(
        self, vector: Vectors, cluster_id: ClusterId, budget: Budget
    ) -> tuple[ExperienceCluster, TopicMatch]:
        from learning_memory_server.lessons.clustering.topic import match_topic

        found = await self.clusterer.clusters_with(cluster_id, budget)
        cluster = found.get(cluster_id)
        others = [other.evidence for other in found.clusters if other is not cluster]
        return cluster, match_topic(vector, cluster.evidence, others, self.index.scale.scale.stretch)

    async def _embed(self, text: str) -> Vectors:
        return await self.index.with_budget(Budget(model=timeouts.VALUE_MODEL)).embed(text)

    async def _similar(
        self, vector: Vectors, axis: Axis, request: float, besides: str | None = None
    ) -> tuple[Likeness, ...]:
        """Return at most five values of the axis similar to a text, most similar first; none without an engine."""
        others = [value for value in self.log.current(axis) if value.id != besides]
        index = self.index.with_budget(Budget(request, index=timeouts.VALIDATING))
        try:
            async with index.limited():
                near = await nearest_values(index, vector, others, limits.ALIKE_SHOWN)
        except AWAY:
            return ()
        return tuple(each for each in near if each.similarity >= ALIKE)

    def judge(self, caller: Caller, value_id: str, ghap_id: str, stance: Stance) -> Standing:
        """Record what an entry says about a value, and return its standing. The last verdict on a pair counts."""
        value = self.log.find(value_id)
        if value is None:
            raise NotFoundError(f"There is no value {value_id}.", hint="Call list_values to see the ids.")
        done = caller.request and caller.again and self.verdicts.find_by_request(caller.request)
        if not done:
            require_resolved("ghap_id", [ghap_id], self.collector)
            self.verdicts.record(caller, value, self.clock(), {ghap_id: stance})
        return self._standing(value)

    async def find_near(self, entry: Ghap) -> Value | None:
        """Return the value of its project that an entry is most likely relevant to, or None.

        Values that were superseded, or that the entry has judged, are left out.
        """
        judged = {each.value_id for each in self.verdicts.all() if each.ghap_id == entry.id}
        values = [each for each in self.log.current(None, entry.project) if each.id not in judged]
        is_ready = self.index.is_open and self.index.scale.known
        if not values or not is_ready or entry.outcome.status is OutcomeStatus.ABANDONED:
            return None
        try:
            # The model may be late, too.
            async with asyncio.timeout(timeouts.NAMED_VALUE):
                vector = await self.index.with_budget(Budget(model=timeouts.NAMED_VALUE)).embed(learned_text(entry))
                index = self.index.with_budget(Budget(timeouts.NAMED_VALUE_REQUEST))
                near = await nearest_values(index, vector, values, 1)
        except (*AWAY, TimeoutError):
            return None
        least = NEAR + self.index.usual_closeness(Collection.of(Axis.FULL), vector, MEAN)
        return next((each.value for each in near if each.similarity >= least), None)

    def list_values(
        self,
        axis: Axis | None = None,
        project: str | None = None,
        *,
        order: ValueOrder = ValueOrder.SUPPORT,
        superseded: bool = False,
    ) -> list[Standing]:
        """Return the standings of the values."""
        chosen = self.log.current(axis, project, superseded=superseded)
        return ordered(weigh_all(chosen, self.log, self.verdicts, self.collector), order)

    async def by_relevance(self, query: str, standings: Sequence[Standing]) -> tuple[list[Standing], SearchMode]:
        """Return the standings with those that match a question best first, and the mode of the search."""
        by_id = {each.value.id: each for each in standings}
        mode = mode_for(query)
        try:
            index = self.index.with_budget(Budget(*timeouts.LISTING))
            async with index.limited():
                matches = await _search(index, query, by_id, max(len(by_id), 1))
            best = [str(match.payload["value_id"]) for match in matches]
        except AWAY:
            mode = SearchMode.LEXICAL
            texts = [(name, each.value.text) for name, each in by_id.items()]
            best = [name for name, _ in rank(query, texts, len(texts))]
        ranked = dict.fromkeys([*best, *by_id])
        return [by_id[name] for name in ranked], mode

    async def matching(self, query: str, project: str | None = None) -> list[Standing]:
        """Return the values in force that match a question best, at most two.

        None if the index is away or late, or if the values cannot be read.
        """
        try:
            in_force = {each.value.id: each for each in self.list_values(project=project) if each.is_in_force}
        except JournalUnavailableError:
            return []
        if not in_force or not self.index.is_open:
            return []
        try:
            index = self.index.with_budget(Budget(*timeouts.MATCHING))
            async with asyncio.timeout(index.budget.index):
                matches = await _search(index, query, in_force, limits.VALUES_MATCHING)
        except (*AWAY, TimeoutError):
            return []
        return [
            in_force[match.payload["value_id"]]
            for match in matches
            if (least := match.explanation.basis.least) is not None and match.explanation.strength >= least
        ]

    def _standing(self, value: Value) -> Standing:
        return weigh_all([value], self.log, self.verdicts, self.collector)[0]


async def _search(index: VectorIndex, query: str, among: Mapping[str, Standing], limit: int) -> list[Match]:
    """Return how the values among these match a question, best first."""
    asked = Query(Collection.VALUES, query, limit, Filter())
    return await index.search_hybrid(asked, lambda payload: payload["value_id"] in among)


def _require_on_topic(match: TopicMatch, cluster_id: ClusterId) -> None:
    if not match.valid:
        raise InvalidInputError(
            f"text: not accepted as a value of {cluster_id}: {match.reason} "
            f"(distance {match.centroid_distance:.3f}, at most {match.threshold:.3f}).",
            hint="Say what the cluster's members have in common, in their words; "
            "get_cluster_members shows them. validate_value tests a text without storing it.",
            arguments=["text"],
        )


def _evidence_of(cluster: ExperienceCluster, match: TopicMatch, origin: str) -> Evidence:
    return Evidence(
        member_ids=tuple(member.id for member in cluster.members),
        centroid=tuple(round(float(x), 6) for x in cluster.evidence.centroid),
        similarity=match.similarity,
        centroid_distance=match.centroid_distance,
        threshold=match.threshold,
        embedding=origin,
    )


def learned_text(entry: Ghap) -> str:
    """Return what is compared with values: what was believed, and what was learned."""
    return "\n".join(part for part in (entry.goal, entry.hypothesis, entry.learned) if part)


def require_resolved(field: str, ghap_ids: Iterable[str], collector: ObservationCollector) -> None:
    """Require that every id names a resolved entry."""
    looked = collector.look_up(ghap_ids)
    if missing := [*looked.unknown, *looked.before]:
        raise NotFoundError(
            f"{field}: there is no entry {', '.join(missing)}.",
            hint="Only resolved entries can be judged; get_cluster_members and search_experiences show their ids.",
        )
    if still_open := [entry.id for entry in looked.found if entry.resolution is None]:
        raise InvalidInputError(
            f"{field}: {', '.join(still_open)} is still open.",
            hint="Resolve it with resolve_ghap first: only what really happened can support or contradict a value.",
        )
