"""Lessons of others, which agents get as advice only with a person's approval, and the answers to them.

They are shared lessons and imported lessons.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import NotFoundError
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.records import Records
from learning_memory_server.model import limits
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.value import Value
from learning_memory_server.sharing.files import SharedEntry
from learning_memory_server.sharing.shared import SharedLessons

_LATER: Final = timedelta(days=limits.LATER_DAYS)


class AnswerableKind(StrEnum):
    """The origin of a lesson."""

    SHARED = "shared"
    IMPORTED = "imported"
    OWN = "own"  # A lesson of this machine: it needs no approval, but may get a `never`
    VALUE = "value"  # A value: like OWN


@dataclass(frozen=True, slots=True)
class Answerable:
    """A lesson that a person can answer."""

    id: str
    kind: AnswerableKind
    project: str
    text: str  # the full text for agents
    about: str  # its goal
    fared: str  # its origin
    since: datetime
    is_told: bool = False  # whether agents get it without approval


@dataclass(eq=False)
class Review:
    """The lessons that wait for an answer, and the answered ones."""

    answers: Answers
    entries: ObservationCollector
    shared: SharedLessons
    values: Records[Value]

    def waiting(self, project: str, now: datetime) -> list[Answerable]:
        """Return the lessons of a project that wait for an answer, oldest first."""
        found = [each for each in self._lessons(project) if not self._is_answered(each, now)]
        return sorted(found, key=lambda each: (each.since, each.id))

    def known(self, project: str) -> dict[str, Answerable]:
        """Return the lessons of others in a project, answered or not, by id."""
        return {each.id: each for each in self._lessons(project)}

    def find(self, name: str, project: str) -> Answerable:
        """Return the lesson with an id, which may be shortened: answered or not, of others or of this machine.

        The id of a value must be complete.

        Raises:
            NotFoundError: If the id matches no lesson or value of the project, or several.
        """
        known = self.known(project)
        own = next((each for each in self.entries.look_up([name]).found if each.resolution), None)
        found = [each for each in known if each.startswith(name)]
        if len(found) == 1 and name:
            return known[found[0]]
        if own and own.project == project:
            return _lesson(own, AnswerableKind.OWN, "own")
        value = self.values.find(name)
        if value and value.project == project:
            about = value.id, AnswerableKind.VALUE, project, value.text, "", "a value", value.created_at
            return Answerable(*about, is_told=True)
        raise NotFoundError(
            f"{len(found) or 'No'} lessons of this project have an id that begins with {name!r}.",
            hint="`learning-memory-server review` shows the ids.",
        )

    def answer(self, item: Answerable, said: Said, at: datetime, *more: Answerable) -> None:
        """Store an answer to one or more lessons."""
        # `later` is the default even in a second review, and must not undo an answer.
        new = [each for each in (item, *more) if said is not Said.LATER or not self._is_answered(each, at)]
        self.answers.add(*(Answer(each.id, each.project, said, at) for each in new))

    def _is_answered(self, item: Answerable, now: datetime) -> bool:
        found = self.answers.find(item.id)
        return (
            found is not None
            and found.said is not Said.UNDO
            and not (found.said is Said.LATER and found.created_at + _LATER <= now)
        )

    def _lessons(self, project: str) -> Iterator[Answerable]:
        for each in self.shared.newest(project):
            if not self.shared.is_confirmed(each):
                yield _lesson(each, AnswerableKind.SHARED, each.shared)
        for entry in self.entries.list_resolved():
            if entry.imported and entry.project == project and entry.learned:
                yield _lesson(entry, AnswerableKind.IMPORTED, "imported")


def _lesson(entry: Ghap | SharedEntry, kind: AnswerableKind, whose: str) -> Answerable:
    about = entry.id, kind, entry.project, entry.learned, entry.goal, whose, entry.outcome.resolved_at
    return Answerable(*about, is_told=kind is AnswerableKind.OWN)
