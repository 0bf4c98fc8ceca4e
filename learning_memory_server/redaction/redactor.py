"""The redactor: what its detectors or a user's own patterns find is replaced, except what the user allows.

Our patterns are written so that they are quick on every text. A user's may not be: `(a|aa)+$` takes longer than a
lifetime on a line of letters. So they run with a library that can give up, and a text on which one of them is late is
refused, because it could hold the secret that the pattern is for.
"""

import re
import time
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Final

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.redaction.assignments import AssignmentDetector
from learning_memory_server.redaction.base import KIND, MARKER, Detector, Redacted, Redactor, Span, marker
from learning_memory_server.redaction.forms import FormDetector
from learning_memory_server.redaction.logins import COMMAND_LINES, LOGINS
from learning_memory_server.redaction.structures import STRUCTURES
from learning_memory_server.redaction.tokens import SHORTEST, SHORTEST_UNKNOWN, TOKENS, UNKNOWN
from learning_memory_server.system import timeouts
from learning_memory_server.system.invisible import INVISIBLE

_CHARACTERS_PER_SECOND: Final = 200_000
"""How fast it must be on a long text. A pattern of a few alternatives finds 6,000,000 in a second."""
_REPEATED: Final = "aA0_-. "
"""What `is_slow` repeats, besides the letters and digits of the pattern itself."""
_REPETITIONS: Final = 60


class OwnPattern:
    """A pattern of the settings; one that is invalid or matches the empty text is refused.

    Args:
        place: Which of its patterns this is: its number, or its kind. The pattern itself may be a secret.
        seconds: How long it may take on a short text.
    """

    def __init__(self, setting: str, place: str, expression: str, seconds: float = timeouts.OWN_PATTERN) -> None:
        import regex  # noqa: PLC0415 - a tenth of a second, and most users have no pattern

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
        """Yield what the group `secret` matches, or else all that is matched; raise if it takes too long."""
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
        """Whether it gives up on one of a few short texts that are known to be hard for a pattern of its letters."""
        for letter in dict.fromkeys((*_REPEATED, *filter(str.isalnum, self._expression))):
            try:
                for _ in self._within(timeouts.OWN_PATTERN_PROBE, letter * _REPETITIONS + "\0"):
                    pass
            except TimeoutError:
                return True
        return False

    def _within(self, seconds: float, text: str) -> Iterator[tuple[int, int]]:
        deadline = time.monotonic() + seconds
        # Other threads go on meanwhile. The library's limit is for one match.
        for found in self._pattern.finditer(text, timeout=seconds, concurrent=True):
            yield found.span(self._group)
            if time.monotonic() > deadline:
                raise TimeoutError


class OwnPatterns:
    """Finds what a user's patterns match: regular expressions, or regular expressions by the kind they find.

    What the group `secret` matches is the secret, else all that is matched.
    """

    def __init__(self, patterns: Sequence[str] | Mapping[str, str]) -> None:
        if isinstance(patterns, Mapping):
            self._patterns = [
                (_checked_kind(kind), OwnPattern("redaction_patterns", f"The pattern `{kind}`", one))
                for kind, one in patterns.items()
            ]
        else:
            self._patterns = [("own pattern", pattern) for pattern in numbered_patterns("redaction_patterns", patterns)]

    def find(self, text: str) -> Iterator[Span]:
        """Return where the patterns match."""
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


_CUT: Final = re.compile(
    # The indentation of the next line goes too, unless it keeps an option apart. In JSON, both are escaped.
    r"\\(?:\r?\n|\\(?:\\r)?\\n)(?:[ \t]+(?![\s-]))?"
    rf"|{INVISIBLE}+"
    r"|\\u(?:00ad|061c|200[b-f]|202[a-e]|206[0-9a-f]|fe0[0-9a-f]|feff)",
    re.IGNORECASE,
)
"""What cuts a secret in two without changing it: a line continued on the next, and invisible characters."""


def without_cuts(text: str) -> tuple[str, Callable[[Span], Span]] | None:
    """Return the text without what may cut a secret in two; None if it has nothing like that.

    The function says where something in it is in the text that was given.
    """
    if text.isascii() and "\\" not in text:
        return None
    # Where the pieces between the cuts begin, and how far each of them was moved.
    pieces, starts, shifts, end, length = [], [0], [0], 0, 0
    for cut in _CUT.finditer(text):
        pieces.append(text[end : cut.start()])
        length += cut.start() - end
        end = cut.end()
        starts.append(length)
        shifts.append(end - length)

    def original(span: Span) -> Span:
        start, last = (at + shifts[bisect_right(starts, at) - 1] for at in (span.start, span.end - 1))
        return Span(start, last + 1, span.kind)

    return ("".join([*pieces, text[end:]]), original) if pieces else None


