"""Texts on one line, and shortened ones."""

import re
from typing import Final

from learning_memory_server.system.invisible import shown

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, including line separators, and surrogates, which cannot be encoded."""


def one_line(text: str) -> str:
    """Return a text on one line, without control characters, and with the names of invisible characters."""
    return " ".join(without_controls(shown(text)).split())


def without_controls(text: str) -> str:
    """Return a text with its control characters replaced by spaces."""
    return text if text.isprintable() else _CONTROL.sub(" ", text)


def shortened(text: str, most: int) -> str:
    """Return a text of at most `most` characters, with an ellipsis if it is cut."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def preview(text: str, length: int) -> str:
    """Return a text of at most `length` characters, followed by three dots if it is cut."""
    return text if len(text) <= length else f"{text[:length]}..."


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, whose plural is regular."""
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
