"""Checks of what is in the journal, and of who holds it. Nothing is changed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from learning_memory_server.cli.access import holder_of
from learning_memory_server.cli.finding import green, red, yellow
from learning_memory_server.cli.status import in_use_by
from learning_memory_server.cli.terminal import counted
from learning_memory_server.errors import JournalUnavailableError, LearningMemoryError
from learning_memory_server.journal.codec import ghap_from_data, memory_from_data, value_from_data
from learning_memory_server.journal.journal import Journal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from learning_memory_server.cli.finding import Finding
    from learning_memory_server.journal.log import Log
    from learning_memory_server.server.config import Settings

_NAMED: Final = 3


def check_journal(settings: Settings) -> Iterator[Finding]:
    """Read everything in the journal, and see who holds it."""
    journal = Journal(settings.journal_directory)
    readers: list[tuple[str, Log, Callable[[dict[str, object]], object] | None]] = [
        ("entry", journal.entries, ghap_from_data),
        ("value", journal.values, value_from_data),
        ("memory", journal.memories, memory_from_data),
        ("cluster change", journal.clusters, None),
        ("evidence line", journal.evidence, None),
    ]
    try:
        for noun, log, decode in readers:
            yield from _check_log(noun, log, decode)
        yield from _check_open(journal)
        yield from _check_set_aside(journal.path)
        yield from _check_writable(journal, [log for _, log, _ in readers])
    except LearningMemoryError as error:
        yield red("journal", _explained(error))
    try:
        yield green("lock", f"The journal and the index are in use by {in_use_by(holder_of(settings))}.")
    except JournalUnavailableError as error:
        yield red("lock", error.sentence)


def _check_log(
    noun: str, log: Log, decode: Callable[[dict[str, object]], object] | None
) -> Iterator[Finding]:
    content = log.read()
    foreign = []
    for record in content.records:
        try:
            if decode is not None:
                record.decoded(decode)
        except JournalUnavailableError:
            foreign.append(record.id)
    torn = [damage for damage in content.damage if damage.torn]
    lost = [damage for damage in content.damage if not damage.torn]
    if lost:
        where = "; ".join(f"{d.path.name} line {d.line_number}: {d.reason}" for d in lost[:_NAMED])
        yield red(
            "journal",
            f"{counted(len(lost), 'line')} cannot be read ({where}). The others are used; restore the file "
            "from a backup, or take the lines out of it.",
        )
    if foreign:
        yield red(
            "journal",
            f"{counted(len(foreign), noun)} cannot be understood ({', '.join(map(str, foreign[:_NAMED]))}); "
            "update learning-memory-server if a newer version has written them.",
        )
    for damage in torn:
        yield yellow(
            "journal",
            f"The last line of {damage.path.name} was not finished, as after a crash; "
            "the next start sets it aside.",
        )
    if not content.damage and not foreign:
        yield green("journal", f"{counted(len(content.records), noun)}, every checksum right.")


def _check_open(journal: Journal) -> Iterator[Finding]:
    found = 0
    for path in journal.open_files():
        try:
            journal.read_open(path)
            found += 1
        except JournalUnavailableError as error:
            yield red("open", _explained(error))
    yield green("open", f"{counted(found, 'open entry')}.")


def _check_writable(journal: Journal, logs: list[Log]) -> Iterator[Finding]:
    """Look at the folders, and at the newest file of each log: older ones are not written to any more."""
    for path in (*journal.folders, *(path for log in logs for path in log.segments()[-1:])):
        needed = os.W_OK | (os.X_OK if path.is_dir() else 0)
        if path.exists() and not os.access(path, needed):
            yield red("journal", f"{path} is not writable; check whose it is, or run: chmod u+rwX '{path}'")


def _explained(error: LearningMemoryError) -> str:
    """Return what is wrong, and with which path, if it is the operating system that refuses."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.filename:
        return f"{error.message} Look at {cause.filename}: what it is, whose, and its permissions."
    return error.sentence


def _check_set_aside(folder: Path) -> Iterator[Finding]:
    found = sorted(folder.rglob("*.corrupt-*"))
    if found:
        names = ", ".join(path.name for path in found[:_NAMED])
        yield yellow(
            "journal",
            f"{counted(len(found), 'unfinished line')} set aside after a crash ({names}); "
            "look whether they matter, and delete them.",
        )
