"""A memory as documents, one for each chunk: the whole text, or as many paragraphs, code blocks and turns as fit.

Decision 16 has figures for the sizes.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice, takewhile
from operator import attrgetter
from typing import Any, ClassVar, Final, Self

from learning_memory_server.embedding.tokens import TokenMeasure
from learning_memory_server.index.document import Collection, DocumentShape, point_id
from learning_memory_server.journal.kinds import without_empty
from learning_memory_server.model.memory import Chunking, Memory
from learning_memory_server.model.stored import WRITTEN

Span = tuple[int, int]  # The first character, and the one after the last

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_TURN: Final = re.compile(
    r"(?:\[[^\]\n]{1,40}\] ?)?[^\W\d_][\w.'\u2019()-]{0,30}(?: [\w.'\u2019()-]{1,30}){0,3}:(?: |$)"
)
"""The start of a turn: a name and a colon, optionally after a time in brackets."""
_MARKED: Final = re.compile(r"^ {0,3}(?:#{1,6}[ \t]|`{3,}|~{3,}).*", re.MULTILINE)

SENTENCES: Final = re.compile(
    r".(?:[^.!?\u2026\u3002\uff01\uff1f]++|[.!?\u2026]++(?![\"'\u201d\u2019)\]]*\s))*+"
    r"(?:[.!?\u2026]+[\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f]+\s*|\Z)",
    re.DOTALL,
)
LINES: Final = re.compile(r"[^\n]*\n\s*|[^\n]+")


class BlockKind(Enum):
    """The kind of a block."""

    HEADING = "heading"
    CODE = "code"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text that is kept together if possible."""

    span: Span
    kind: BlockKind


