"""The checks of an installation, from the interpreter to the engine, and their findings."""

import sys
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial

from learning_memory_server.cli import out
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.system.ending import describe_exception, type_name

Repair = Callable[[], str]


class Level(StrEnum):
    """The severity of a finding: fine, information, warning, or a problem (it does not work, or is not private)."""

    GREEN = "green"
    INFO = "info"
    YELLOW = "yellow"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a check and, unless it is green, advice.

    `about` sets its topic. `repair` is safe and returns a sentence. `answers` has a repair for each question to a
    person, in order. `refused` is called if the person says no.
    """

    level: Level
    sentence: str
    repair: Repair | None = None
    answers: Mapping[str, Repair] = field(default_factory=dict)
    topic: str = ""
    refused: Callable[[], None] | None = None

    def agreed(self) -> Repair | None:
        """Return the repair to run, after asking the person if needed; None if there is none."""
        asked = (repair for question, repair in self.answers.items() if out.agrees(question))
        found = self.repair or next(asked, None)
        if found is None and self.refused and sys.stdin.isatty():
            self.refused()
        return found


green, info, yellow, red = (partial(Finding, level) for level in Level)


def about(topic: str, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings, with this topic unless they have one. An exception in a check becomes a finding."""
    try:
        yield from (replace(each, topic=each.topic or topic) for each in findings)
    except LearningMemoryError as error:
        yield red(error.in_doctor, topic=topic)
    except Exception as error:  # noqa: BLE001 - whatever it is, the other checks say more about it
        passed = ", ".join(describe_exception(error)["frames"][-3:])
        yield red(f"This check failed: {type_name(type(error))} at {passed}.", topic=topic)


def all_sound(findings: Iterable[Finding]) -> Generator[Finding, None, bool]:
    """Yield the findings, and return whether they contain no problem."""
    sound = True
    for finding in findings:
        sound = sound and finding.level is not Level.RED
        yield finding
    return sound
