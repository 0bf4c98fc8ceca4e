"""Texts as chunks: the whole text, or as many whole paragraphs, code blocks, sections and turns as fit.

A model reads the beginning of a text and nothing more. A text that it can read at once stays whole: the right one of
6,267 functions was then among the first ten for 84.2 % of 500 queries, and for 83.4 % when all were divided. In a
longer text, small chunks are easier to find than large ones.

Relevant passages found within 512 / 2,048 retrieved tokens (1,536 questions about long conversations,
all-MiniLM-L6-v2): fixed windows of 512 tokens 28 / 54 %, of 254 41 / 66 %, of 128 with a quarter of overlap 51 / 72 %;
whole units packed to at most 128 tokens 53 / 75 %, to at most 64 58 / 79 %; in hybrid search, 73 / 88 % and 73 / 85 %.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, takewhile
from operator import attrgetter
from typing import TYPE_CHECKING, Final

from learning_memory_server.index.chunking.structure import LINES, SENTENCES, Kind, blocks
from learning_memory_server.model.memory import Chunking

if TYPE_CHECKING:
    from learning_memory_server.embedding.tokens import TokenMeasure
    from learning_memory_server.index.chunking.structure import Span

CHUNKING_VERSION: Final = 2
"""Raise it when the same text would be divided into other chunks."""
_LARGEST: Final = 128
"""The most tokens in a chunk of a longer text."""
_FILLED: Final = 64
"""A chunk of at least this many tokens may end before a heading."""
_HEADER: Final = 64
"""The most tokens in the header before a chunk's text."""
_SPECIAL: Final = 2
"""Tokens that a model adds around each text."""
_STEP: Final = 0.75
"""The distance between the starts of two overlapping windows, as a share of a window."""
_COUNTED_AT_ONCE: Final = 256
_LONG: Final = 2_048
"""Characters. A longer block is divided before its tokens are counted, to save RAM."""
_SPARSE: Final = 16
"""This many characters count as at least one token: some tokenizers read any long run of letters as one."""
_PART: Final = 80
"""The most characters of a title, a source or a heading in a header."""
_DIVISIONS: Final = {Kind.CODE: (LINES,), Kind.HEADING: (LINES,), Kind.TEXT: (SENTENCES, LINES)}


