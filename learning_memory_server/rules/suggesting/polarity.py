"""Whether a sentence forbids or demands, and which patterns contradict each other."""

import re
from typing import Final

from learning_memory_server.model.rule import CallForm, Pattern
from learning_memory_server.rules.patterns.matching import matches
from learning_memory_server.shell.script import Command

_NEGATIVE: Final = re.compile(
    r"\b(?:never|not|no|don'?t|doesn'?t|mustn'?t|avoid|stop|without|forbidden|prohibited|instead of|rather than)\b",
    re.IGNORECASE,
)
_WILL: Final = re.compile(
    r"\b(?:never|always|not|no|don'?t|doesn'?t|mustn'?t|do|must|should|please|only|avoid|ever|any)\b", re.IGNORECASE
)


def is_negative(text: str) -> bool:
    """Whether a sentence forbids something."""
    return _NEGATIVE.search(text) is not None


def before_no(text: str) -> str:
    """Return the part of a sentence that comes before what it forbids, as in `use pnpm, not npm`; empty if nothing."""
    found = _NEGATIVE.search(text)
    return text[: found.start()] if found else ""


def without_will(text: str) -> str:
    """Return a sentence without the words that forbid or demand, so that only its topic is left."""
    return _WILL.sub(" ", text)


def contradict(one: Pattern, two: Pattern) -> bool:
    """Whether no call can follow both patterns: one forbids a call that the other demands."""
    return _forbids(one, two) or _forbids(two, one) or _exclude(one, two)


def _forbids(one: Pattern, two: Pattern) -> bool:
    """Whether `one` always forbids a call that `two` demands, and they do not want the same calls."""
    if not _is_plain(one):
        return False
    demanded = two.first or (two.about if _is_plain(two) and one.about else ())
    is_mutual = bool(two.first) or any(_covers(each, other) for each in two.broken for other in one.about)
    return is_mutual and any(
        any(_covers(each, other) for each in one.broken) and not any(_covers(other, each) for each in one.about)
        for other in demanded
    )


def _exclude(one: Pattern, two: Pattern) -> bool:
    """Whether one forbids a call with a word, and the other the same call without it."""
    return (
        _is_plain(one)
        and _is_plain(two)
        and any(
            first.words == second.words and (_with(first, second) or _with(second, first))
            for first in one.broken
            for second in two.broken
        )
    )


def _with(first: CallForm, second: CallForm) -> bool:
    return bool(first.having) and set(first.having) <= set(second.lacking)


def _covers(form: CallForm, other: CallForm) -> bool:
    """Whether the shortest call of the form `other` matches `form`."""
    if not (form.words and other.words):
        return False
    words = (*other.words, *(each.strip("*") for each in other.having[:1]))
    return all(matches(form, Command(words, branch=branch)) for branch in other.on or ("",))


def _is_plain(pattern: Pattern) -> bool:
    """Whether every call of a form breaks a pattern, except for a person's permission."""
    return bool(pattern.broken) and not (pattern.texts or pattern.form or pattern.contents or pattern.first)
