"""Texts on one line, and shortened ones."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Return a text on one line, without control characters and marks that nobody sees.

    A terminal would obey them, and a reader would see another text than the model.
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def shortened(text: str, most: int) -> str:
    """Return a text, or its beginning and an ellipsis: at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def preview(text: str, length: int) -> str:
    """Return a text, or exactly so many characters of it and three dots, as tools show texts that are stored whole."""
    return text if len(text) <= length else f"{text[:length]}..."
