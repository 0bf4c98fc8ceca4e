"""The structure of a text: its headings, code blocks, paragraphs and turns of a conversation."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final

Span = tuple[int, int]
"""The first character, and the one after the last."""

_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_TURN: Final = re.compile(
    r"(?:\[[^\]\n]{1,40}\] ?)?[^\W\d_][\w.'\u2019()-]{0,30}(?: [\w.'\u2019()-]{1,30}){0,3}:(?: |$)"
)
"""The start of a turn: a name and a colon, optionally after a time in brackets."""
_MARKED: Final = re.compile(r"^ {0,3}(?:#{1,6}[ \t]|`{3,}|~{3,}).*", re.MULTILINE)

SENTENCES: Final = re.compile(
    r".+?(?:[.!?\u2026]+[\"'\u201d\u2019)\]]*\s+|[\u3002\uff01\uff1f]+\s*|\Z)", re.DOTALL
)
LINES: Final = re.compile(r"[^\n]*\n\s*|[^\n]+")


class Kind(Enum):
    """The kind of a block."""

    HEADING = "heading"
    CODE = "code"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text that belongs together."""

    span: Span
    kind: Kind


@dataclass(frozen=True, slots=True)
class Outline:
    """The headings of a text, as paths."""

    starts: list[int]  # the first character of each heading, ascending
    paths: list[tuple[str, ...]]  # for each heading, the headings above it and itself, outermost first

    @classmethod
    def of(cls, text: str) -> Outline:
        """Return the outline of a text. A line in a code block is never a heading."""
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
        """Return the headings above a position, outermost first, without a heading that begins right there."""
        index = bisect_left(self.starts, position)
        here = index < len(self.starts) and self.starts[index] == position
        if here:
            return self.paths[index][:-1]
        return self.paths[index - 1] if index else ()


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a text in order. Together they cover all of it except white space.

    A block is a fenced code block, a heading, a paragraph or a turn of a conversation. A fence that is never closed
    extends to the end.
    """
    start, end, kind, fence = 0, 0, Kind.TEXT, ""
    for match in _LINE.finditer(text):
        line = match.group()
        if fence:
            end = match.end()
            mark = _FENCE.match(line)
            if mark and not (fence := _after_fence(fence, mark)):
                yield Block((start, end), Kind.CODE)
                start = end
            continue
        mark, heading = _FENCE.match(line), _HEADING.match(line)
        if (mark or heading or not line.strip() or _TURN.match(line)) and end > start:
            yield Block((start, end), kind)
            start = end
        if mark and (fence := _after_fence("", mark)):
            start, end, kind = match.start(), match.end(), Kind.CODE
        elif heading:
            yield Block(match.span(), Kind.HEADING)
            start = end = match.end()
            kind = Kind.TEXT
        elif line.strip():
            start, end, kind = (start if end > start else match.start()), match.end(), Kind.TEXT
        else:
            start = end = match.end()
    if end > start:
        yield Block((start, end), Kind.CODE if fence else kind)


def _after_fence(fence: str, mark: re.Match[str]) -> str:
    """Return the fence that is open after a line with a fence, or an empty text."""
    found, rest = mark[1], mark[2].strip()
    if not fence:
        # Three backticks followed by another one on the same line are inline code.
        return "" if found[0] == "`" and "`" in rest else found
    closes = found[0] == fence[0] and len(found) >= len(fence) and not rest
    return "" if closes else fence
