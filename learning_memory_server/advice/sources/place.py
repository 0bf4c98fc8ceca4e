"""Lessons that name the place where a session works."""

from dataclasses import dataclass
from typing import ClassVar

from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.advice.lessons import Lessons
from learning_memory_server.advice.names import Names
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger


@dataclass(frozen=True, slots=True)
class PlaceSource:
    """Offers lessons at a session's start that name the branch, a changed file or the folder.

    If the client shows no advice at prompts, the most helpful lessons follow.
    """

    lessons: Lessons
    names: Names
    kinds: ClassVar = frozenset({TriggerKind.SESSION_START})
    needs_confirmed: ClassVar = True

    async def candidates(self, trigger: Trigger, observed: Observed, caller: Caller) -> list[Candidate]:
        """Return candidates; see `Source`."""
        found = [Candidate(each, Reason.PLACE) for each in self.names.at(observed.place, caller)]
        if trigger.has_no_prompts:
            helped = self.lessons.helped_most(caller.project, limits.ADVICE_SHOWN)
            found += [Candidate(each, Reason.HELPED) for each in helped]
        await self.lessons.freshness.judge((each.entry for each in found), caller.project, caller.folder)
        return found
