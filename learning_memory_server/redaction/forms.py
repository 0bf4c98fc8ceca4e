"""How a form of secrets is described, and how texts are searched for it."""

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Final

from learning_memory_server.redaction.base import Span
from learning_memory_server.redaction.values import is_real_token

_NEAR: Final = 120


@dataclass(frozen=True, slots=True)
class Form:
    """One form that secrets of a kind have."""

    kind: str  # what the reply calls it
    hints: str  # separated by `|`: a text that contains none of these, in lower case, is not searched
    pattern: str  # its group `secret`, or else all of it, is the secret; it must take linear time
    confirm: Callable[[str], bool] = is_real_token  # whether a match is a secret
    inside: bool = False  # whether it may begin inside a word: there is no `sk-...` in `task-...`
    near: str | None = None  # needed within 120 characters, in lower case, if the form is weak


anywhere: Final = partial(Form, inside=True)  # A form that may begin inside a word


class FormDetector:
    """Finds secrets by their form, in words of at least `shortest` characters."""

    def __init__(self, forms: Sequence[Form], shortest: int = 1) -> None:
        self._forms = tuple(forms)
        self._shortest = shortest
        by_hint: dict[str, list[int]] = {}
        for number, form in enumerate(forms):
            for hint in form.hints.split("|"):
                by_hint.setdefault(hint, []).append(number)
        self._by_hint = tuple(by_hint.items())

    def find(self, text: str) -> Iterator[Span]:
        """Return the spans of secrets of these forms."""
        searched = text.lower()
        if self._shortest > 1:
            searched = "\n".join(word for word in searched.split() if len(word) >= self._shortest)
            if not searched:
                return
        hinted = {number for hint, numbers in self._by_hint if hint in searched for number in numbers}
        for number in sorted(hinted):
            form = self._forms[number]
            pattern = _compiled(form.pattern)
            group = "secret" if "secret" in pattern.groupindex else 0
            for found in pattern.finditer(text):
                start, end = found.span(group)
                if (
                    (form.inside or begins_word(text, found.start()))
                    and (not form.near or _is_near(form.near, text[max(0, start - _NEAR) : end + _NEAR]))
                    and form.confirm(text[start:end])
                ):
                    yield Span(start, end, form.kind)


def _is_near(pattern: str, around: str) -> bool:
    return _compiled(pattern).search(around.lower()) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)  # Compiling all of them takes a tenth of a second; most texts hold no hint of most forms


def begins_word(text: str, start: int) -> bool:
    r"""Return whether no word goes on here: after `\n` and `%3D` in escaped texts, one begins too."""
    before = text[max(0, start - 3) : start]
    is_after_letter = before[-1:].isascii() and before[-1:].isalnum()
    return not is_after_letter or re.search(r"\\[nrt]$|%[0-9A-Fa-f]{2}$", before) is not None


def lowered(text: str) -> str:
    """Return the text in lower case with every character where it was."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(one if len(one) == 1 else character for character in text for one in (character.lower(),))


def token(kind: str, prefixes: str, body: str, confirm: Callable[[str], bool] = is_real_token) -> Form:
    """Return the form of tokens that begin with one of a vendor's prefixes, which are separated by spaces."""
    known = prefixes.split()
    joined = "|".join(re.escape(prefix) for prefix in known)
    # One prefix is not grouped: the engine then searches for it as a literal.
    pattern = (joined if len(known) == 1 else f"(?:{joined})") + body
    return Form(kind, "|".join(known).lower(), pattern, confirm)


def decoded(value: str) -> bytes:
    """Return what base64 stands for, in either alphabet, with or without padding; nothing if it is not base64."""
    plain = value.strip().rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""
