"""What a check reports about one thing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

Repair = Callable[[], Awaitable[str]]


class Level(StrEnum):
    """How bad it is: fine, worth a look, or a problem."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's outcome.

    Args:
        level: How bad it is.
        topic: What was checked, in a word or two.
        sentence: What was found, and what to do unless it is green.
        repair: Repairs it, where that is safe, and returns a sentence that says so.
        question: What a person must say yes to before it is repaired.
    """

    level: Level
    topic: str
    sentence: str
    repair: Repair | None = None
    question: str | None = None


def green(topic: str, sentence: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(Level.GREEN, topic, sentence)


def yellow(topic: str, sentence: str, repair: Repair | None = None) -> Finding:
    """Return a warning."""
    return Finding(Level.YELLOW, topic, sentence, repair)


def red(topic: str, sentence: str, repair: Repair | None = None) -> Finding:
    """Return a problem: something does not work, or is not private."""
    return Finding(Level.RED, topic, sentence, repair)
