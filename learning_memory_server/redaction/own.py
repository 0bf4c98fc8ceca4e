"""A user's own patterns: for secrets whose form only they know, and for what is not a secret."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.redaction.base import KIND, Span

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_KIND_OF_UNNAMED: Final = "own pattern"


class OwnPatterns:
    """Finds what a user's patterns match.

    Args:
        patterns: Regular expressions, or regular expressions by the kind they find. What the group `secret` matches
            is the secret, else all that is matched.

    Raises:
        InvalidSettingsError: If one is not a regular expression or matches the empty text, or a kind has other
            characters than lower-case letters, digits, spaces and hyphens, or more than 40.
    """

    def __init__(self, patterns: Sequence[str] | Mapping[str, str]) -> None:
        named = (
            patterns.items()
            if isinstance(patterns, Mapping)
            else ((_KIND_OF_UNNAMED, one) for one in patterns)
        )
        self._patterns = [(_checked_kind(kind), compiled("redaction_patterns", one)) for kind, one in named]

    def find(self, text: str) -> Iterator[Span]:
        """Return where the patterns match."""
        for kind, pattern in self._patterns:
            group = "secret" if "secret" in pattern.groupindex else 0
            for found in pattern.finditer(text):
                start, end = found.span(group)
                if start < end:
                    yield Span(start, end, kind)


def compiled(setting: str, pattern: str) -> re.Pattern[str]:
    """Return a pattern of a setting, compiled.

    Raises:
        InvalidSettingsError: If it is not a regular expression, or matches the empty text.
    """
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise InvalidSettingsError(f"{setting}: {pattern!r} is not a regular expression: {error}.") from None
    if expression.fullmatch(""):
        raise InvalidSettingsError(
            f"{setting}: {pattern!r} matches the empty text, so it would match everywhere."
        )
    return expression


def _checked_kind(kind: str) -> str:
    if not KIND.fullmatch(kind):
        raise InvalidSettingsError(
            f"redaction_patterns: {kind!r} cannot be a kind; use lower-case letters, digits, spaces and hyphens, 40 at most."
        )
    return kind
