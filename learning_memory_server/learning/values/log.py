"""The values in the journal, and the verdicts on them: one for each value and entry, the last one given."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.index.document import Collection, Document, WholeDocument, point_id
from learning_memory_server.journal.codec import VALUE, VERDICT
from learning_memory_server.journal.records import Forgetting, Records
from learning_memory_server.model.value import Value
from learning_memory_server.model.verdict import Verdict, verdict_id

if TYPE_CHECKING:
    from learning_memory_server.index.engines.base import Payload
    from learning_memory_server.journal.log import Log
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.model.vocabulary import Axis, Stance


class ValueLog(Records[Value]):
    """The values in the journal."""

    def __init__(self, log: Log) -> None:
        super().__init__(log, VALUE)

    def points_of(self, forgetting: Forgetting[Value]) -> list[str]:
        """Return the point ids of what was forgotten, now or earlier."""
        gone = [*(value.id for value in forgetting.found), *forgetting.before]
        return [point_id("value", value_id) for value_id in gone]

    def citing(self, ghap_ids: Iterable[str]) -> list[Value]:
        """Return the values whose evidence includes one of the entries, oldest first.

        A value is its author's own sentence and stays when an entry behind it is forgotten; its evidence keeps only
        that entry's id.
        """
        wanted = set(ghap_ids)
        return [value for value in self.all() if not wanted.isdisjoint(value.evidence.member_ids)]

    def successors(self) -> dict[str, str]:
        """Return the successor's id of each superseded value, by the superseded value's id.

        A forgotten successor does not count: the value it superseded is current again.
        """
        return {value.supersedes: value.id for value in self.all() if value.supersedes}

    def current(
        self, axis: Axis | None = None, project: str | None = None, *, superseded: bool = False
    ) -> list[Value]:
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
            )

    def find_same(self, text: str, axis: Axis, project: str) -> Value | None:
        """Return the oldest value with this text, axis and project that is not superseded."""
        current = self.current(axis, project)
        return next((value for value in current if value.text.strip() == text.strip()), None)

    def documents(self) -> Iterator[Document]:
        """Return every value as a document for the index."""
        return map(document_of, self.all())

    def forgotten(self) -> Iterator[str]:
        """Return the point ids of forgotten values."""
        return (point_id("value", value_id) for value_id in self.forgotten_ids())

    def knows(self, payload: Payload) -> bool:
        """Return whether a point is of a value that is in the journal, or forgotten."""
        return self.has_had(str(payload.get("value_id")))


def document_of(value: Value) -> Document:
    """Return the value as a document."""
    return WholeDocument(Collection.VALUES, point_id("value", value.id), value.text, {"value_id": value.id})


class VerdictLog(Records[Verdict]):
    """The verdicts in the journal."""

    def __init__(self, log: Log) -> None:
        super().__init__(log, VERDICT)

    def record(self, caller: Caller, value: Value, at: datetime, stances: Mapping[str, Stance]) -> None:
        """Write verdicts on a value, all or none. Those that change nothing are left out."""
        new = []
        for ghap_id, stance in stances.items():
            before = self.find(verdict_id(value.id, ghap_id))
            if before is None or before.stance is not stance:
                requests = (
                    *(before.requests if before else ()),
                    *([caller.request] if caller.request else ()),
                )
                new.append(Verdict(value.id, ghap_id, stance, value.project, at, requests))
        self.add(*new)

    def by_value(self) -> dict[str, list[Verdict]]:
        """Return the verdicts on each value that has any, oldest first."""
        found: dict[str, list[Verdict]] = {}
        for verdict in self.all():
            found.setdefault(verdict.value_id, []).append(verdict)
        return found

    def about(self, ids: Container[str]) -> list[Verdict]:
        """Return the verdicts on these values or entries: they are forgotten with them."""
        return [each for each in self.all() if each.value_id in ids or each.ghap_id in ids]

    def import_new(self, verdicts: Iterable[Verdict], forgotten: Container[str]) -> list[Verdict]:
        """Import and return verdicts that are new, except those on values or entries that are forgotten here."""
        return self.add_new(
            each for each in verdicts if each.value_id not in forgotten and each.ghap_id not in forgotten
        )
