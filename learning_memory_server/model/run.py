"""A run: a test or build command that ended while an entry was open."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Run:
    """How a test or build command ended. Its output is not kept.

    Args:
        command: The command, on one line and without paths of the machine.
        passed: How many tests passed, if its output says so; the same for the others.
        failed: How many tests failed, those that could not be run included.
        skipped: How many tests were skipped.
    """

    at: datetime
    command: str
    exit_status: int
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None

    def __str__(self) -> str:
        """Return `command: exit status, counts`."""
        counts = (("failed", self.failed), ("passed", self.passed), ("skipped", self.skipped))
        said = [f"{count} {word}" for word, count in counts if count]
        return f"{self.command}: {', '.join([f'exit {self.exit_status}', *said])}"
