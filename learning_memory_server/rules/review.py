"""The queue of what agents may be told unasked only if a person says yes, and the answers to it.

Cures that no rule allows, shared lessons and what an archive of somebody else brought are in it. Further kinds are
added as sources.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import InvalidInputError, NotFoundError
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.errors.cures import cure_id, cures_of, files_of, flaw, is_by_rule, is_risky
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.entry import Ghap
from learning_memory_server.sharing.files import SharedEntry
from learning_memory_server.sharing.shared import SharedLessons

_AGAIN: Final = timedelta(days=7)  # How long `later` is


class WaitingKind(StrEnum):
    """What waits."""

    CURE = "cure"
    SHARED = "shared"
    IMPORTED = "imported"
    PREFERENCE = "preference"
    OWN = "own"  # A lesson of this machine: it needs no yes, and may get a `never`


@dataclass(frozen=True, slots=True)
class Waiting:
    """Something that a person may answer."""

    id: str
    kind: WaitingKind
    project: str
    text: str  # what agents would be told, whole
    about: str  # when: at which command that failed, or for which goal
    fared: str  # how it fared, or whose it is
    since: datetime
    error: str = ""  # of a cure, what names the error
    cost: int = 0  # how many commands have failed for want of it
    days: int = 2  # on how many days that was seen
    flaw: str | None = None  # why it cannot be told, whatever is answered
    is_risky: bool = False  # whether a yes needs `--anyway`
    folder: str = ""  # of a cure, where its command failed, relative to the project's top
    others: tuple[str, ...] = ()  # other ids that an answer may have, because they are the same
    is_told: bool = False  # whether agents are told without a yes


@dataclass(eq=False)
class Review:
    """Waiting and answered things."""

    answers: Answers
    failures: FailureLog
    entries: ObservationCollector
    shared: SharedLessons
    sources: list[Callable[[str], Iterable[Waiting]]] = field(default_factory=list)

    def waiting(self, project: str, now: datetime, folder: str = "") -> list[Waiting]:
        """Return what of a project waits for an answer, what cost most first.

        With its folder, a yes to a cure that runs a file which has changed since is over.
        """
        found = [each for each in self._all(project) if not (each.is_told or self._is_answered(each, now, folder))]
        return sorted(found, key=lambda each: (-each.cost, each.since, each.id))

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

    def answer(
        self, item: Waiting, said: Said, at: datetime, *more: Waiting, folder: str = "", anyway: bool = False
    ) -> None:
        """Keep an answer, to one thing or to several; `folder` is the project's, whose files a cure may run.

        Raises:
            InvalidInputError: If it is a yes to what cannot be told, or to what may do harm without `anyway`.
        """
        answers = []
        for each in (item, *more):
            if said is Said.LATER and self._is_answered(each, at, folder):
                continue  # It is the default, also of a second review, and takes no answer back
            if said in {Said.YES, Said.RULE}:
                _refuse(each, anyway=anyway)
            answers += [Answer(name, each.project, Said.UNDO, at) for name in each.others if self.answers.said(name)]
            files = files_of(each.text, folder, each.folder) if each.kind is WaitingKind.CURE else ()
            answers.append(Answer(each.id, each.project, said, at, files))
        self.answers.add(*answers)

    def _all(self, project: str) -> Iterator[Waiting]:
        for source in (self._cures, self._lessons, *self.sources):
            yield from source(project)

    def _is_answered(self, item: Waiting, now: datetime, folder: str) -> bool:
        name = next((name for name in (item.id, *item.others) if self.answers.said(name)), item.id)
        found = self.answers.find(name)
        return (
            found is not None
            and found.said is not Said.UNDO
            and not (found.said is Said.LATER and found.created_at + _AGAIN <= now)
            and not (
                folder and item.kind is WaitingKind.CURE and found.files != files_of(item.text, folder, item.folder)
            )
        )

    def _cures(self, project: str) -> Iterator[Waiting]:
        for known in self.failures.errors(project):
            for cure in cures_of(known):
                last, ids = cure.last, [cure_id(each) for each in cure.cases]
                # The one that was answered is shown, so that the answer is that to what is shown.
                answered = next((each for each in cure.cases if self.answers.said(cure_id(each))), last)
                name, remedy = cure_id(answered), answered.remedy or ""
                yield Waiting(
                    name,
                    WaitingKind.CURE,
                    project,
                    remedy,
                    answered.command,
                    cure.fared,
                    cure.cases[0].created_at,
                    error=last.signature,
                    cost=len(cure.cases),
                    days=cure.days,
                    flaw=flaw(answered),
                    is_risky=is_risky(remedy),
                    folder=answered.folder,
                    others=tuple(each for each in dict.fromkeys(ids) if each != name),
                    is_told=is_by_rule(cure, known),
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


def _refuse(item: Waiting, *, anyway: bool) -> None:
    if item.flaw:
        raise InvalidInputError(f"{item.id} cannot be told: {item.flaw}.")
    if item.is_risky and not anyway:
        raise InvalidInputError(
            f"{item.id} may destroy, publish, fetch and run, or ask for rights.",
            hint=f"To agree all the same, run: learning-memory-server review {item.id} --anyway",
        )
