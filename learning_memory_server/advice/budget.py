"""How much advice an agent is shown at each trigger, and how long the search may take."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.system import timeouts


@dataclass(frozen=True, slots=True)
class Budget:
    """The maximum number of items at a trigger, and the time limit in `seconds`.

    `rules` is a number in addition to the other `items`, unless `is_shared`: then rules take up slots of `items`. Rules
    that apply to a call or an edit are in addition to both.

    `text` limits the length of each item; a session's start has `limits.CONTEXT_MAX` bytes in all.
    """

    items: int = 1
    rules: int = 1
    is_shared: bool = True  # whether rules take up slots of the items
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
