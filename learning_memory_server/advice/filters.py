"""The filters for candidates, in the order in which they run. They apply to the candidates of every source."""

from collections.abc import Callable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from learning_memory_server.advice import constants
from learning_memory_server.advice.candidates import Candidate
from learning_memory_server.advice.lessons import Lessons
from learning_memory_server.model.advice import AdviceKind, Item, Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger

_AT_TEXTS: Final = frozenset({TriggerKind.SESSION_START, TriggerKind.SUBAGENT_START, TriggerKind.PROMPT})
_OF_ENTRIES: Final = frozenset({TriggerKind.ENTRY_START, TriggerKind.ENTRY_UPDATE})


@dataclass(frozen=True, slots=True)
class Situation:
    """The context in which filters judge a candidate."""

    trigger: Trigger
    caller: Caller
    lessons: Lessons
    shown: Sequence[Item] = ()  # advice that the agent was shown in its present context
    loaded: AbstractSet[str] = frozenset()  # ids of the lessons and rules that the client loads itself
    has_rules: bool = True  # False while a person has switched rules off


def is_confirmed(candidate: Candidate, situation: Situation) -> bool:
    """Whether the folder's project is confirmed. A rule that applies everywhere needs no confirmed folder."""
    is_everywhere = candidate.kind is AdviceKind.RULE and candidate.rule.is_everywhere
    return situation.caller.is_told or is_everywhere


def is_on(candidate: Candidate, situation: Situation) -> bool:
    """Whether the candidate is not a rule, or rules are switched on."""
    return situation.has_rules or candidate.kind is not AdviceKind.RULE


def is_attended(candidate: Candidate, situation: Situation) -> bool:
    """Whether an agent waits for a reminder's answer: in an unattended session, the answer would replace the result."""
    return situation.caller.is_attended or candidate.reason is not Reason.UNRESOLVED


def is_in_force(candidate: Candidate, situation: Situation) -> bool:
    """Whether a lesson is in force: not declined, not superseded, and not more often misleading than helpful."""
    return candidate.kind is not AdviceKind.EXPERIENCE or situation.lessons.is_in_force(candidate.entry)


def is_new(candidate: Candidate, situation: Situation) -> bool:
    """Whether the agent has not been shown the candidate yet."""
    return all(candidate.shown != each.shown for each in situation.shown)


def is_seldom(candidate: Candidate, situation: Situation) -> bool:
    """Whether the agent has been shown fewer wrong beliefs about files than the limit."""
    if candidate.reason is not Reason.FILE:
        return True
    return sum(each.reason is Reason.FILE for each in situation.shown) < constants.WRONG_BELIEFS_SHOWN


def is_not_loaded(candidate: Candidate, situation: Situation) -> bool:
    """Whether the client does not load the candidate itself. Rules at calls and edits are shown in any case."""
    return situation.trigger.kind not in _AT_TEXTS | _OF_ENTRIES or candidate.id not in situation.loaded


FILTERS: Final[Mapping[str, Callable[[Candidate, Situation], bool]]] = {
    "confirmed": is_confirmed,
    "on": is_on,
    "attended": is_attended,
    "in force": is_in_force,
    "new": is_new,
    "seldom": is_seldom,
    "not loaded": is_not_loaded,
}


def passes(candidate: Candidate, situation: Situation) -> bool:
    """Whether a candidate passes all filters."""
    return all(is_passed(candidate, situation) for is_passed in FILTERS.values())
