"""The values in the journal, the verdicts on them, and their support; and the closest experiences and values.

The last verdict of each entry on a value counts, if the entry is in this store. A vector shows the topic of a text, not
its truth.
"""

from __future__ import annotations

import asyncio
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.base import Vectors
from learning_memory_server.errors import AWAY, EmbeddingUnavailableError, InvalidInputError, NotFoundError
from learning_memory_server.index.document import Collection, Document, WholeDocument, point_id
from learning_memory_server.journal.records import Records
from learning_memory_server.model import limits
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.value import Status, Support, Value, ValueOrder, Verdict, verdict_id
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, Stance

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.engines.base import Hit
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.model.entry import Ghap


class ValueLog(Records[Value]):
    """The values in the journal."""

    def points(self, name: str) -> Iterable[str]:
        """Return the point id of a value."""
        return (point_id("value", name),)

    def citing(self, ghap_ids: Iterable[str]) -> list[Value]:
        """Return the values whose evidence includes one of the entries, oldest first."""
        wanted = set(ghap_ids)
        return [value for value in self.all() if not wanted.isdisjoint(value.evidence.member_ids)]

    def successors(self) -> dict[str, str]:
        """Return the id of the successor of each superseded value; a forgotten successor does not count."""
        return {value.supersedes: value.id for value in self.all() if value.supersedes}

    def current(self, axis: Axis | None = None, project: str | None = None, *, superseded: bool = False) -> list[Value]:
        """Return the values that no other value supersedes, oldest first."""
        gone = {} if superseded else self.successors()
        return [
            value
            for value in self.all()
            if value.id not in gone
            and (axis is None or value.cluster_id.axis is axis)
            and (project is None or value.project == project)
        ]

    def require_current(self, value_id: str) -> None:
        """Check that a value to be superseded exists and is not superseded already."""
        if self.find(value_id) is None:
            raise NotFoundError(f"There is no value {value_id}.", hint="Call list_values to see the ids.")
        if successor := self.successors().get(value_id):
            raise InvalidInputError(
                f"supersedes: {value_id} was superseded by {successor} already.",
                hint=f"To replace {successor}, pass it as supersedes.",
                arguments=["supersedes"],
            )

    def find_same(self, text: str, axis: Axis, project: str) -> Value | None:
        """Return the oldest value with this text, axis and project that is not superseded."""
        current = self.current(axis, project)
        return next((value for value in current if value.text.strip() == text.strip()), None)

    def documents(self) -> Iterator[Document]:
        """Return the values as documents for the index."""
        return map(document_of, self.all())


def document_of(value: Value) -> Document:
    """Return the value as a document."""
    return WholeDocument(Collection.VALUES, point_id("value", value.id), value.text, {"value_id": value.id})


class VerdictLog(Records[Verdict]):
    """The verdicts in the journal."""

    def record(self, caller: Caller, value: Value, at: datetime, stances: Mapping[str, Stance]) -> None:
        """Write verdicts on a value, all or none. Those that change nothing are left out."""
        new = []
        for ghap_id, stance in stances.items():
            before = self.find(verdict_id(value.id, ghap_id))
            if before is None or before.stance is not stance:
                requests = caller.noted(before.requests if before else ())
                new.append(Verdict(value.id, ghap_id, stance, value.project, at, requests))
        self.add(*new)

    def about(self, ids: Container[str]) -> list[Verdict]:
        """Return the verdicts on these values or entries: they are forgotten with them."""
        return [each for each in self.all() if each.value_id in ids or each.ghap_id in ids]

    def import_new(self, verdicts: Iterable[Verdict], forgotten: Container[str]) -> list[Verdict]:
        """Import and return verdicts that are new, except those on values or entries that are forgotten here."""
        return self.add_new(
            each for each in verdicts if each.value_id not in forgotten and each.ghap_id not in forgotten
        )


@dataclass(frozen=True, slots=True)
class Standing:
    """A value and the verdicts on it."""

    value: Value
    supporting: tuple[str, ...] = ()  # the ids of the entries that support it, in the order of their verdicts
    contradicting: tuple[str, ...] = ()  # The ids of the entries that contradict it, in the order of their verdicts
    superseded_by: str | None = None  # the id of the value that superseded it, if any

    @property
    def support(self) -> Support:
        """The number of entries for and against it."""
        return Support(len(self.supporting), len(self.contradicting))

    @property
    def is_in_force(self) -> bool:
        """Whether to follow it: it is neither superseded nor contested."""
        return self.superseded_by is None and self.support.status is not Status.CONTESTED


