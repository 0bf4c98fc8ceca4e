"""Texts on one line, and shortened ones."""

import re
from typing import Final

from learning_memory_server.system.invisible import shown

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""With what separates lines, and halves of pairs, which no stream can encode."""


def one_line(text: str) -> str:
    """Return a text on one line, without control characters, and with names of characters that would hide something."""
    return " ".join(without_controls(shown(text)).split())


def without_controls(text: str) -> str:
    """Return a text with its control characters replaced by spaces."""
    return text if text.isprintable() else _CONTROL.sub(" ", text)


def shortened(text: str, most: int) -> str:
    """Return a text, or its beginning and an ellipsis: at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def preview(text: str, length: int) -> str:
    """Return a text, or exactly so many characters of it and three dots, as tools show texts that are stored whole."""
    return text if len(text) <= length else f"{text[:length]}..."


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, whose plural is regular."""
    return f"{number:,} {noun if number == 1 else _plural(noun)}"


def _plural(noun: str) -> str:
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"
