"""The preferences of a user: active ones, ones that wait for a person's yes, and refusals of past sessions."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Final

import msgspec

from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.log import SET_ASIDE
from learning_memory_server.journal.records import Records
from learning_memory_server.model import limits
from learning_memory_server.model.answer import Said
from learning_memory_server.model.memory import Memory, Refusal
from learning_memory_server.model.moment import Clock
from learning_memory_server.model.stored import WRITTEN
from learning_memory_server.rules.refusals import can_be_kept
from learning_memory_server.rules.review import Waiting, WaitingKind
from learning_memory_server.system import files

FOUND: Final = "refusals.json"  # The file in the storage folder with refusals of past sessions
Preference = tuple[Memory, Refusal]


@dataclass(frozen=True, slots=True)
class PreferenceLog:
    """The preferences among the memories; `file` has the refusals of past sessions that no person has answered."""

    memories: Records[Memory]
    answers: Answers
    file: Path
    clock: Clock

    def active(self, project: str) -> list[Preference]:
        """Return the preferences of a project that have not ended: the first are told, the others wait for a yes."""
        said = [(self.answers.said(answer_id(each[0])), each) for each in self._standing(project)]
        left = [each for each in said if each[0] not in {Said.NEVER, Said.RULE}]
        return [each for _, each in sorted(left, key=lambda each: (each[0] is not Said.YES, each[1][0].created_at))]

    def waiting(self, project: str) -> Iterator[Waiting]:
        """Yield what a person may answer: preferences, of which too many are kept, and refusals of past sessions."""
        told = [memory.id for memory, _ in self.active(project)[: limits.PREFERENCES_TOLD]]
        found = [(each, each.refusal) for each in self.found() if each.project == project and each.refusal]
        for memory, refusal in (*self._standing(project), *found):
            about, fared = refusal.call or refusal.tool, f"refused in {len(refusal.sessions)} sessions"
            given = answer_id(memory), WaitingKind.PREFERENCE, project, refusal.told, about, fared, refusal.at
            yield Waiting(*given, is_told=memory.id in told)

    def found(self) -> list[Memory]:
        """Return the refusals of past sessions that wait, as the memories that a yes makes of them.

        A damaged file is set aside.
        """
        names = self.memories.log.names
        try:
            found = msgspec.json.decode(self.file.read_bytes(), type=list[Memory])
            written = [replace(each, project=each.others.get(WRITTEN, each.project)) for each in found]
            return [names.renamed(each) for each in written] if names else written
        except msgspec.MsgspecError:
            # Nothing that a person may still answer is overwritten.
            with suppress(OSError):
                self.file.rename(f"{self.file}{SET_ASIDE}{self.clock():%Y%m%dT%H%M%S%f}")
        except OSError:
            pass  # None were found yet
        return []

    def new(self, given: Iterable[Memory]) -> list[Memory]:
        """Return the refusals that can be kept, and that wait, were answered or were forgotten never before."""
        known = {each.id for each in self.found()}
        return [
            each
            for each in {each.id: each for each in given if each.refusal and can_be_kept(each.refusal.words)}.values()
            if not (each.id in known or self.memories.has_had(each.id) or self.answers.said(answer_id(each)))
        ]

    def keep_found(self, more: Iterable[Memory] = ()) -> list[Memory]:
        """Keep refusals of past sessions until a person answers, and return those that a person has said yes to."""
        found = {each.id: each for each in (*self.found(), *more) if not self.memories.has_had(each.id)}
        said = {name: self.answers.said(answer_id(each)) for name, each in found.items()}
        left = [each for name, each in found.items() if said[name] in {None, Said.LATER}]
        if left or self.file.exists():
            files.replace(self.file, msgspec.json.encode(left))
        return [each for name, each in found.items() if said[name] in {Said.YES, Said.RULE}]

    def _standing(self, project: str) -> Iterator[Preference]:
        ended = self.clock() - timedelta(days=limits.REFUSAL_DAYS)
        for each in self.memories.all():
            found = each.refusal if each.project == project else None
            if found and found.let_pass < limits.REFUSAL_LET_PASS and max(found.at, each.created_at) > ended:
                yield each, found


def answer_id(memory: Memory) -> str:
    """Return the id under which a person answers."""
    return f"preference_{memory.id.replace('-', '')}"
