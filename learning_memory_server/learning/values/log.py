"""The values in the journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.index.document import Collection, Document, WholeDocument, point_id
from learning_memory_server.journal.codec import VALUE
from learning_memory_server.journal.records import Forgetting, Records
from learning_memory_server.model.value import Value

if TYPE_CHECKING:
    from learning_memory_server.index.engines.base import Payload
    from learning_memory_server.journal.log import Log
    from learning_memory_server.model.vocabulary import Axis


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
