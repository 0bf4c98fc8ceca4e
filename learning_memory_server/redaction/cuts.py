"""What cuts a secret in two without changing it: a line that goes on in the next, and characters that nobody sees."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from typing import Final, NamedTuple

from learning_memory_server.redaction.base import Span
from learning_memory_server.system.invisible import INVISIBLE

_CUT: Final = re.compile(
    # The indentation of the next line goes too, unless it keeps an option apart. In JSON, both are escaped.
    r"\\(?:\r?\n|\\(?:\\r)?\\n)(?:[ \t]+(?![\s-]))?"
    rf"|{INVISIBLE}+"
    r"|\\u(?:00ad|061c|200[b-f]|202[a-e]|206[0-9a-f]|fe0[0-9a-f]|feff)",
    re.IGNORECASE,
)


class Uncut(NamedTuple):
    """A text without its cuts.

    Args:
        text: The text.
        starts: Where its pieces begin, in order.
        shifts: How far each of them was moved.
    """

    text: str
    starts: Sequence[int]
    shifts: Sequence[int]

    def original(self, span: Span) -> Span:
        """Return where something is in the text that was cut."""
        return Span(self._before(span.start), self._before(span.end - 1) + 1, span.kind)

    def _before(self, position: int) -> int:
        return position + self.shifts[bisect_right(self.starts, position) - 1]


def without_cuts(text: str) -> Uncut | None:
    """Return the text without what may cut a secret in two; None if it has nothing like that."""
    if text.isascii() and "\\" not in text:
        return None
    pieces, starts, shifts, end, length = [], [0], [0], 0, 0
    for cut in _CUT.finditer(text):
        pieces.append(text[end : cut.start()])
        length += cut.start() - end
        end = cut.end()
        starts.append(length)
        shifts.append(end - length)
    if not pieces:
        return None
    return Uncut("".join([*pieces, text[end:]]), starts, shifts)
