"""Open entries: the agent's own, unattended ones, and those that other agents work on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger


@dataclass(frozen=True, slots=True)
class OpenEntriesSource:
    """Offers open entries at a session's start, and the agent's own entry at the end of its work."""

    collector: ObservationCollector
    kinds: ClassVar = frozenset({TriggerKind.SESSION_START, TriggerKind.STOP, TriggerKind.SUBAGENT_STOP})
    needs_confirmed: ClassVar = True

    async def candidates(self, trigger: Trigger, _observed: Observed, caller: Caller) -> list[Candidate]:
        """Return candidates; see `Source`."""
        still_open = self.collector.still_open
        current = still_open.current(caller)
        if trigger.kind is not TriggerKind.SESSION_START:
            # After a reminder, the agent stops a second time.
            return [Candidate(current, Reason.UNRESOLVED)] if current and not trigger.is_again else []
        own = [current] if current else []
        left = still_open.others(caller, elsewhere=False)
        others = still_open.others(caller, elsewhere=True)
        return [
            *(Candidate(each, Reason.OPEN) for each in [*own, *left] if not each.imported),
            *(Candidate(each, Reason.ELSEWHERE) for each in others if not each.imported),
        ]


def limited(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Limit the candidates of a session's start: rules, open entries, lessons, others' entries, in this order."""
    rules = [each for each in candidates if each.reason is Reason.RULE]
    ours = [each for each in candidates if each.reason is Reason.OPEN]
    others = [each for each in candidates if each.reason is Reason.ELSEWHERE]
    lessons = [each for each in candidates if each.reason not in {Reason.RULE, Reason.OPEN, Reason.ELSEWHERE}]
    groups = (rules, limits.CONTEXT_RULES), *((each, limits.CONTEXT_SHOWN) for each in (ours, lessons, others))
    return [each for group, most in groups for each in group[:most]]
