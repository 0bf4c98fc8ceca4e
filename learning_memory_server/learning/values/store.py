"""Store values: a text is accepted only if its topic is that of the cluster it was learned from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from learning_memory_server.errors import InvalidInputError, StorageUnavailableError
from learning_memory_server.index.document import Collection
from learning_memory_server.learning.values.closest import Closest, Likeness, closest_members, values_like
from learning_memory_server.learning.values.judge import require_resolved
from learning_memory_server.learning.values.log import Standing, ValueLog, document_of, weigh_all
from learning_memory_server.model.value import Evidence, Value, new_value_id
from learning_memory_server.model.vocabulary import Axis, Stance
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import each_request_within

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.writer import IndexWriter
    from learning_memory_server.learning.clustering.topic import TopicMatch
    from learning_memory_server.learning.clusters.clusterer import ExperienceClusterer
    from learning_memory_server.learning.clusters.clusters import ExperienceCluster
    from learning_memory_server.learning.values.log import VerdictLog
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.model.cluster import ClusterId
    from learning_memory_server.model.moment import Clock


@dataclass(frozen=True, slots=True)
class Validation:
    """The result of validating a text as a value."""

    topic: TopicMatch  # whether its topic is the cluster's, and why
    similar: tuple[Likeness, ...] = ()  # the values of the axis that say nearly the same
    closest: Closest = field(default_factory=Closest)
    """What the cluster's members learned and believed that is closest to it."""


@dataclass(frozen=True, slots=True)
class Cited:
    """The entries an author gives for a value."""

    supported_by: tuple[str, ...] = ()  # the ids of the entries that support it
    contradicted_by: tuple[str, ...] = ()  # the ids of those that contradict it

    @property
    def stances(self) -> dict[str, Stance]:
        """What each of them says about the value, by its id."""
        return {
            **dict.fromkeys(self.supported_by, Stance.SUPPORTS),
            **dict.fromkeys(self.contradicted_by, Stance.CONTRADICTS),
        }


_NOTHING_CITED: Final = Cited()


@dataclass(frozen=True, slots=True)
class Stored:
    """The result of storing a value."""

    standing: Standing  # the value, new or not
    similar: tuple[Likeness, ...] = ()  # the values that say nearly the same as a new one
    is_new: bool = True  # whether this call stored it; if not, the same value already existed


@dataclass(eq=False)
class ValueStore:
    """Tests texts against clusters, and stores those on topic as values."""

    log: ValueLog
    verdicts: VerdictLog
    collector: ObservationCollector
    clusterer: ExperienceClusterer
    index: VectorIndex
    writer: IndexWriter
    clock: Clock

    async def validate(self, text: str, cluster_id: ClusterId) -> Validation:
        """Test whether a text's topic is a cluster's, and find what to compare it with.

        Raises what `store` raises.
        """
        vector = await self.index.embed(text, timeouts.VALUE_MODEL)
        with each_request_within(timeouts.VALIDATING):
            cluster, match = await self._match(vector, cluster_id, timeouts.VALIDATING_CLUSTERS)
            similar, closest = await asyncio.gather(
                self._similar(vector, cluster_id.axis),
                closest_members(self.index, cluster_id.axis, cluster.members, vector),
            )
        return Validation(match, similar, closest)

    async def store(  # noqa: PLR0913 - what a value is made of
        self,
        caller: Caller,
        text: str,
        cluster_id: ClusterId,
        axis: Axis,
        supersedes: str | None = None,
        cited: Cited = _NOTHING_CITED,
    ) -> Stored:
        """Store a text as a value, if its topic is the cluster's, with verdicts on the entries that are cited.

        If the project already has a current value with the same text and axis, that value is returned, with the
        verdicts, even if it is the one to be superseded: a text cannot supersede itself.

        Raises:
            InvalidInputError: If the axis is not the cluster's, the text is not valid, the value to supersede is
                already superseded, another value already has this text, or a cited entry is open or cited twice.
            NotFoundError: If the cluster, the value to supersede, or a cited entry does not exist.
        """
        if caller.request and caller.again and (done := self.log.find_by_request(caller.request)):
            return Stored(self._standing(done))
        if cluster_id.axis is not axis:
            raise InvalidInputError(f"axis: {axis} is not the axis of {cluster_id}; expected {cluster_id.axis}.")
        if existing := self._existing(caller, text, axis, supersedes, cited):
            return existing
        vector = await self.index.embed(text, timeouts.VALUE_MODEL)
        with each_request_within(timeouts.STORING):
            cluster, match = await self._match(vector, cluster_id, timeouts.STORING_CLUSTERS)
        _require_on_topic(match, cluster_id)
        with each_request_within(timeouts.STORING):
            similar = await self._similar(vector, axis, supersedes)
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
        await self.writer.write([document_of(value)], within=timeouts.STORING)
        return Stored(self._standing(value), similar)

    def add_new(self, values: Iterable[Value]) -> list[Value]:
        """Import values as they were judged elsewhere, and return those whose ids are new."""
        new = self.log.add_new(values)
        self.writer.postpone([document_of(value) for value in new])
        return new

    def _existing(self, caller: Caller, text: str, axis: Axis, supersedes: str | None, cited: Cited) -> Stored | None:
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
            return Stored(self._standing(same), is_new=False)
        if supersedes is not None:
            self.log.require_current(supersedes)
        if same:
            raise InvalidInputError(
                f"supersedes: {same.id} already has this text and cannot replace another value.",
                hint=f"Reword the text to supersede {supersedes}, or leave supersedes out.",
            )
        return None

    async def _match(
        self, vector: NDArray[np.float32], cluster_id: ClusterId, within: float
    ) -> tuple[ExperienceCluster, TopicMatch]:
        from learning_memory_server.learning.clustering.topic import match_topic  # noqa: PLC0415 - numpy

        found = await self.clusterer.clusters_with(cluster_id, within)
        cluster = found.get(cluster_id)
        others = [other.evidence for other in found.clusters if other is not cluster]
        return cluster, match_topic(vector, cluster.evidence, others)

    async def _similar(
        self, vector: NDArray[np.float32], axis: Axis, besides: str | None = None
    ) -> tuple[Likeness, ...]:
        others = [value for value in self.log.current(axis) if value.id != besides]
        try:
            async with self.index.in_time(timeouts.VALIDATING):
                return await values_like(self.index, vector, others)
        except StorageUnavailableError:
            return ()

    def _standing(self, value: Value) -> Standing:
        return weigh_all([value], self.log, self.verdicts, self.collector)[0]


def _require_on_topic(match: TopicMatch, cluster_id: ClusterId) -> None:
    if not match.valid:
        raise InvalidInputError(
            f"text: not accepted as a value of {cluster_id}: {match.reason} "
            f"(distance {match.centroid_distance:.3f}, at most {match.threshold:.3f}).",
            hint="Say what the cluster's members have in common, in their words; "
            "get_cluster_members shows them. validate_value tests a text without storing it.",
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