_ROUNDS: Final = 4
"""How often a text is searched at most: what is found can lay bare what was not seen next to it."""


class DetectingRedactor:
    """Replaces what its detectors find, unless a match of one of the `allowed` covers all of it.

    Where spans overlap, all that they cover is replaced at once, under the kind that the first of the detectors says;
    so the most specific come first.
    """

    def __init__(self, detectors: Sequence[Detector], allowed: Sequence[OwnPattern] = ()) -> None:
        self._detectors = tuple(detectors)
        self._allowed = tuple(allowed)

    def redact(self, text: str) -> Redacted:
        """Return the text without its secrets; redacting that again changes nothing."""
        kinds: Counter[str] = Counter()
        for _ in range(_ROUNDS):
            spans = self._spans(text)
            if not spans:
                break
            kinds.update(span.kind for span in spans)
            text = "".join(_replaced(text, spans))
        return Redacted(text, dict(sorted(kinds.items())))

    def _spans(self, text: str) -> list[Span]:
        found = list(self._found(text))
        if uncut := without_cuts(text):
            whole, original = uncut
            found += [(original(span), rank) for span, rank in self._found(whole)]
        if not found:
            return []
        found = _outside(found, [mark.span() for mark in MARKER.finditer(text)], covered=False)
        found = _outside(found, [span for allow in self._allowed for span in allow.spans(text)], covered=True)
        return _merged(found)

    def _found(self, text: str) -> Iterator[tuple[Span, int]]:
        """Yield what the detectors find, with the detector's rank."""
        for rank, detector in enumerate(self._detectors):
            for span in detector.find(text):
                if span.start < span.end:
                    yield span, rank


def build_redactor(patterns: Sequence[str] | Mapping[str, str] = (), allow: Sequence[str] = ()) -> Redactor:
    """Return the redactor of the settings.

    Raises `InvalidSettingsError` if a pattern is not a regular expression, or matches the empty text.
    """
    return DetectingRedactor(
        [
            OwnPatterns(patterns),
            FormDetector(TOKENS, SHORTEST),
            FormDetector(STRUCTURES + LOGINS + COMMAND_LINES),
            FormDetector(UNKNOWN, SHORTEST_UNKNOWN),
            AssignmentDetector(),
        ],
        numbered_patterns("redaction_allow", allow),
    )


@cache
def build_name_redactor() -> Redactor:
    """Return what leaves tokens out of names, such as that of a folder: only what is a secret by its form."""
    return DetectingRedactor([FormDetector(TOKENS, SHORTEST), FormDetector(STRUCTURES)])


def _outside(
    found: Iterable[tuple[Span, int]], areas: Iterable[tuple[int, int]], *, covered: bool
) -> list[tuple[Span, int]]:
    """Return the spans that no area touches or, if `covered`, covers."""
    ordered = sorted(areas)
    starts = [start for start, _ in ordered]
    # How far the areas reach up to each of them: many spans and areas take no longer than to sort them.
    reach = list(accumulate((end for _, end in ordered), max, initial=0))

    def is_inside(span: Span) -> bool:
        if covered:
            return reach[bisect_right(starts, span.start)] >= span.end
        return reach[bisect_left(starts, span.end)] > span.start

    return [(span, rank) for span, rank in found if not is_inside(span)]


def _merged(found: Iterable[tuple[Span, int]]) -> list[Span]:
    """Return the spans in order; overlapping ones are one."""
    merged: list[tuple[Span, int]] = []
    for span, rank in sorted(found):
        if merged and span.start < merged[-1][0].end:
            last, best = merged.pop()
            kind = span.kind if rank < best else last.kind
            merged.append((Span(last.start, max(last.end, span.end), kind), min(rank, best)))
        else:
            merged.append((span, rank))
    return [span for span, _ in merged]


def _replaced(text: str, spans: Iterable[Span]) -> Iterator[str]:
    end = 0
    for span in spans:
        yield text[end : span.start]
        yield marker(span.kind)
        end = span.end
    yield text[end:]
