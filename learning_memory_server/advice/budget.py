"""How much an agent is shown at each trigger, and how long it may take."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.system import timeouts


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that is shown at a trigger: `items`, `characters` of a lesson, and `seconds` until it is too late."""

    items: int = 1
    characters: int = limits.LESSON_ALONE_MAX
    seconds: float = timeouts.ADVICE + timeouts.HOOK_LESSON


BUDGETS: Final[Mapping[TriggerKind, Budget]] = {
    TriggerKind.SESSION_START: Budget(limits.CONTEXT_LINES, limits.LESSON_MAX),  # and `limits.CONTEXT_MAX` bytes
    TriggerKind.SUBAGENT_START: Budget(),
    TriggerKind.PROMPT: Budget(),
    TriggerKind.ENTRY_START: Budget(limits.ADVICE_SHOWN, limits.LESSON_MAX, timeouts.ADVICE),
    TriggerKind.ENTRY_UPDATE: Budget(limits.ADVICE_SHOWN, limits.LESSON_MAX, timeouts.ADVICE),
    TriggerKind.ERROR: Budget(),
    TriggerKind.FILE: Budget(),
    TriggerKind.STOP: Budget(),
    TriggerKind.SUBAGENT_STOP: Budget(),
}
