"""Whether a prompt asks for something, in a word of its own: "commit this", and not "don't commit"."""

import re
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Final

from learning_memory_server.rules.forms import signs

if TYPE_CHECKING:
    from Stemmer import Stemmer

_CLAUSE: Final = re.compile(r"[.,;:!?\n()]+|\b(?:but|then)\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_NOT: Final = frozenset("not never without no dont cannot stop avoid".split())
_BUT_DO: Final = frozenset({"forget", "hesitate"})


def is_asked(words: Iterable[str], prompt: str) -> bool:
    """Return whether a clause of a prompt has one of the words, in any ending, and no negation before it."""
    wanted = {_stem(each.casefold()) for each in words}
    joined = [each for each in wanted if not each.isascii()]  # Chinese and Korean words stand in longer ones
    return (
        _is_yes(prompt)
        or any(each in prompt for each in joined)
        or any(_is_asked(clause, wanted) for clause in _CLAUSE.split(prompt))
    )


def _is_yes(prompt: str) -> bool:
    """Return whether a prompt is nothing but a yes to a question of the agent."""
    found = [each.casefold() for each in _WORD.findall(prompt)]
    return found[:1] != [] and found[0] in signs.YES and set(found) <= signs.YES_MORE | signs.YES


def _is_asked(clause: str, wanted: set[str]) -> bool:
    is_negated = False
    for each in _WORD.findall(clause.casefold().replace("\u2019", "'")):
        if each in _BUT_DO:
            is_negated = False
        elif each in _NOT or each.endswith("n't"):
            is_negated = True
        elif not is_negated and _stem(each) in wanted:
            return True
    return False


def _stem(word: str) -> str:
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> "Stemmer":
    from Stemmer import Stemmer

    return Stemmer("english")
