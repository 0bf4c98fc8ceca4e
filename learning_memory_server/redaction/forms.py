"""Descriptions of forms of secrets, and a detector for them."""

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
    """A form of secrets of one kind."""

    kind: str  # its name in replies
    hints: str  # separated by `|`: texts that contain none of these in lower case are skipped
    pattern: str  # the secret is the group `secret`, or else the whole match; must take linear time
    confirm: Callable[[str], bool] = is_real_token  # whether a match is a secret
    inside: bool = False  # whether it may begin inside a word: `sk-...` may not, because of `task-...`
    near: str | None = None  # for weak forms: required within 120 characters, in lower case


anywhere: Final = partial(Form, inside=True)  # A form that may begin inside a word


class FormDetector:
    """Finds secrets by form, in words of at least `shortest` characters."""

    def __init__(self, forms: Sequence[Form], shortest: int = 1) -> None:
        self._forms = tuple(forms)
        self._shortest = shortest
        by_hint: dict[str, list[int]] = {}
        for number, form in enumerate(forms):
            for hint in form.hints.split("|"):
                by_hint.setdefault(hint, []).append(number)
        self._by_hint = tuple(by_hint.items())

    def find(self, text: str) -> Iterator[Span]:
        """Yield the spans of secrets in the detector's forms."""
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
    return re.compile(pattern)  # On demand: compiling all of them takes a tenth of a second, and most are not needed


def begins_word(text: str, start: int) -> bool:
    r"""Whether a word begins at `start`, also after escape sequences such as `\n` and `%3D`."""
    before = text[max(0, start - 3) : start]
    is_after_letter = before[-1:].isascii() and before[-1:].isalnum()
    return not is_after_letter or re.search(r"\\[nrt]$|%[0-9A-Fa-f]{2}$", before) is not None


def lowered(text: str) -> str:
    """Return the text in lower case with all character positions unchanged."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(one if len(one) == 1 else character for character in text for one in (character.lower(),))


def token(kind: str, prefixes: str, body: str, confirm: Callable[[str], bool] = is_real_token) -> Form:
    """Return the form of tokens that begin with one of a vendor's prefixes, separated by spaces."""
    known = prefixes.split()
    joined = "|".join(re.escape(prefix) for prefix in known)
    # A single prefix is not grouped, so that the engine searches for it as a literal.
    pattern = (joined if len(known) == 1 else f"(?:{joined})") + body
    return Form(kind, "|".join(known).lower(), pattern, confirm)


def decoded(value: str) -> bytes:
    """Decode base64 in either alphabet, with or without padding; empty if the text is not base64."""
    plain = value.strip().rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4))
    except (binascii.Error, ValueError):
        return b""
