"""The commands and the refused calls of a transcript, as the report reads them."""

from collections.abc import Callable, Iterator
from pathlib import Path

from learning_memory_server.lessons.errors.transcripts import Passed, Refused
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.rules.past.events import Over, events_in


def commands_in(path: Path, passed: Passed, read: Callable[[int], object] = lambda _: None) -> Iterator[Ran]:
    """Yield the commands that ended."""
    yield from (each.ran for each in events_in(path, passed, read) if isinstance(each, Over) and each.ran)


def refusals_in(path: Path) -> list[Refused]:
    """Return the calls that a person refused."""
    return [each.refused for each in events_in(path, Passed()) if isinstance(each, Over) and each.refused]
