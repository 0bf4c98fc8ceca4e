"""Values: accepted only where they sit in the middle of their evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning_memory_server.domain.value import Evidence, Value, new_value_id
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.indexing.document import Collection, Document, point_id
from learning_memory_server.journal.codec import value_from_data, value_to_data
from learning_memory_server.journal.forgetting import Forgetting
from learning_memory_server.journal.record import JournalRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from learning_memory_server.clustering.experiences import ExperienceCluster, ExperienceClusterer
    from learning_memory_server.domain.caller import Caller
    from learning_memory_server.domain.cluster import ClusterId
    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.journal.log import Log
    from learning_memory_server.values.rule import Judgement


class ValueLog:
    """The values in the journal. Read once, at the first use."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._values: dict[str, Value] | None = None
        self._forgotten: set[str] = set()

    def all(self) -> list[Value]:
        """Return every value, oldest first."""
        return list(self._loaded().values())

    def add(self, value: Value) -> None:
        """Write a value down; it is on the disk when this returns."""
        loaded = self._loaded()
        self._log.append([JournalRecord("value", value.id, value.created_at, value_to_data(value))])
        loaded[value.id] = value

    def look_up(self, ids: Iterable[str]) -> Forgetting[Value]:
        """Return what `forget` would return, and change nothing."""
        return Forgetting.of(ids, self._loaded(), self._forgotten)

    def look_up_project(self, project: str) -> Forgetting[Value]:
        """Return all values of a project as what would be forgotten, and change nothing."""
        return self.look_up(value.id for value in self.all() if value.project == project)

    def forget(self, ids: Iterable[str], at: datetime) -> Forgetting[Value]:
        """Forget values, for ever; they are gone from every reading once this returns.

        Raises:
            JournalUnavailableError: If it could not be written down; then nothing is forgotten.
        """
        forgetting = self.look_up(ids)
        self._log.forget("value", (value.id for value in forgetting.found), at)
        for value in forgetting.found:
            del self._loaded()[value.id]
            self._forgotten.add(value.id)
        return forgetting

    def citing(self, ghap_ids: Iterable[str]) -> list[Value]:
        """Return the values whose evidence has one of the entries, oldest first.

        A value is its author's own sentence, and stays when an entry behind it is forgotten; its evidence
        keeps that entry's id and nothing else of it.
        """
        wanted = set(ghap_ids)
        return [value for value in self.all() if not wanted.isdisjoint(value.evidence.member_ids)]

    def listed(self, axis: Axis | None = None, project: str | None = None) -> list[Value]:
        """Return the values, those of the largest clusters first, then the newest."""
        chosen = [
            value
            for value in self.all()
            if (axis is None or value.cluster_id.axis is axis)
            and (project is None or value.project == project)
        ]
        return sorted(
            chosen,
            key=lambda value: (len(value.evidence.member_ids), value.created_at, value.id),
            reverse=True,
        )

    def find_by_request(self, request: str) -> Value | None:
        """Return the value that this very call has stored before, if its answer was lost and it is sent again."""
        return next((value for value in reversed(self.all()) if value.request == request), None)

    def documents(self) -> Iterator[Document]:
        """Return every value as a document for the index."""
        return map(document_of, self.all())

    def forgotten(self) -> Iterator[str]:
        """Return the point ids of the values that are forgotten."""
        self._loaded()
        return (point_id("value", value_id) for value_id in self._forgotten)

    def _loaded(self) -> dict[str, Value]:
        if self._values is None:
            content = self._log.read()
            self._values = {record.id: record.decoded(value_from_data) for record in content.records}
            self._forgotten = content.forgotten_ids("value")
        return self._values


