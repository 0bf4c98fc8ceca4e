"""The ports of a redactor and of a detector of secrets."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

KIND: Final = re.compile(r"[a-z0-9](?:[a-z0-9 -]{0,38}[a-z0-9])?")  # The name of a kind; `MARKER` depends on it

MARKER: Final = re.compile(rf"\[redacted: {KIND.pattern}\]")  # The replacement for a secret


class Span(NamedTuple):
    """The position of a secret in a text: from `start` up to `end`, in characters."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """A redacted text, and the number of secrets by kind."""

    text: str
    kinds: Mapping[str, int] = field(default_factory=dict)


class Redactor(Protocol):
    """Replaces the secrets in texts. Implementations are pure and thread-safe."""

    def redact(self, text: str) -> Redacted:
        """Return the text without secrets. Idempotent. Raises `InvalidSettingsError` for a slow pattern."""
        ...


class Detector(Protocol):
    """Finds secrets in texts. Implementations are pure and thread-safe."""

    def find(self, text: str) -> Iterable[Span]:
        """Return the spans of secrets in any order; they may overlap."""
        ...


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def marker(kind: str) -> str:
    """Return the replacement for a secret of this kind."""
    return f"[redacted: {kind}]"


def shortened_markers(text: str) -> str:
    """Return a text with each marker as one character, so that redaction cannot make it exceed a length limit."""
    return MARKER.sub("*", text)
