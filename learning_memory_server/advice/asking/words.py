"""A person's own words in a message, and whether an agent's answer concedes the point."""

import itertools
import re
from typing import Final

from learning_memory_server.advice import constants
from learning_memory_server.model.lines import one_line

_PASTED: Final = re.compile(
    r"^(?:[>|<{}\[#@+$%\u276f\u23fa\u25cf*~]|`{3}|-{2}|diff |commit |index | {4}|\t)|[\"“”«»]", re.MULTILINE
)
"""The beginning of pasted text: a quotation, a fence, a diff, a list, program output."""

_APOSTROPHE: Final = "\u2019"


def own_words(text: str) -> str:
    """Return the typed beginning of a message, before any pasted text, as one line.

    It ends before the first quotation, fence, diff, list or long paragraph. It must be a short message without other
    text, or address the agent, as the findings of a pasted review do not. Otherwise the result is empty.
    """
    pasted = _PASTED.search(text)
    paragraphs = (text[: pasted.start()] if pasted else text).split("\n\n")
    typed = itertools.takewhile(lambda each: len(each) <= constants.OWN_PARAGRAPH, paragraphs)
    words = one_line("\n".join(typed)).strip()
    is_short = len(words) <= constants.REMARK_MAX and words == one_line(text).strip() and len(paragraphs) == 1
    return words if is_short or _has_any(words, constants.ADDRESSING) else ""


def dissents(words: str) -> bool:
    """Whether a person's words say that something is wrong."""
    return _has_any(words, constants.DISSENTING)


def concedes(answer: str) -> bool:
    """Whether an answer begins by saying that the person is right."""
    beginning = answer[: constants.CONCEDED_WITHIN].casefold().replace(_APOSTROPHE, "'")
    return any(phrase in beginning for phrase in constants.CONCEDING)


def _has_any(text: str, words: frozenset[str]) -> bool:
    return not words.isdisjoint(re.findall(r"[a-z']+", text.casefold().replace(_APOSTROPHE, "'")))
