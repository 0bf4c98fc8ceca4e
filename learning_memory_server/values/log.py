"""The values in the journal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.indexing.document import Collection, Document, WholeDocument, point_id
from learning_memory_server.journal.codec import value_from_data, value_to_data
from learning_memory_server.journal.forgetting import Forgetting
from learning_memory_server.journal.record import JournalRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

    from learning_memory_server.domain.value import Value
    from learning_memory_server.domain.vocabulary import Axis
    from learning_memory_server.journal.log import Log


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
        self.add_new([value])

    def add_new(self, values: Iterable[Value]) -> list[Value]:
        """Write down those of the values whose ids are neither known nor forgotten, all or none, and return them."""
        loaded = self._loaded()
        new = [value for value in values if value.id not in loaded and value.id not in self._forgotten]
        self._log.append(
            [JournalRecord("value", value.id, value.created_at, value_to_data(value)) for value in new]
        )
        loaded.update((value.id, value) for value in new)
        return new

    def look_up(self, ids: Iterable[str]) -> Forgetting[Value]:
        """Return what `forget` would return, and change nothing."""
        return Forgetting.of(ids, self._loaded(), self._forgotten)

    def look_up_project(self, project: str) -> Forgetting[Value]:
        """Return all values of a project as what would be forgotten, and change nothing."""
        return self.look_up(value.id for value in self.all() if value.project == project)

    def forget(self, ids: Iterable[str], at: datetime, *, unknown_too: bool = False) -> Forgetting[Value]:
        """Forget values, for ever; they are gone from every reading once this returns.

        Args:
            ids: Which.
            at: When.
            unknown_too: Write unknown ids down as well, so that what they name elsewhere is never taken here.

        Raises:
            JournalUnavailableError: If it could not be written down; then nothing is forgotten.
        """
        forgetting = self.look_up(ids)
        gone = [value.id for value in forgetting.found] + list(forgetting.unknown if unknown_too else ())
        self._log.forget("value", gone, at)
        for value_id in gone:
            self._loaded().pop(value_id, None)
        self._forgotten.update(gone)
        return forgetting

    def points_of(self, forgetting: Forgetting[Value]) -> list[str]:
        """Return the ids of the points of what was forgotten, now or before."""
        gone = [*(value.id for value in forgetting.found), *forgetting.before]
        return [point_id("value", value_id) for value_id in gone]

    def citing(self, ghap_ids: Iterable[str]) -> list[Value]:
        """Return the values whose evidence has one of the entries, oldest first.

        A value is its author's own sentence, and stays when an entry behind it is forgotten; its evidence
        keeps that entry's id and nothing else of it.
        """
        wanted = set(ghap_ids)
        return [value for value in self.all() if not wanted.isdisjoint(value.evidence.member_ids)]

    def successors(self) -> dict[str, str]:
        """Return the id of the value that took each superseded value's place, by the superseded one's.

        One that is forgotten has taken nobody's place: what it superseded stands again.
        """
        return {value.supersedes: value.id for value in self.all() if value.supersedes}

    def standing(
        self, axis: Axis | None = None, project: str | None = None, *, superseded: bool = False
    ) -> list[Value]:
        """Return values, oldest first.

        Args:
            axis: Only values of this axis.
            project: Only values of this project.
            superseded: Also those whose place another one took.
        """
        gone = {} if superseded else self.successors()
        return [
            value
            for value in self.all()
            if value.id not in gone
            and (axis is None or value.cluster_id.axis is axis)
            and (project is None or value.project == project)
        ]

    def require_standing(self, value_id: str) -> None:
        """Hold a value that is to be superseded to being there, and in force.

        Raises:
            NotFoundError: If there is no such value.
            InvalidInputError: If it is superseded already.
        """
        if value_id not in self._loaded():
            raise NotFoundError(f"There is no value {value_id}.", hint="Call list_values to see the ids.")
        if successor := self.successors().get(value_id):
            raise InvalidInputError(
                f"supersedes: {value_id} was superseded by {successor} already.",
                hint=f"Give {successor} as supersedes if the new value is to take its place.",
            )

    def find_same(self, text: str, axis: Axis, project: str) -> Value | None:
        """Return the oldest value in force that has the text on the axis in the project."""
        standing = self.standing(axis, project)
        return next((value for value in standing if value.text.strip() == text.strip()), None)

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
    return WholeDocument(Collection.VALUES, point_id("value", value.id), value.text, payload)
