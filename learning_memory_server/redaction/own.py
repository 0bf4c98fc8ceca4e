"""A user's patterns: for secrets with a custom form, and for texts that are not secrets.

They may be slow, so they run with a library that supports timeouts. A text whose search times out is rejected.
"""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.redaction.base import KIND, Span
from learning_memory_server.system import timeouts

_CHARACTERS_PER_SECOND: Final = 200_000  # The required speed on a long text; five alternatives reach 6,000,000
_REPEATED: Final = "aA0_-. "  # The characters that `is_slow` repeats, with the pattern's own letters and digits
_REPETITIONS: Final = 60


class OwnPattern:
    """A pattern of the settings. Invalid patterns and patterns that match the empty text raise an error.

    Args:
        place: Its number or kind, for messages. The pattern itself may be a secret.
        seconds: The maximum time for a short text.
    """

    def __init__(self, setting: str, place: str, expression: str, seconds: float = timeouts.OWN_PATTERN) -> None:
        import regex

        try:
            has_empty = re.compile(expression).fullmatch("")
            self._pattern = regex.compile(expression)
        except (re.error, regex.error) as error:
            raise InvalidSettingsError(f"{setting}: {expression!r} is not a regular expression: {error}.") from None
        if has_empty:
            raise InvalidSettingsError(
                f"{setting}: {expression!r} matches the empty text, so it would match everywhere."
            )
        self.name = f"{place} of {setting}"
        self._group = "secret" if "secret" in self._pattern.groupindex else 0
        self._expression = expression
        self._seconds = seconds

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield the spans of the group `secret`, or else of whole matches. Raises InvalidSettingsError on a timeout."""
        seconds = self._seconds + len(text) / _CHARACTERS_PER_SECOND
        try:
            yield from self._within(seconds, text)
        except TimeoutError:
            raise InvalidSettingsError(
                f"{self.name} took longer than {seconds:.0f} s to search a text, so the text was refused.",
                hint="Ask the user to rewrite the pattern: a repeat inside a repeat, such as (a|aa)+, can take forever. "
                "`learning-memory-server doctor` names such patterns, and a hub reads its settings when it starts: "
                "`learning-memory-server hub stop`.",
            ) from None

    @property
    def is_slow(self) -> bool:
        """Whether it times out on any of several short texts that repeat a letter of the pattern."""
        for letter in dict.fromkeys((*_REPEATED, *filter(str.isalnum, self._expression))):
            try:
                for _ in self._within(timeouts.OWN_PATTERN_PROBE, letter * _REPETITIONS + "\0"):
                    pass
            except TimeoutError:
                return True
        return False

    def _within(self, seconds: float, text: str) -> Iterator[tuple[int, int]]:
        deadline = time.monotonic() + seconds
        # Other threads continue in the meantime. The library's timeout applies to a single match.
        for found in self._pattern.finditer(text, timeout=seconds, concurrent=True):
            yield found.span(self._group)
            if time.monotonic() > deadline:
                raise TimeoutError


class OwnPatterns:
    """Finds matches of a user's patterns, optionally by kind: the group `secret`, or else the whole match."""

    def __init__(self, patterns: Sequence[str] | Mapping[str, str]) -> None:
        if isinstance(patterns, Mapping):
            self._patterns = [
                (_checked_kind(kind), OwnPattern("redaction_patterns", f"The pattern `{kind}`", one))
                for kind, one in patterns.items()
            ]
        else:
            self._patterns = [("own pattern", pattern) for pattern in numbered_patterns("redaction_patterns", patterns)]

    def find(self, text: str) -> Iterator[Span]:
        """Yield the spans of matches."""
        for kind, pattern in self._patterns:
            for start, end in pattern.spans(text):
                if start < end:
                    yield Span(start, end, kind)

    def slow(self) -> list[str]:
        """Return the names of the patterns that may take very long; see `OwnPattern.is_slow`."""
        return [pattern.name for _, pattern in self._patterns if pattern.is_slow]


def numbered_patterns(setting: str, patterns: Sequence[str]) -> list[OwnPattern]:
    """Return the patterns of a setting."""
    return [OwnPattern(setting, f"Pattern {number}", one) for number, one in enumerate(patterns, start=1)]


def _checked_kind(kind: str) -> str:
    if not KIND.fullmatch(kind):
        raise InvalidSettingsError(
            f"redaction_patterns: {kind!r} cannot be a kind; use lower-case letters, digits, spaces and hyphens, 40 at most."
        )
    return kind
