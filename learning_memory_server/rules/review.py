"""The queue of what agents are shown unasked only if a person says yes, and the answers to it.

Shared lessons, and what an archive of somebody else brought, are in it. Further kinds are added as sources.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import NotFoundError
from learning_memory_server.journal.answers import Answers
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.entry import Ghap
from learning_memory_server.sharing.files import SharedEntry
from learning_memory_server.sharing.shared import SharedLessons

_AGAIN: Final = timedelta(days=7)  # How long `later` is


class WaitingKind(StrEnum):
    """What waits."""

    SHARED = "shared"
    IMPORTED = "imported"
    OWN = "own"  # A lesson of this machine: it needs no yes, and may get a `never`


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that a person may answer."""

    id: str
    kind: WaitingKind
    project: str
    text: str  # what agents would be shown, whole
    about: str  # for which goal
    fared: str  # whose it is
    since: datetime
    is_told: bool = False  # whether agents are shown it without a yes


@dataclass(eq=False)
class Review:
    """Waiting and answered things."""

    answers: Answers
    entries: ObservationCollector
    shared: SharedLessons
    sources: list[Callable[[str], Iterable[Waiting]]] = field(default_factory=list)

    def waiting(self, project: str, now: datetime) -> list[Waiting]:
        """Return what of a project waits for an answer, the oldest first."""
        found = [each for each in self._all(project) if not (each.is_told or self._is_answered(each, now))]
        return sorted(found, key=lambda each: (each.since, each.id))

    def known(self, project: str) -> dict[str, Waiting]:
        """Return what of a project may be answered, or was, by its id."""
        return {each.id: each for each in self._all(project)}

    def find(self, name: str, project: str) -> Waiting:
        """Return what an id, or the beginning of one, names: answered or not, or a lesson of this machine.

        Raises:
            NotFoundError: If nothing of the project has it, or several things do.
        """
        known = self.known(project)
        own = next((each for each in self.entries.look_up([name]).found if each.resolution), None)
        found = [each for each in known if each.startswith(name)]
        if len(found) == 1 and name:
            return known[found[0]]
        if own and own.project == project:
            return _lesson(own, WaitingKind.OWN, "own")
        raise NotFoundError(
            f"{len(found) or 'Nothing'} of this project may be answered under {name!r}.",
            hint="`learning-memory-server review` shows what waits, with the ids.",
        )

    def answer(self, item: Waiting, said: Said, at: datetime, *more: Waiting) -> None:
        """Keep an answer, to one thing or to several."""
        # `later` is the default, also of a second review, and takes no answer back.
        new = [each for each in (item, *more) if said is not Said.LATER or not self._is_answered(each, at)]
        self.answers.add(*(Answer(each.id, each.project, said, at) for each in new))

    def _all(self, project: str) -> Iterator[Waiting]:
        for source in (self._lessons, *self.sources):
            yield from source(project)

    def _is_answered(self, item: Waiting, now: datetime) -> bool:
        found = self.answers.find(item.id)
        return (
            found is not None
            and found.said is not Said.UNDO
            and not (found.said is Said.LATER and found.created_at + _AGAIN <= now)
        )

    def _lessons(self, project: str) -> Iterator[Waiting]:
        for each in self.shared.newest(project):
            if not self.shared.is_confirmed(each):
                yield _lesson(each, WaitingKind.SHARED, each.shared)
        for entry in self.entries.list_resolved():
            if entry.imported and entry.project == project and entry.learned:
                yield _lesson(entry, WaitingKind.IMPORTED, "imported")


def _lesson(entry: Ghap | SharedEntry, kind: WaitingKind, whose: str) -> Waiting:
    about = entry.id, kind, entry.project, entry.learned, entry.goal, whose, entry.outcome.resolved_at
    return Waiting(*about, is_told=kind is WaitingKind.OWN)
