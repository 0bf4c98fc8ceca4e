"""What an operation tells while it runs."""

from __future__ import annotations

from typing import Protocol


class Report(Protocol):
    """Is told how an operation gets on."""

    def __call__(self, doing: str, done: int = 0, total: int = 0) -> None:
        """Take what it does, how far it is, and how far it has to go; 0 if that is not known."""