class Chunker:
    """Divides texts into chunks, always the same way."""

    def __init__(self, measure: TokenMeasure) -> None:
        self._measure = measure
        self._room = measure.window - _SPECIAL
        self.header_max = min(_HEADER, self._room // 4)
        self.chunk_max = min(_LARGEST, self._room - self.header_max)
        self.name = f"{CHUNKING_VERSION}-{measure.name}"

    def chunk(self, text: str, should_stop: Callable[[int], bool] = lambda _: False) -> Chunking:
        """Divide a text. Ten million characters take seconds.

        `should_stop` gets the position of each chunk's end, and stops the work by returning true.
        """
        spans = takewhile(lambda span: not should_stop(span[1]), self.spans(text))
        return Chunking(self.name, tuple(spans))

    def spans(self, text: str) -> Iterator[Span]:
        """Yield the chunks of a text, in order."""
        if len(text) <= _LONG and _at_least(self._count(text), len(text)) <= self._room:
            yield _stripped(text, 0, len(text))
            return
        units: list[_Unit] = []
        size = 0
        for unit in self._units(text):
            is_full = size + unit.tokens > self.chunk_max
            if units and (is_full or (unit.is_heading and not units[-1].is_heading and size >= _FILLED)):
                # A heading at the end of a chunk belongs to the next one.
                carried = list(takewhile(attrgetter("is_heading"), reversed(units)))[::-1]
                if len(carried) == len(units) or _size(carried) + unit.tokens > self.chunk_max:
                    carried = []
                if not (len(units) == 1 and _stands_in_header(units[0], unit)):
                    yield _whole(text, units[: len(units) - len(carried)])
                units, size = carried, _size(carried)
            units.append(unit)
            size += unit.tokens
        if units:
            yield _whole(text, units)

    def header(self, parts: Sequence[str], body: str = "") -> str:
        """Return the parts on one line, truncated to the tokens available for it.

        Args:
            parts: What it says, most important first.
            body: The text below it, if that is a whole text; a chunk always leaves room for a header.
        """
        line = " | ".join(_clipped(part) for part in parts)
        tokens = self._measure.spans(line)
        most = max(0, min(self.header_max, self._room - self._count(body)))
        return line if len(tokens) <= most else line[: tokens[most - 1][1] if most else 0]

    def _count(self, text: str) -> int:
        return self._measure.count([text])[0]

    def _units(self, text: str) -> Iterator[_Unit]:
        """Yield the units that are never divided: whole blocks, or the parts of blocks that are too long."""
        found = blocks(text)
        while group := list(islice(found, _COUNTED_AT_ONCE)):
            for block, tokens in zip(group, self._sizes(text, [block.span for block in group]), strict=True):
                if tokens is not None:
                    yield _Unit(block.span, tokens, block.kind is Kind.HEADING)
                else:
                    yield from self._divided(text, block.span, _DIVISIONS[block.kind])

    def _divided(self, text: str, span: Span, divisions: Sequence[re.Pattern[str]]) -> Iterator[_Unit]:
        if not divisions:
            yield from self._windows(text, span)
            return
        found = (match.span() for match in divisions[0].finditer(text, *span))
        while group := list(islice(found, _COUNTED_AT_ONCE)):
            for part, tokens in zip(group, self._sizes(text, group), strict=True):
                if tokens is not None:
                    yield _Unit(part, tokens)
                else:
                    yield from self._divided(text, part, divisions[1:])

    def _windows(self, text: str, span: Span) -> Iterator[_Unit]:
        """Yield overlapping windows of a text without structure."""
        start, end = span
        largest, step = self.chunk_max, int(self.chunk_max * _STEP)
        while True:
            stop = min(end, start + _LONG)
            tokens = self._measure.spans(text[start:stop])
            first = 0
            while len(tokens) - first > largest:
                beginning, last = tokens[first][0], tokens[first + largest - 1][1]
                yield _Unit((start + beginning, start + last), largest)
                first += step
            beginning = start + tokens[first][0] if first else start
            if stop == end or not first:
                yield _Unit((beginning, stop), _at_least(len(tokens) - first, stop - beginning))
            if stop == end:
                return
            start = beginning if first else start + int(_LONG * _STEP)

    def _sizes(self, text: str, spans: Sequence[Span]) -> list[int | None]:
        """Return the tokens of each part, or None where it does not fit into a chunk."""
        counts = iter(self._measure.count([text[slice(*span)] for span in spans if _is_short(span)]))
        sizes = [_at_least(next(counts), span[1] - span[0]) if _is_short(span) else None for span in spans]
        return [None if size is None or size > self.chunk_max else size for size in sizes]


@dataclass(frozen=True, slots=True)
class _Unit:
    span: Span
    tokens: int
    is_heading: bool = False


def _stands_in_header(heading: _Unit, unit: _Unit) -> bool:
    """Return whether a unit's header contains the heading above it, which did not fit into the same chunk."""
    return heading.is_heading and not unit.is_heading and heading.span[1] - heading.span[0] <= _PART


def _size(units: Iterable[_Unit]) -> int:
    return sum(unit.tokens for unit in units)


def _at_least(tokens: int, characters: int) -> int:
    return max(tokens, -(-characters // _SPARSE))


def _is_short(span: Span) -> bool:
    return span[1] - span[0] <= _LONG


def _whole(text: str, units: Sequence[_Unit]) -> Span:
    """Return the span of all units together, without white space at its ends."""
    return _stripped(text, units[0].span[0], units[-1].span[1])


def _stripped(text: str, start: int, end: int) -> Span:
    found = text[start:end]
    return start + len(found) - len(found.lstrip()), start + len(found.rstrip())


def _clipped(part: str) -> str:
    line = " ".join(part.split())
    return line if len(line) <= _PART else line[: _PART - 3] + "..."