@dataclass(frozen=True, slots=True)
class Outline:
    """The headings of a text, each as a path."""

    starts: list[int]  # the first character of each heading, ascending
    paths: list[tuple[str, ...]]  # for each heading, the headings above it and the heading itself, outermost first

    @classmethod
    def of(cls, text: str) -> Self:
        """Return the outline of a text. Lines in code blocks are never headings."""
        starts: list[int] = []
        paths: list[tuple[str, ...]] = []
        open_headings: list[tuple[int, str]] = []
        fence = ""
        for match in _MARKED.finditer(text):
            line = match.group()
            if mark := _FENCE.match(line):
                fence = _after_fence(fence, mark)
            elif not fence and (heading := _HEADING.match(line)):
                level = len(heading[1])
                open_headings = [kept for kept in open_headings if kept[0] < level]
                open_headings.append((level, heading[2].strip().rstrip("#").strip()))
                starts.append(match.start())
                paths.append(tuple(name for _, name in open_headings))
        return cls(starts, paths)

    def path_at(self, position: int) -> tuple[str, ...]:
        """Return the headings above a position, outermost first, excluding a heading that starts at the position."""
        index = bisect_left(self.starts, position)
        here = index < len(self.starts) and self.starts[index] == position
        if here:
            return self.paths[index][:-1]
        return self.paths[index - 1] if index else ()


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in order: fenced code, headings, paragraphs, and turns of a conversation."""
    start, end, kind, fence = 0, 0, BlockKind.TEXT, ""
    for match in _LINE.finditer(text):
        line = match.group()
        if fence:
            end = match.end()
            mark = _FENCE.match(line)
            if mark and not (fence := _after_fence(fence, mark)):
                yield Block((start, end), BlockKind.CODE)
                start = end
            continue
        mark, heading = _FENCE.match(line), _HEADING.match(line)
        if (mark or heading or not line.strip() or _TURN.match(line)) and end > start:
            yield Block((start, end), kind)
            start = end
        if mark and (fence := _after_fence("", mark)):
            start, end, kind = match.start(), match.end(), BlockKind.CODE
        elif heading:
            yield Block(match.span(), BlockKind.HEADING)
            start = end = match.end()
            kind = BlockKind.TEXT
        elif line.strip():
            start, end, kind = (start if end > start else match.start()), match.end(), BlockKind.TEXT
        else:
            start = end = match.end()
    if end > start:
        yield Block((start, end), BlockKind.CODE if fence else kind)


def _after_fence(fence: str, mark: re.Match[str]) -> str:
    """Return the fence that is open after a line with a fence mark; empty if none is."""
    found, rest = mark[1], mark[2].strip()
    if not fence:
        # Three backticks and another one on the same line are inline code.
        return "" if found[0] == "`" and "`" in rest else found
    closes = found[0] == fence[0] and len(found) >= len(fence) and not rest
    return "" if closes else fence


CHUNKING_VERSION: Final = 2  # Increase it when the same text would be divided into other chunks
_LARGEST: Final = 128  # Maximum tokens in a chunk of a longer text
_FILLED: Final = 64  # A chunk with at least this many tokens may end before a heading
_HEADER: Final = 64  # Maximum tokens in the header before a chunk's text
_SPECIAL: Final = 2  # Tokens that a model adds around each text
_STEP: Final = 0.75  # The distance between the starts of overlapping windows, as a share of a window
_COUNTED_AT_ONCE: Final = 256
_LONG: Final = 2_048  # Characters. A longer block is divided before its tokens are counted, to save RAM.
_SPARSE: Final = 16  # Characters that count as at least one token: some tokenizers merge long runs into one
_PART: Final = 80  # Maximum characters of a title, a source or a heading in a header
_DIVISIONS: Final = {BlockKind.CODE: (LINES,), BlockKind.HEADING: (LINES,), BlockKind.TEXT: (SENTENCES, LINES)}


@dataclass(frozen=True, slots=True)
class _Unit:
    span: Span
    tokens: int
    is_heading: bool = False


_Part = tuple[Span, bool, tuple[re.Pattern[str], ...]]  # Span, whether it is a heading, patterns to divide it


class Chunker:
    """Divides texts into chunks, deterministically."""

    def __init__(self, measure: TokenMeasure) -> None:
        self._measure = measure
        self._room = measure.window - _SPECIAL
        self.header_max = min(_HEADER, self._room // 4)
        self.chunk_max = min(_LARGEST, self._room - self.header_max)
        self.name = f"{CHUNKING_VERSION}-{measure.name}"

    def chunk(self, text: str, should_stop: Callable[[], bool] = lambda: False) -> Chunking:
        """Divide a text. `should_stop` is called after each chunk, and stops the work by returning True."""
        spans = takewhile(lambda _span: not should_stop(), self.spans(text))
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
        """Return the parts, most important first, on one line, truncated to the number of tokens that `body` leaves."""
        line = " | ".join(_clipped(part) for part in parts)
        tokens = self._measure.spans(line)
        most = max(0, min(self.header_max, self._room - self._count(body)))
        return line if len(tokens) <= most else line[: tokens[most - 1][1] if most else 0]

    def _count(self, text: str) -> int:
        return self._measure.count([text])[0]

    def _units(self, text: str) -> Iterator[_Unit]:
        """Yield the indivisible units: whole blocks, or the parts of blocks that are too long."""
        parts = ((block.span, block.kind is BlockKind.HEADING, _DIVISIONS[block.kind]) for block in blocks(text))
        return self._fitting(text, parts)

    def _fitting(self, text: str, parts: Iterator[_Part]) -> Iterator[_Unit]:
        """Yield the parts that fit into a chunk, and divide the others."""
        while group := list(islice(parts, _COUNTED_AT_ONCE)):
            sizes = self._sizes(text, [span for span, _, _ in group])
            for (span, is_heading, divisions), tokens in zip(group, sizes, strict=True):
                if tokens is not None:
                    yield _Unit(span, tokens, is_heading)
                elif divisions:
                    found = divisions[0].finditer(text, *span)
                    yield from self._fitting(text, ((match.span(), False, divisions[1:]) for match in found))
                else:
                    yield from self._windows(text, span)

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
        """Return the number of tokens of each part, None for a part that does not fit into a chunk."""
        counts = iter(self._measure.count([text[slice(*span)] for span in spans if _is_short(span)]))
        sizes = [_at_least(next(counts), span[1] - span[0]) if _is_short(span) else None for span in spans]
        return [None if size is None or size > self.chunk_max else size for size in sizes]


def _stands_in_header(heading: _Unit, unit: _Unit) -> bool:
    """Whether a unit's header contains the heading above it, which did not fit into the same chunk."""
    return heading.is_heading and not unit.is_heading and heading.span[1] - heading.span[0] <= _PART


