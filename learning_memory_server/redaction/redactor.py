"""The redactor: it replaces everything that its detectors find, except texts that a user allows."""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import accumulate
from typing import Final

from learning_memory_server.redaction.assignments import AssignmentDetector
from learning_memory_server.redaction.base import MARKER, Detector, Redacted, Redactor, Span, marker
from learning_memory_server.redaction.commands import COMMAND_LINES
from learning_memory_server.redaction.configurations import CONFIGURATIONS
from learning_memory_server.redaction.forms import FormDetector
from learning_memory_server.redaction.logins import LOGINS
from learning_memory_server.redaction.own import OwnPattern, OwnPatterns, numbered_patterns
from learning_memory_server.redaction.tokens import SHORTEST, SHORTEST_UNKNOWN, STRUCTURES, TOKENS, UNKNOWN
from learning_memory_server.system.invisible import INVISIBLE

_CUT: Final = re.compile(
    # The indentation of the next line is removed, too, unless it separates an option. In JSON, both are escaped.
    r"\\(?:\r?\n|\\(?:\\r)?\\n)(?:[ \t]+(?![\s-]))?"
    rf"|{INVISIBLE}+"
    r"|\\u(?:00ad|061c|200[b-f]|202[a-e]|206[0-9a-f]|fe0[0-9a-f]|feff)",
    re.IGNORECASE,
)
"""Characters that split a secret without changing it: a line continuation, and invisible characters."""


def without_cuts(text: str) -> tuple[str, Callable[[Span], Span]] | None:
    """Return the text without characters that split secrets, and a function to map spans back; None if unchanged."""
    if text.isascii() and "\\" not in text:
        return None
    # The starts of the pieces between removed characters, and the shift of each piece.
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


_ROUNDS: Final = 4  # Maximum number of passes: a replacement can expose a secret next to it


class DetectingRedactor:
    """Replaces the findings of its detectors, except those covered by a match of `allowed`.

    Overlapping spans are replaced as one, with the kind of the first detector: detectors are ordered from specific to
    general.
    """

    def __init__(self, detectors: Sequence[Detector], allowed: Sequence[OwnPattern] = ()) -> None:
        self._detectors = tuple(detectors)
        self._allowed = tuple(allowed)

    def redact(self, text: str) -> Redacted:
        """Return the text without secrets. Idempotent."""
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
        """Yield the detectors' findings, each with the rank of its detector."""
        for rank, detector in enumerate(self._detectors):
            for span in detector.find(text):
                if span.start < span.end:
                    yield span, rank


def build_redactor(patterns: Sequence[str] | Mapping[str, str] = (), allow: Sequence[str] = ()) -> Redactor:
    """Return a redactor for the settings. Raises `InvalidSettingsError` for an invalid or empty pattern."""
    return DetectingRedactor(
        [
            OwnPatterns(patterns),
            FormDetector(TOKENS, SHORTEST),
            FormDetector(STRUCTURES + LOGINS + COMMAND_LINES + CONFIGURATIONS),
            FormDetector(UNKNOWN, SHORTEST_UNKNOWN),
            AssignmentDetector(),
        ],
        numbered_patterns("redaction_allow", allow),
    )


@cache
def build_name_redactor() -> Redactor:
    """Return a redactor for names, such as folder names: it finds only secrets with a distinctive form."""
    return DetectingRedactor([FormDetector(TOKENS, SHORTEST), FormDetector(STRUCTURES)])


def _outside(
    found: Iterable[tuple[Span, int]], areas: Iterable[tuple[int, int]], *, covered: bool
) -> list[tuple[Span, int]]:
    """Return the spans that no area overlaps or, if `covered`, that no area covers."""
    ordered = sorted(areas)
    starts = [start for start, _ in ordered]
    # The furthest end of the areas up to each one: this limits the time to that of sorting.
    reach = list(accumulate((end for _, end in ordered), max, initial=0))

    def is_inside(span: Span) -> bool:
        if covered:
            return reach[bisect_right(starts, span.start)] >= span.end
        return reach[bisect_left(starts, span.end)] > span.start

    return [(span, rank) for span, rank in found if not is_inside(span)]


def _merged(found: Iterable[tuple[Span, int]]) -> list[Span]:
    """Return the spans in order, with overlapping ones merged."""
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
