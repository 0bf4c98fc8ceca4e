"""The ports of a redactor and of a detector of secrets."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

KIND: Final = re.compile(r"[a-z0-9](?:[a-z0-9 -]{0,38}[a-z0-9])?")  # The name of a kind; `MARKER` relies on it

MARKER: Final = re.compile(rf"\[redacted: {KIND.pattern}\]")  # What stands where a secret was


class Span(NamedTuple):
    """Where a secret is in a text: from `start` up to `end`, in characters."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets."""

    text: str
    kinds: Mapping[str, int] = field(default_factory=dict)


class Redactor(Protocol):
    """Replaces the secrets in texts. Implementations are pure and may be called by several threads in parallel."""

    def redact(self, text: str) -> Redacted:
        """Return the text without its secrets, idempotently. Raises `InvalidSettingsError` for a slow pattern."""
        ...


class Detector(Protocol):
    """Finds secrets in texts. Implementations are pure and may be called by several threads in parallel."""

    def find(self, text: str) -> Iterable[Span]:
        """Return where secrets are, in any order; spans may overlap."""
        ...


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


def marker(kind: str) -> str:
    """Return what replaces a secret of this kind."""
    return f"[redacted: {kind}]"


def shortened_markers(text: str) -> str:
    """Return a text with each marker as one character, so that redaction never exceeds a limit of length."""
    return MARKER.sub("*", text)