def _size(units: Iterable[_Unit]) -> int:
    return sum(unit.tokens for unit in units)


def _at_least(tokens: int, characters: int) -> int:
    return max(tokens, -(-characters // _SPARSE))


def _is_short(span: Span) -> bool:
    return span[1] - span[0] <= _LONG


def _whole(text: str, units: Sequence[_Unit]) -> Span:
    """Return the span of all units together, without surrounding whitespace."""
    return _stripped(text, units[0].span[0], units[-1].span[1])


def _stripped(text: str, start: int, end: int) -> Span:
    found = text[start:end]
    return start + len(found) - len(found.lstrip()), start + len(found.rstrip())


def _clipped(part: str) -> str:
    line = " ".join(part.split())
    return line if len(line) <= _PART else line[: _PART - 3] + "..."


SHAPES: Final = {
    Collection.MEMORIES: DocumentShape(
        ("tags", "source", "project", "memory_id"), ("created_at",), form=f"cut {CHUNKING_VERSION}"
    )
}
"""`created_at` is the memory's date."""

_HEADINGS: Final = 3  # Maximum number of headings above a chunk in its header, the innermost ones


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """The document of a chunk. It stores only a span, so that pending chunks of a long text use little RAM."""

    whole: str  # the memory's text
    header: str  # the line before the chunk
    about: dict[str, Any]  # the common payload of all chunks of the memory
    number: int  # the index of the chunk in its memory, from 0
    start: int  # its first character in the memory's text
    end: int  # the one after its last
    collection: ClassVar = Collection.MEMORIES
    parts: ClassVar = ()

    @property
    def point_id(self) -> str:
        """The point's id."""
        return point_id("memory", f"{self.about['memory_id']}:{self.number}")

    @property
    def text(self) -> str:
        """The text to embed and search: the header, then the chunk."""
        chunk = self.whole[self.start : self.end]
        return f"{self.header}\n{chunk}" if self.header else chunk

    @property
    def payload(self) -> dict[str, Any]:
        """The point's payload. It has no text, because the span suffices to find the text in the journal."""
        return self.about | {"chunk_index": self.number, "start": self.start, "end": self.end}


def documents_of(memory: Memory, chunker: Chunker, only: Container[int] | None = None) -> Iterator[Chunk]:
    """Yield the documents of a chunked memory, optionally only those with the given numbers."""
    about = without_empty(
        {
            "memory_id": memory.id,
            "tags": memory.tags,
            "source": memory.source,
            "project": memory.project,
            WRITTEN: memory.others.get(WRITTEN),
            "created_at": memory.date.isoformat(),
        }
    )
    for number, span, header in _headed(memory, chunker, only):
        yield Chunk(memory.text, header, about, number, *span)


def point_ids(memory_id: str, chunks: int) -> Iterable[str]:
    """Yield the ids of a memory's points."""
    return (point_id("memory", f"{memory_id}:{index}") for index in range(chunks))


def _headed(memory: Memory, chunker: Chunker, only: Container[int] | None) -> Iterator[tuple[int, Span, str]]:
    """Yield the number, span and header of each chunk, or of some. A header has date, source, title and headings."""
    outline = Outline.of(memory.text)
    # The day on which a text was stored says nothing about its content.
    date = f"{memory.date:%Y-%m-%d}" if memory.is_dated else None
    about = [part for part in (date, memory.source, memory.title) if part]
    spans = memory.chunking.spans if memory.chunking else ()
    whole = memory.text if len(spans) == 1 else ""
    headers: dict[tuple[str, ...], str] = {}
    for number, span in enumerate(spans):
        if only is not None and number not in only:
            continue
        path = outline.path_at(span[0])[-_HEADINGS:]
        if path not in headers:
            headers[path] = chunker.header([*about, *path], body=whole)
        yield number, span, headers[path]
