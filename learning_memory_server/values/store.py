"""Values: accepted only where they sit in the middle of their evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from learning_memory_server.domain.value import Evidence, Value, ValueOrder, new_value_id
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.values.likeness import values_like
from learning_memory_server.values.log import document_of
from learning_memory_server.values.standing import ordered, usual_outcome, weigh_all

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.clustering.clusters import ExperienceCluster
    from learning_memory_server.clustering.experiences import ExperienceClusterer
    from learning_memory_server.domain.caller import Caller
    from learning_memory_server.domain.cluster import ClusterId
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.observation.collector import ObservationCollector
    from learning_memory_server.values.likeness import Likeness
    from learning_memory_server.values.log import ValueLog
    from learning_memory_server.values.rule import Judgement
    from learning_memory_server.values.standing import Standing
    from learning_memory_server.values.witnesses import Witnesses


@dataclass(frozen=True, slots=True)
class Trial:
    """What became of a text that was tried as a value.

    Args:
        judgement: Whether it holds, and why.
        similar: The values of the axis that say nearly the same.
    """

    judgement: Judgement
    similar: tuple[Likeness, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """What storing a value came to.

    Args:
        standing: The value, new or not.
        similar: The values that say nearly the same as a new one.
        is_new: Whether this call has stored it; else the same one was there.
    """

    standing: Standing
    similar: tuple[Likeness, ...] = ()
    is_new: bool = True


class ValueStore:
    """Judges texts against clusters, keeps those that hold, and tells how they have held since.

    Args:
        log: Where values are kept.
        witnesses: Which experiences count for them.
        collector: Where experiences are.
        clusterer: Where clusters come from.
        index: Embeds the texts.
        writer: Indexes the values.
        clock: Tells the time.
    """

    def __init__(  # noqa: PLR0913 - a value draws on everything there is
        self,
        log: ValueLog,
        witnesses: Witnesses,
        collector: ObservationCollector,
        clusterer: ExperienceClusterer,
        index: VectorIndex,
        writer: IndexWriter,
        clock: Clock,
    ) -> None:
        self._log = log
        self._witnesses = witnesses
        self._collector = collector
        self._clusterer = clusterer
        self._index = index
        self._writer = writer
        self._clock = clock

    async def validate(self, text: str, cluster_id: ClusterId) -> Trial:
        """Judge a text against a cluster, and look for values that say nearly the same.

        Raises:
            NotFoundError: If there is no such cluster.
            InsufficientDataError: If there are too few experiences for clusters.
        """
        vector = await self._index.embed(text)
        _, judgement = await self._judge(vector, cluster_id)
        return Trial(judgement, await self._similar(vector, cluster_id.axis))

    async def store(
        self, caller: Caller, text: str, cluster_id: ClusterId, axis: Axis, supersedes: str | None = None
    ) -> Stored:
        """Keep a text as a value, if it holds.

        If the project has the same text on the axis in force already, that value stays as it is, with its record, and
        is returned: also if it is the one to be superseded, since only other words can take its place.

        Args:
            caller: Who stores it.
            text: The value.
            cluster_id: The cluster that taught it.
            axis: The cluster's axis.
            supersedes: The id of the value whose place it takes.

        Raises:
            InvalidInputError: If the axis is not the cluster's, the text does not hold, or the value that it is to
                supersede is superseded already, or is another one than the value that has this text.
            NotFoundError: If there is no such cluster, or no such value to supersede.
            InsufficientDataError: If there are too few experiences for clusters.
        """
        if caller.request and caller.again and (done := self._log.find_by_request(caller.request)):
            return Stored(self._weighed([done])[0])
        if cluster_id.axis is not axis:
            raise InvalidInputError(
                f"axis: {axis} is not the axis of {cluster_id}; expected {cluster_id.axis}."
            )
        if same := self._find_same(caller.project, text, axis, supersedes):
            return Stored(self._weighed([same])[0], is_new=False)
        vector = await self._index.embed(text)
        cluster, judgement = await self._judge(vector, cluster_id)
        if not judgement.valid:
            raise InvalidInputError(
                f"text: not accepted as a value of {cluster_id}: {judgement.reason} "
                f"(distance {judgement.centroid_distance:.3f}, at most {judgement.threshold:.3f}).",
                hint="Say what the cluster's members have in common, in their words; "
                "get_cluster_members shows them. validate_value tries a text without storing it.",
            )
        similar = await self._similar(vector, axis, supersedes)
        origin = await self._index.origin()
        # Another call may have been quicker; from here on, nothing waits.
        if same := self._find_same(caller.project, text, axis, supersedes):
            return Stored(self._weighed([same])[0], is_new=False)
        now = self._clock()
        value = Value(
            id=new_value_id(now),
            text=text,
            cluster_id=cluster_id,
            project=caller.project,
            created_at=now,
            request=caller.request,
            supersedes=supersedes,
            evidence=_evidence_of(cluster, judgement, origin),
        )
        self._log.add(value)
        await self._writer.write([document_of(value)])
        return Stored(self._weighed([value])[0], similar)

    def add_new(self, values: Iterable[Value]) -> list[Value]:
        """Take values from elsewhere, as they were judged there, and return those that were new, by id.

        Raises:
            JournalUnavailableError: If they could not be written down; then none is taken.
        """
        new = self._log.add_new(values)
        self._writer.postpone([document_of(value) for value in new])
        return new

    async def list_values(
        self,
        axis: Axis | None = None,
        project: str | None = None,
        *,
        order: ValueOrder = ValueOrder.CLUSTER_SIZE,
        superseded: bool = False,
    ) -> list[Standing]:
        """Return the values as they stand now, with the experiences that can be judged at once taken into account.

        Args:
            axis: Only values of this axis.
            project: Only values of this project.
            order: Which come first.
            superseded: Also those whose place another one took.
        """
        await self._witnesses.catch_up(self._log.all())
        return ordered(self._weighed(self._log.standing(axis, project, superseded=superseded)), order)

    def count_unjudged(self, standings: Sequence[Standing]) -> int:
        """Return how many experiences may count for these values, and are not judged yet."""
        return self._witnesses.count_unjudged([each.value for each in standings], self._log.all())

    async def _judge(
        self, vector: NDArray[np.float32], cluster_id: ClusterId
    ) -> tuple[ExperienceCluster, Judgement]:
        from learning_memory_server.values.rule import judge  # noqa: PLC0415 - numpy

        found = await self._clusterer.cluster_axis(cluster_id.axis)
        cluster = found.get(cluster_id)
        others = [other.evidence for other in found.clusters if other is not cluster]
        return cluster, judge(vector, cluster.evidence, others)

    async def _similar(
        self, vector: NDArray[np.float32], axis: Axis, besides: str | None = None
    ) -> tuple[Likeness, ...]:
        standing = [value for value in self._log.standing(axis) if value.id != besides]
        return await values_like(self._index, vector, standing)

    def _find_same(self, project: str, text: str, axis: Axis, supersedes: str | None) -> Value | None:
        """Return the value in force that has this text, if there is one; there is nothing to do then.

        Raises:
            InvalidInputError: If it cannot take the place of the value that is to be superseded.
            NotFoundError: If there is no value to be superseded.
        """
        same = self._log.find_same(text, axis, project)
        if same and supersedes in (None, same.id, same.supersedes):
            return same
        if supersedes is not None:
            self._log.require_standing(supersedes)
        if same:
            raise InvalidInputError(
                f"supersedes: {same.id} has this text already, and cannot take another's place.",
                hint=f"Say it in other words to supersede {supersedes}, or leave supersedes out.",
            )
        return None

    def _weighed(self, values: Sequence[Value]) -> list[Standing]:
        return weigh_all(values, self._log, self._witnesses.of_values(), self._collector)


def _evidence_of(cluster: ExperienceCluster, judgement: Judgement, origin: str) -> Evidence:
    from learning_memory_server.values.circles import radius_of  # noqa: PLC0415 - numpy

    return Evidence(
        member_ids=tuple(member.id for member in cluster.members),
        centroid=tuple(float(x) for x in cluster.evidence.centroid),
        similarity=judgement.similarity,
        centroid_distance=judgement.centroid_distance,
        threshold=judgement.threshold,
        embedding=origin,
        radius=radius_of(cluster.evidence),
        outcome=usual_outcome(cluster.members),
    )
