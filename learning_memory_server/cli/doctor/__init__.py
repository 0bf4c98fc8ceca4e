"""The checks of a set-up, from the interpreter to the engine, and what each reports."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from enum import StrEnum

Repair = Callable[[], str]


class Level(StrEnum):
    """How bad it is: fine, worth a look, or a problem."""

    GREEN = "green"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's outcome: a topic of a word or two, what was found and, unless it is green, what to do.

    `repair` repairs it, where that is safe, and returns a sentence about that; `question` is asked before.
    """

    level: Level
    topic: str
    sentence: str
    repair: Repair | None = None
    question: str | None = None


def all_sound(findings: Iterator[Finding]) -> Generator[Finding, None, bool]:
    """Yield the findings, and return whether none of them is a problem."""
    sound = True
    for finding in findings:
        sound = sound and finding.level is not Level.RED
        yield finding
    return sound


def green(topic: str, sentence: str) -> Finding:
    """Return a finding that needs no action."""
    return Finding(Level.GREEN, topic, sentence)


def yellow(topic: str, sentence: str, repair: Repair | None = None) -> Finding:
    """Return a warning."""
    return Finding(Level.YELLOW, topic, sentence, repair)


def red(topic: str, sentence: str, repair: Repair | None = None) -> Finding:
    """Return a problem: something does not work, or is not private."""
    return Finding(Level.RED, topic, sentence, repair)
