"""Lessons tied to the error of a failed command."""

from dataclasses import dataclass
from typing import ClassVar

from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.advice.ties import Ties
from learning_memory_server.model.advice import Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.trigger import Trigger


@dataclass(frozen=True, slots=True)
class TiesSource:
    """Offers the newest lesson of another session that is tied to the error."""

    ties: Ties
    kinds: ClassVar = frozenset({TriggerKind.ERROR})
    needs_confirmed: ClassVar = True

    async def candidates(self, trigger: Trigger, observed: Observed, caller: Caller) -> list[Candidate]:
        """Return candidates; see `Source`."""
        if not observed.line:
            return []
        tied = self.ties.tied(observed.line, trigger.command, caller.project)
        entries = [each for each in tied if each.agent_session != caller.session and each.learned]
        if not entries:
            return []
        newest, *older = entries
        if self.ties.is_spent(newest, observed.line, caller):
            return []
        others = tuple(each.id for each in older)
        return [Candidate(newest, Reason.ERROR, origin=_line_of(newest, observed.line), score=1.0, others=others)]


def _line_of(entry: Ghap, line: str) -> str:
    """Return the error line to which an entry is tied, as the entry has it."""
    lines = [each.line for each in entry.errors if each.is_tied]
    return line if line in lines or not lines else lines[-1]