def weigh_all(
    values: Sequence[Value], log: ValueLog, verdicts: VerdictLog, collector: ObservationCollector
) -> list[Standing]:
    """Return the standings of values, in their order. Imported verdicts do not count for an own value."""
    given: dict[str, list[Verdict]] = {}
    own = {value.id for value in values if not value.imported}
    for verdict in verdicts.all():
        if not verdict.imported or verdict.value_id not in own:
            given.setdefault(verdict.value_id, []).append(verdict)
    judged = {each.ghap_id for value in values for each in given.get(value.id, ())}
    known = {entry.id for entry in collector.look_up(judged).found}
    successors = log.successors()

    def entries(value: Value, stance: Stance) -> tuple[str, ...]:
        return tuple(
            each.ghap_id for each in given.get(value.id, ()) if each.stance is stance and each.ghap_id in known
        )

    return [
        Standing(value, entries(value, Stance.SUPPORTS), entries(value, Stance.CONTRADICTS), successors.get(value.id))
        for value in values
    ]


def ordered(standings: Iterable[Standing], by: ValueOrder) -> list[Standing]:
    """Return the standings by support (the lower bound of the interval; contested last), cluster size or time."""
    newest = sorted(standings, key=lambda each: (as_seen(each.value.created_at), each.value.id), reverse=True)
    if by is not ValueOrder.NEWEST:
        newest.sort(key=lambda each: len(each.value.evidence.member_ids), reverse=True)
    if by is ValueOrder.SUPPORT:
        newest.sort(
            key=lambda each: (each.support.status is not Status.CONTESTED, each.support.interval[0]), reverse=True
        )
    return newest


_ASKED: Final = 5_000  # The most members of one request, which takes the embedded engine 16 ms
_EMBEDDED: Final = 24  # The number of lessons, and of hypotheses, that are compared with the text itself


@dataclass(frozen=True, slots=True)
class Closest:
    """The members of a cluster that are closest to a text, closest first, at most three of each."""

    lessons: tuple[Ghap, ...] = ()  # those with a lesson, by what the lesson says
    falsified: tuple[Ghap, ...] = ()  # those whose hypothesis failed, by what the hypothesis said


async def closest_members(index: VectorIndex, axis: Axis, members: Sequence[Ghap], vector: Vectors) -> Closest:
    """Return the members closest to a text's document `vector`; `members` are most central first, for a fallback."""
    falsified = [entry for entry in members if entry.outcome.status is OutcomeStatus.FALSIFIED]
    learned = await _nearest(index, axis, [each for each in members if each.learned], vector)
    failed = await _nearest(index, axis, falsified, vector)
    said = [*(entry.learned for entry in learned), *(entry.hypothesis for entry in failed)]
    try:
        cosines = (await index.embeddings.embed_documents(said, index.budget) @ vector).tolist() if said else []
    except EmbeddingUnavailableError:
        return Closest(tuple(learned[: limits.CLOSEST_SHOWN]), tuple(failed[: limits.CLOSEST_SHOWN]))
    return Closest(_best(learned, cosines[: len(learned)]), _best(failed, cosines[len(learned) :]))


async def _nearest(index: VectorIndex, axis: Axis, members: Sequence[Ghap], vector: Vectors) -> Sequence[Ghap]:
    """Return the few members whose stored vectors are closest."""
    by_point = await asyncio.to_thread(lambda: {point_id("ghap", entry.id): entry for entry in members})
    points = list(by_point)
    hits: list[Hit] = []
    try:
        async with index.limited():
            for start in range(0, len(points), _ASKED):
                some = frozenset(points[start : start + _ASKED])
                hits += await index.nearest(Collection.of(axis), vector, limit=_EMBEDDED, ids=some)
    except AWAY:
        return members[:_EMBEDDED]
    return [by_point[hit.id] for hit in sorted(hits, key=lambda hit: -hit.score)[:_EMBEDDED]]


def _best(entries: Sequence[Ghap], cosines: Sequence[float]) -> tuple[Ghap, ...]:
    ranked = sorted(zip(cosines, entries, strict=True), key=lambda pair: -pair[0])
    return tuple(entry for _, entry in ranked[: limits.CLOSEST_SHOWN])


@dataclass(frozen=True, slots=True)
class Likeness:
    """A value, and how close its text is to the text in question."""

    value: Value
    similarity: float


async def nearest_values(index: VectorIndex, vector: Vectors, values: Iterable[Value], limit: int) -> list[Likeness]:
    """Return the values that are nearest to a text, nearest first."""
    by_point = {point_id("value", value.id): value for value in values}
    if not by_point:
        return []
    hits = await index.nearest(Collection.VALUES, vector, limit=limit, ids=by_point.keys())
    return [Likeness(by_point[hit.id], hit.score) for hit in hits]
