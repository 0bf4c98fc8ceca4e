"""How much an agent is shown at each trigger, and how long it may take."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.system import timeouts


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that is shown at a trigger, how much of it may be rules, and the `seconds` until it is too late.

    How long each item may be is a matter of `text`; a session's start has `limits.CONTEXT_MAX` bytes in all.
    """

    items: int = 1
    rules: int = 1
    seconds: float = timeouts.ADVICE + timeouts.HOOK_LESSON


BUDGETS: Final[Mapping[TriggerKind, Budget]] = {
    TriggerKind.SESSION_START: Budget(limits.CONTEXT_LINES, limits.CONTEXT_RULES),
    TriggerKind.SUBAGENT_START: Budget(1 + limits.CONTEXT_RULES, limits.CONTEXT_RULES),
    TriggerKind.PROMPT: Budget(),
    TriggerKind.ENTRY_START: Budget(limits.ADVICE_SHOWN, seconds=timeouts.ADVICE),
    TriggerKind.ENTRY_UPDATE: Budget(limits.ADVICE_SHOWN, seconds=timeouts.ADVICE),
    TriggerKind.CALL: Budget(limits.RULES_AT_ONCE, limits.RULES_AT_ONCE),
    TriggerKind.COMMAND: Budget(limits.RULES_AT_ONCE, limits.RULES_AT_ONCE),
    TriggerKind.ERROR: Budget(),
    TriggerKind.FILE: Budget(),
    TriggerKind.STOP: Budget(1 + limits.CONTEXT_RULES, limits.CONTEXT_RULES),
    TriggerKind.SUBAGENT_STOP: Budget(1 + limits.CONTEXT_RULES, limits.CONTEXT_RULES),
}
