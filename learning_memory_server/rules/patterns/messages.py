"""Whether a commit's message, or the body of a pull request, is of a form."""

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from learning_memory_server.model.rule import MessageForm

_CONVENTIONAL: Final = re.compile(r"[a-z]+(\([^)]*\))?!?: ")
_OF_GIT: Final = re.compile(r"(merge|revert)\b|(fixup|squash|amend)!", re.IGNORECASE)
_NAMED_EMOJI: Final = re.compile(r"(?<!\S):[a-z][a-z_]+:(?!\S)")
_EMOJI: Final = re.compile("[\U0001f000-\U0001faff\u2600-\u2712\u2714-\u2716\u2719-\u27bf\u2b50\u2b55\ufe0f]")
_UNKNOWN: Final = ("$", "`")
_OTHERS_IN: Final = 5


def breaks(form: MessageForm, texts: Sequence[str]) -> bool | None:
    """Return whether a message is not of a form; None if that cannot be said."""
    given = [each.strip() for each in texts if each.strip()]
    if not given:
        return None
    match form:
        case MessageForm.CONVENTIONAL:
            return _is_unconventional(given[0].split("\n", 1)[0])
        case MessageForm.ONE_LINE:
            return any(len([line for line in each.splitlines() if line.strip()]) > 1 for each in given)
        case MessageForm.LATIN:
            return any(map(_is_of_other_letters, given))
        case MessageForm.NO_EMOJI:
            return any(_EMOJI.search(each) or _NAMED_EMOJI.search(each) for each in given)


def _is_unconventional(line: str) -> bool | None:
    if _CONVENTIONAL.match(line) or _OF_GIT.match(line):
        return False
    # A variable may hold the beginning
    return None if any(mark in line.partition(": ")[0] for mark in _UNKNOWN) else True


def _is_of_other_letters(text: str) -> bool:
    letters = [each for each in text if each.isalpha()]
    others = [each for each in letters if not unicodedata.name(each, "").startswith(("LATIN", "FULLWIDTH LATIN"))]
    return bool(others) and len(others) * _OTHERS_IN >= len(letters)
