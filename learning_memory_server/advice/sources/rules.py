"""Accepted rules, at a start and on the topic of a text. Rules about calls and edits do not come from here."""

from dataclasses import dataclass
from typing import ClassVar, Final

from learning_memory_server.advice import constants
from learning_memory_server.advice.candidates import Candidate, Observed
from learning_memory_server.model.advice import Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.rule import Rule
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.rules.applying import Rules

_STARTS: Final = frozenset({TriggerKind.SESSION_START, TriggerKind.SUBAGENT_START})
_TEXTS: Final = frozenset({TriggerKind.PROMPT, TriggerKind.ENTRY_START, TriggerKind.ENTRY_UPDATE})


@dataclass(frozen=True, slots=True)
class RulesSource:
    """Offers accepted rules."""

    rules: Rules
    kinds: ClassVar = _STARTS | _TEXTS
    needs_confirmed: ClassVar = False

    async def candidates(self, trigger: Trigger, observed: Observed, caller: Caller) -> list[Candidate]:  # noqa: ARG002 - inherited
        """Return candidates; see `Source`."""
        return [Candidate(each, Reason.RULE) for each in self._rules(trigger, caller)]

    def _rules(self, trigger: Trigger, caller: Caller) -> list[Rule]:
        if trigger.kind in _STARTS:
            return self.rules.at_start(caller)
        entry = trigger.entry
        text = f"{entry.goal}\n{entry.hypothesis}" if entry else trigger.text[: constants.PROMPT_MAX]
        return self.rules.on_topic(text, caller)
