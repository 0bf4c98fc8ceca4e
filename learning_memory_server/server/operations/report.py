"""What an operation is given to say how far it is."""

from typing import Protocol


class Report(Protocol):
    """Receives the progress of an operation."""

    def __call__(self, doing: str, done: int = 0, total: int = 0) -> None:
        """Receive the current step, how much of it is done, and the total; 0 if unknown."""
