"""What keeps a candidate from being shown, in this order. Every source passes the same filters, once."""

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
    """What filters judge a candidate by."""

    trigger: Trigger
    caller: Caller
    lessons: Lessons
    shown: Sequence[Item] = ()  # what the agent was shown in its present context
    loaded: AbstractSet[str] = frozenset()  # ids of the lessons and rules that its client loads by itself
    has_rules: bool = True  # whether no person has switched rules off for now


def is_confirmed(candidate: Candidate, situation: Situation) -> bool:
    """Return whether the folder is known to be of the project. A rule for everywhere is the person's own words."""
    is_everywhere = candidate.kind is AdviceKind.RULE and candidate.rule.is_everywhere
    return situation.caller.is_told or is_everywhere


def is_on(candidate: Candidate, situation: Situation) -> bool:
    """Return whether a person has not switched it off for now."""
    return situation.has_rules or candidate.kind is not AdviceKind.RULE


def is_attended(candidate: Candidate, situation: Situation) -> bool:
    """Return whether an agent waits for the answer to a question: without one, the answer would replace the result."""
    return situation.caller.is_attended or candidate.reason is not Reason.UNRESOLVED


def is_in_force(candidate: Candidate, situation: Situation) -> bool:
    """Return whether a lesson is neither declined, nor superseded, nor misled more often than it helped."""
    return candidate.kind is not AdviceKind.EXPERIENCE or situation.lessons.is_in_force(candidate.entry)


def is_new(candidate: Candidate, situation: Situation) -> bool:
    """Return whether the agent has not been shown it yet."""
    return all(candidate.shown != each.shown for each in situation.shown)


def is_seldom(candidate: Candidate, situation: Situation) -> bool:
    """Return whether the agent has been shown few wrong beliefs about files yet."""
    if candidate.reason is not Reason.FILE:
        return True
    return sum(each.reason is Reason.FILE for each in situation.shown) < constants.WRONG_BELIEFS_SHOWN


def is_not_loaded(candidate: Candidate, situation: Situation) -> bool:
    """Return whether its client does not load it as a rule. At the act, it is shown all the same."""
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
    """Return whether a candidate passes all filters."""
    return all(is_passed(candidate, situation) for is_passed in FILTERS.values())