class ValueStore:
    """Judges texts against clusters, and keeps those that hold.

    Args:
        log: Where values are kept.
        clusterer: Where clusters come from.
        index: Embeds the texts.
        writer: Indexes the values.
        clock: Tells the time.
    """

    def __init__(
        self,
        log: ValueLog,
        clusterer: ExperienceClusterer,
        index: VectorIndex,
        writer: IndexWriter,
        clock: Clock,
    ) -> None:
        self._log = log
        self._clusterer = clusterer
        self._index = index
        self._writer = writer
        self._clock = clock

    async def validate(self, text: str, cluster_id: ClusterId) -> Judgement:
        """Judge a text against a cluster.

        Raises:
            NotFoundError: If there is no such cluster.
            InsufficientDataError: If there are too few experiences for clusters.
        """
        _, judgement = await self._judge(text, cluster_id)
        return judgement

    async def store(self, caller: Caller, text: str, cluster_id: ClusterId, axis: Axis) -> Value:
        """Keep a text as a value, if it holds.

        Raises:
            InvalidInputError: If the axis is not the cluster's, or the text does not hold.
            NotFoundError: If there is no such cluster.
            InsufficientDataError: If there are too few experiences for clusters.
        """
        if caller.request and caller.again and (done := self._log.find_by_request(caller.request)):
            return done
        if cluster_id.axis is not axis:
            raise InvalidInputError(
                f"axis: {axis} is not the axis of {cluster_id}; expected {cluster_id.axis}."
            )
        cluster, judgement = await self._judge(text, cluster_id)
        if not judgement.valid:
            raise InvalidInputError(
                f"text: not accepted as a value of {cluster_id}: {judgement.reason} "
                f"(distance {judgement.centroid_distance:.3f}, at most {judgement.threshold:.3f}).",
                hint="Say what the cluster's members have in common, in their words; "
                "get_cluster_members shows them. validate_value tries a text without storing it.",
            )
        now = self._clock()
        value = Value(
            id=new_value_id(now),
            text=text,
            cluster_id=cluster_id,
            project=caller.project,
            created_at=now,
            request=caller.request,
            evidence=Evidence(
                member_ids=tuple(member.id for member in cluster.members),
                centroid=tuple(float(x) for x in cluster.evidence.centroid),
                similarity=judgement.similarity,
                centroid_distance=judgement.centroid_distance,
                threshold=judgement.threshold,
                embedding=(await self._index.identity()).digest,
            ),
        )
        self._log.add(value)
        await self._writer.write([document_of(value)])
        return value

    def list_values(self, axis: Axis | None = None, project: str | None = None) -> list[Value]:
        """Return the values, those of the largest clusters first, then the newest."""
        return self._log.listed(axis, project)

    def look_up(self, ids: Iterable[str]) -> Forgetting[Value]:
        """Return what `forget` would return, and change nothing."""
        return self._log.look_up(ids)

    def look_up_project(self, project: str) -> Forgetting[Value]:
        """Return what `forget_project` would return, and change nothing."""
        return self._log.look_up_project(project)

    def forget(self, ids: Iterable[str]) -> Forgetting[Value]:
        """Forget values, for ever. Their points are the caller's to remove from the index.

        Raises:
            JournalUnavailableError: If it could not be written down; then nothing is forgotten.
        """
        return self._log.forget(ids, self._clock())

    def forget_project(self, project: str) -> Forgetting[Value]:
        """Forget all values of a project that there are now; see `forget`."""
        return self.forget([value.id for value in self.look_up_project(project).found])

    def citing(self, ghap_ids: Iterable[str]) -> list[Value]:
        """Return the values whose evidence has one of the entries, oldest first; they outlive it."""
        return self._log.citing(ghap_ids)

    async def _judge(self, text: str, cluster_id: ClusterId) -> tuple[ExperienceCluster, Judgement]:
        from learning_memory_server.values.rule import judge  # noqa: PLC0415 - numpy

        found = await self._clusterer.cluster_axis(cluster_id.axis)
        cluster = found.get(cluster_id)
        others = [other.evidence for other in found.clusters if other is not cluster]
        return cluster, judge(await self._index.embed(text), cluster.evidence, others)


def document_of(value: Value) -> Document:
    """Return the value as a document."""
    payload = {
        "value_id": value.id,
        "text": value.text,
        "axis": value.cluster_id.axis.value,
        "cluster_id": str(value.cluster_id),
        "project": value.project,
        "created_at": value.created_at.isoformat(),
    }
    return Document(Collection.VALUES, point_id("value", value.id), value.text, payload)
