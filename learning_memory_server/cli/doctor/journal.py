"""Checks of the journal's content and lock, and of the hub that may hold it. Nothing is changed."""

import os
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, Final

from learning_memory_server.cli import out
from learning_memory_server.cli.access import reading
from learning_memory_server.cli.access.connection import running_hub
from learning_memory_server.cli.access.hub_client import HubClient
from learning_memory_server.cli.doctor import Finding, green, red, yellow
from learning_memory_server.errors import JournalUnavailableError, LearningMemoryError, LockUnavailableError
from learning_memory_server.index.engines.server_log import server_from_data
from learning_memory_server.journal.codec import ADVICE, FAILURE, GHAP, MEMORY, TRIAL, VALUE, VERDICT
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.log import Log
from learning_memory_server.server.settings import Settings
from learning_memory_server.sharing.shared import SHARED, SharedLessons
from learning_memory_server.system import timeouts
from learning_memory_server.system.ipc.programs import to_start

_NAMED: Final = 3
_LOOK_SECONDS: Final = 0.1


def check_journal(settings: Settings) -> Iterator[Finding]:
    """Read everything in the journal, and find out which process has locked it."""
    journal = Journal(settings.journal_directory)
    readers: list[tuple[str, Log, Callable[[dict[str, object]], object] | None]] = [
        ("entry", journal.entries, GHAP.decode),
        ("value", journal.values, VALUE.decode),
        ("verdict", journal.verdicts, VERDICT.decode),
        ("advice line", journal.advice, ADVICE.decode),
        ("trial", journal.trials, TRIAL.decode),
        ("failure line", journal.failures, FAILURE.decode),
        ("memory", journal.memories, MEMORY.decode),
        ("cluster change", journal.clusters, None),
        ("server line", journal.servers, server_from_data),
    ]
    try:
        sound = []
        for noun, log, decode in readers:
            if (count := (yield from _check_log(noun, log, decode))) is not None:
                sound.append(out.counted(count, noun))
        if sound:
            yield green(f"{', '.join(sound)}: all checksums match.")
        opened = 0
        for path in journal.open_files():
            try:
                journal.read_open(path)
                opened += 1
            except JournalUnavailableError as error:
                yield red(_explained(error), topic="open")
        yield green(f"{out.counted(opened, 'open entry')}.", topic="open")
        if aside := journal.set_aside_files():
            names = ", ".join(path.name for path in aside[:_NAMED])
            yield yellow(
                f"{out.counted(len(aside), 'unfinished line')} set aside after a crash ({names}); "
                "check whether they matter, then delete them."
            )
        yield from _check_writable(journal, [log for _, log, _ in readers])
        episodes = sum(each.episode is not None for each in reading.Stored(settings).failures.all())
        state = "are told where they come again" if settings.episodes else "are not told: `episodes` is off"
        yield green(f"{out.counted(episodes, 'error')} went away after edits; these {state}.", topic="episodes")
    except LearningMemoryError as error:
        yield red(_explained(error))
    try:
        who = reading.holder_of(settings)
        yield green(
            f"The data is in use by {reading.in_use_by(who)}." if who else "No process is using the data.", topic="lock"
        )
    except LockUnavailableError as error:
        yield red(error.sentence, topic="lock")


def _check_log(
    noun: str, log: Log, decode: Callable[[dict[str, object]], object] | None
) -> Generator[Finding, None, int | None]:
    """Report what is wrong with a log. Return its number of records if nothing is."""
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
            f"{out.counted(len(lost), 'line')} cannot be read ({where}). The others are used; restore the file "
            "from a backup, or delete those lines."
        )
    if foreign:
        yield red(
            f"{out.counted(len(foreign), noun)} cannot be understood ({', '.join(map(str, foreign[:_NAMED]))}); "
            "if a newer version wrote them, update learning-memory-server."
        )
    for damage in torn:
        yield yellow(
            f"The last line of {damage.path.name} is unfinished, as after a crash; the next start sets it aside."
        )
    return None if content.damage or foreign else len({record.id for record in content.records})


def _check_writable(journal: Journal, logs: list[Log]) -> Iterator[Finding]:
    """Check the folders and the newest file of each log; older files are no longer written."""
    for path in (*journal.folders, *(path for log in logs for path in log.segments()[-1:])):
        needed = os.W_OK | (os.X_OK if path.is_dir() else 0)
        if path.exists() and not os.access(path, needed):
            yield red(f"{path} is not writable; check its owner, or run: chmod u+rwX '{path}'")


def _explained(error: LearningMemoryError) -> str:
    """Return what is wrong. If the operating system refused, name the path."""
    cause = error.__cause__
    if isinstance(cause, OSError) and cause.filename:
        return f"{error.message} Check {cause.filename}: its kind, owner and permissions."
    return error.sentence


def check_shared(settings: Settings) -> Iterator[Finding]:
    """Check the shared lessons of the repositories that are joined."""
    for joined in SharedLessons(settings.storage_path / SHARED).joined.values():
        yield green(f"{out.counted(len(joined.entries), 'lesson')} of {joined.folder} are read.")
        for name, reason in joined.left_out.items():
            yield yellow(f"{name or joined.folder} is left out: {reason}.")


def check_hub(settings: Settings) -> tuple[Finding, dict[str, Any] | None]:
    """Check the hub, and return its status if one runs and answers."""
    try:
        hub = _find_hub(settings)
        if hub is None:
            return _check_holder(settings), None
        status = hub.control("status")
    except LockUnavailableError:
        sentence = "None is running, and none can start: the lock file cannot be opened (see above)."
        return yellow(sentence), None
    except LearningMemoryError as error:
        return red(error.sentence), None
    sentence = f"One is running: {reading.describe_hub(status).rstrip('.')}."
    if status.get("notice"):
        return yellow(sentence), status
    first = to_start(settings.storage_path)[0]
    if first["folder"] != status["build"].get("folder"):
        return yellow(f"{sentence} The next session to start one starts {reading.describe_program(first)}."), status
    return green(sentence), status


def _find_hub(settings: Settings) -> HubClient | None:
    """Return the hub, or None. A hub that has just started, or lost its socket, listens within two seconds."""
    until = time.monotonic() + timeouts.DOCTOR_HUB
    while (hub := running_hub()) is None and time.monotonic() < until:
        who = reading.holder_of(settings)
        if who is None or "socket" not in who:
            return None
        time.sleep(_LOOK_SECONDS)
    return hub


def _check_holder(settings: Settings) -> Finding:
    who = reading.holder_of(settings)
    if who is None:
        program = reading.describe_program(to_start(settings.storage_path)[0])
        return green(f"None is running; the next session starts one, of {program}.")
    if "socket" in who:
        sentence = (
            f"One (process {who.get('pid')}) has locked the data, but does not listen at {who['socket']}. If it is not "
            "ending, run: learning-memory-server hub stop"
        )
        return red(sentence)
    return yellow(reading.in_the_way(who))
