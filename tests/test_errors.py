"""The tree of errors, as its module draws it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from learning_memory_server import errors
from learning_memory_server.errors import LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import Iterator


def below(error: type[LearningMemoryError], depth: int) -> Iterator[tuple[int, str, str | None]]:
    """The error classes below one that the module defines: how deep, the name, and the wire type if it is new."""
    for each in error.__subclasses__():
        if each.__module__ == errors.__name__:
            own = each.wire_type if each.wire_type != error.wire_type or depth == 1 else None
            yield depth, each.__name__, own
            yield from below(each, depth + 1)


def test_the_drawing_shows_every_error_and_what_a_client_sees() -> None:
    lines = re.findall(r"^    ([│ ]*)[├└]── (\w+) *(\w+)?$", errors.__doc__ or "", re.MULTILINE)
    drawn = [(1 + len(indent) // 4, name, wire_type or None) for indent, name, wire_type in lines]

    assert drawn == list(below(LearningMemoryError, 1))
