"""What the doctor says about one thing."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    Repair = Callable[[], Awaitable[str]]


class Level(StrEnum):
    """How bad it is: fine, worth a look, or in the way."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's outcome.

    Args:
        level: How bad it is.
        topic: What was looked at, in a word or two.
        sentence: What was found, and what to do if it is not green.
        repair: Does it, where that is safe, and returns what was done in a sentence.
    """

    level: Level
    topic: str
    sentence: str
    repair: Repair | None = None


def green(topic: str, sentence: str) -> Finding:
    """Return a finding that asks for nothing."""
    return Finding(Level.GREEN, topic, sentence)


def yellow(topic: str, sentence: str, repair: Repair | None = None) -> Finding:
    """Return a finding that is worth a look."""
    return Finding(Level.YELLOW, topic, sentence, repair)


def red(topic: str, sentence: str) -> Finding:
    """Return a finding that keeps the server from its work."""
    return Finding(Level.RED, topic, sentence)
