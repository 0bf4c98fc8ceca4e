"""Texts on one line."""

from __future__ import annotations


def one_line(text: str) -> str:
    """Return a text on one line, without control characters and marks that nobody sees.

    A terminal would obey them, and a reader would see another text than the model.
    """
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())
