"""Wrong beliefs about the file that an agent has just read."""

from dataclasses import dataclass
from typing import ClassVar

from learning_memory_server.advice import constants
from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.lessons.files.freshness import Freshness
from learning_memory_server.model.advice import Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger


@dataclass(frozen=True, slots=True)
class WrongBeliefsSource:
    """Offers the newest falsified hypotheses of other sessions about a file."""

    collector: ObservationCollector
    freshness: Freshness
    kinds: ClassVar = frozenset({TriggerKind.FILE})
    needs_confirmed: ClassVar = True

    async def candidates(self, trigger: Trigger, observed: Observed, caller: Caller) -> list[Candidate]:
        """Return candidates; see `Source`."""
        if trigger.is_edit or not observed.file:
            return []
        names = self.collector.timeline.wrong_about(caller.project, observed.file)[-constants.WRONG_BELIEFS :]
        found = self.collector.look_up(reversed(names)).found
        entries = [each for each in found if each.resolution and each.agent_session != caller.session]
        await self.freshness.judge(entries, caller.project, caller.folder)
        return [Candidate(each, Reason.FILE, origin=observed.file) for each in entries]
