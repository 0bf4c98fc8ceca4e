"""How much an agent is shown at each trigger, and how long it may take."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.system import timeouts


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that is shown at a trigger, and the `seconds` until it is too late.

    `rules` are in addition to the other `items`, or take their places. The rules that an agent meets at an act come in
    addition to all of it.

    How long each item may be is a matter of `text`; a session's start has `limits.CONTEXT_MAX` bytes in all.
    """

    items: int = 1
    rules: int = 1
    is_shared: bool = True  # whether rules take places of the items
    seconds: float = timeouts.ADVICE + timeouts.HOOK_LESSON


NOTHING: Final = Budget(0)
"""The budget of all other triggers."""
BUDGETS: Final[Mapping[TriggerKind, Budget]] = {
    TriggerKind.SESSION_START: Budget(limits.CONTEXT_LINES, limits.CONTEXT_RULES),
    TriggerKind.SUBAGENT_START: Budget(rules=limits.CONTEXT_RULES, is_shared=False),
    TriggerKind.PROMPT: Budget(),
    TriggerKind.ENTRY_START: Budget(limits.ADVICE_SHOWN),
    TriggerKind.ENTRY_UPDATE: Budget(limits.ADVICE_SHOWN),
    TriggerKind.ERROR: Budget(),
    TriggerKind.FILE: Budget(),
    TriggerKind.STOP: Budget(),
    TriggerKind.SUBAGENT_STOP: Budget(),
}
