"""Access to the data for commands: through a running hub, a hub started for the command, or this process."""

import asyncio
import json
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from learning_memory_server.cli import out
from learning_memory_server.cli.command import holder_of
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.errors import (
    DeadlineExceededError,
    EmbeddingUnavailableError,
    InvalidSettingsError,
    LearningMemoryError,
    RefusedSocketError,
    StorageUnavailableError,
    error_from_body,
)
from learning_memory_server.hub.front.link import HubLink, hello_of
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.server.claims import caller_of
from learning_memory_server.server.settings import Settings
from learning_memory_server.system import locations, timeouts
from learning_memory_server.system.ipc import discovery, socket_security
from learning_memory_server.system.locking import holder, is_locked_by
from learning_memory_server.system.paths import LOCK

_LOOK_SECONDS: Final = 0.05


class HubClient:
    """Sends requests to the hub of a `place`, one per connection, and waits while the hub gives signs of life."""

    def __init__(self, place: discovery.HubPaths, path: Path, connection: socket.socket, hung_after: float) -> None:
        self.place = place
        self._path = path
        self._first: socket.socket | None = connection
        self._hung_after = hung_after
        self._hello = hello_of(place, "control")

    def control(self, command: str, **fields: object) -> dict[str, Any]:
        """Send the hub `status`, `stop` or an operation without a time limit, and return its reply or raise its error.

        Raises `DeadlineExceededError` without a sign of life, and `StorageUnavailableError` if it ends before it
        replies.
        """
        with self._connected() as connection:
            return self._ask(connection, command, fields)

    async def operate(self, report: out.Report, name: str, fields: dict[str, Any]) -> dict[str, Any]:
        """Run an operation in the hub; see `control`. If this is cancelled, the hub cancels the operation."""
        with self._connected() as connection:
            try:
                return await asyncio.to_thread(self._ask, connection, name, fields, report)
            finally:
                # Wakes a thread that is still waiting for the hub.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the unused connection, if any."""
        if self._first:
            self._first.close()

    def _ask(
        self, connection: socket.socket, command: str, fields: dict[str, Any], report: out.Report | None = None
    ) -> dict[str, Any]:
        connection.settimeout(self._hung_after)
        hello = {**self._hello, "command": command, "fields": fields}
        connection.sendall(json.dumps(hello).encode() + b"\n")
        with connection.makefile("rb") as lines:
            # Each sign of life is a line, so the socket's timeout limits the hub's silence, not its work.
            while (line := lines.readline()).startswith(discovery.PRIVATE):
                progress = discovery.read_progress(line)
                if progress and report:
                    report(progress["doing"], progress["done"], progress["total"])
        if not line:
            raise EOFError
        reply: dict[str, Any] = json.loads(line)
        if "error" in reply:
            raise error_from_body(reply["error"])
        return reply

    @contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        connection, self._first = self._first, None
        connection = connection or _connect(self._path, self.place, self._hung_after)
        if connection is None:
            raise _ended()
        try:
            with connection:
                yield connection
        except TimeoutError:
            locations.note_silence(str(self.place.storage))
            raise _hangs(self.place, self._hung_after) from None
        except (OSError, EOFError):
            raise _ended() from None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # A hub of another version may reply in another format.
            raise LearningMemoryError(
                f"The hub's reply was not understood ({error!r}).",
                hint="Run `learning-memory-server hub stop`; the next session starts a hub of the current version.",
            ) from error


def find_hub(
    place: discovery.HubPaths | None = None, *, hung_after: float = timeouts.COMMAND_HUNG_AFTER
) -> HubClient | None:
    """Return the hub at `place`, by default of the environment's settings; None if no hub runs.

    Raises `DeadlineExceededError` and `UntrustedSocketError`.
    """
    if not socket_security.has_hubs():
        return None
    place = place or discovery.HubPaths(os.environ)
    hung_after = min(hung_after, timeouts.STILL_SILENT) if place.is_silent() else hung_after
    for path in place.sockets():
        connection = _connect(path, place, hung_after)
        if connection is not None:
            return HubClient(place, path, connection, hung_after)
    return None


def _connect(path: Path, place: discovery.HubPaths, hung_after: float) -> socket.socket | None:
    try:
        return socket_security.connect(path, hung_after)
    except (BlockingIOError, TimeoutError):
        raise _hangs(place, hung_after) from None  # Its queue of connections is full
    except OSError:
        return None


def _ended() -> LearningMemoryError:
    return StorageUnavailableError(
        "The hub ended before it answered.",
        hint="Run the command again: what is done already is not done twice, and nothing that the hub acknowledged is "
        "lost.",
    )


def _hangs(place: discovery.HubPaths, hung_after: float) -> LearningMemoryError:
    pid = (holder(place.journal) or {}).get("pid")
    return DeadlineExceededError(
        f"The hub (process {pid or 'unknown'}) has given no sign of life for {hung_after:g} seconds.",
        hint="Try again. If that does not help, end it"
        + (f" (kill -KILL {pid})" if pid else "")
        + ": nothing that it acknowledged is lost, and the next session starts another.",
    )


def stop_running_hub(term_seconds: float = timeouts.HUB_TERM) -> int | None:
    """Stop the hub that has locked the data of these settings, and return its process id; None if there is none.

    The hub gets a request to stop, then SIGTERM, and is killed after `term_seconds`. Acknowledged writes are safe.
    Raises `DeadlineExceededError` if it does not end, and `StorageUnavailableError` if the holder of the lock is
    unknown.
    """
    place = discovery.HubPaths(os.environ)
    # Whatever the state of the socket and its listener, the lock decides which process is the hub.
    try:
        if hub := find_hub(place):
            until = time.monotonic() + timeouts.HUB_END
            pid: int = hub.control("stop")["pid"]
            if _has_released(place, pid, until):
                return pid
    except RefusedSocketError:
        raise  # The hub is fine
    except LearningMemoryError:
        pass
    return _end_holder(place, term_seconds)


def _has_released(place: discovery.HubPaths, pid: int, until: float) -> bool:
    """Wait until a process has released the data. Returns False if it has not done so by `until`."""
    while (holder(place.journal) or {}).get("pid") == pid:
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _end_holder(place: discovery.HubPaths, term_seconds: float) -> int | None:
    who = holder(place.journal)
    if who is None or "socket" not in who:
        return None
    pid = who.get("pid")
    for number, seconds in ((signal.SIGTERM, term_seconds), (signal.SIGKILL, timeouts.HUB_KILLED)):
        # The lock file contains only the claim of a process, and process ids are reused.
        if not isinstance(pid, int) or not is_locked_by(place.journal / LOCK, pid):
            if holder(place.journal) is None:
                return pid if isinstance(pid, int) else None
            raise StorageUnavailableError(
                f"A hub (process {pid}) has locked the data and does not answer, and whether it is really that process "
                "could not be found out.",
                hint="End the hub in the place where it was started, such as a container.",
            )
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        if _has_released(place, pid, time.monotonic() + seconds):
            return pid
    raise DeadlineExceededError(
        f"The hub (process {pid}) was killed and has not ended.", hint="It waits for the disk or another device."
    )


Operate = Callable[[out.Report, str, dict[str, Any]], Awaitable[dict[str, Any]]]

STARTS_HUB = True  # Whether a command starts a hub if none runs. Most tests of commands turn this off.
_BATCH: Final = 50  # Records per message
_BATCH_BYTES: Final = 4 * 1024 * 1024
_INTERRUPTIONS: Final = (asyncio.CancelledError, KeyboardInterrupt)
"""The exceptions from Ctrl-C: the second while this process works, the first while it waits."""
_READING: Final = ("call", "compare", "complete", "page_data")  # Leave no work unfinished if interrupted


class Connection:
    """Runs operations for a command, shows their progress, and calls tools for the project of the settings.

    `redacted` counts the secrets that imports removed, by kind. `outlives_command` is whether a hub does the work.
    """

    def __init__(self, operate: Operate, settings: Settings, *, outlives_command: bool = False) -> None:
        self._operate = operate
        self.outlives_command = outlives_command
        self.redacted: Counter[str] = Counter()
        self._project = caller_of(os.environ, settings).project
        self._session = os.urandom(8).hex()  # A separate session, without an open entry

    async def run(self, operation: str, doing: str = "Working", /, **fields: object) -> dict[str, Any]:
        """Run an operation and return its result, or raise its error. Print a notice if it is interrupted.

        Raises `DeadlineExceededError` if the hub hangs, and `StorageUnavailableError` if it ends before it replies.
        """
        try:
            with out.working(doing) as report:
                reply = await self._operate(report, operation, fields)
        except _INTERRUPTIONS:
            if operation not in _READING:
                out.notice("Interrupted. What was finished stays; run the command again for the rest.")
            raise
        self.redacted.update(reply.get("redacted", {}))
        for sentence in reply.get("notices", ()):
            out.notice(sentence)
        return reply

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its reply. Arguments with the value None are left out."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self.run("call", tool=tool, arguments=given, project=self._project, session=self._session)

    async def call_for_all(self, tool: str, *lists: str, **arguments: object) -> dict[str, Any]:
        """Call a listing tool, and return its first reply with the `lists` (keys of the reply) of all pages."""
        reply = page = await self.call(tool, **arguments)
        while "offset" in page:
            page = await self.call(tool, **arguments, offset=page["offset"])
            for each in lists:
                if each in page:
                    reply[each] = [*reply.get(each, ()), *page[each]]
        return reply

    async def add(self, records: Sequence[JournalRecord]) -> int:
        """Add records to the journal, and return the number of new ones."""
        added = done = 0
        for batch in _batches(records):
            doing = f"Importing: {done:,} of {len(records):,}"
            reply = await self.run("add_records", doing, records=batch)
            added += len(reply["added"])
            done += len(batch)
        return added


def _batches(records: Sequence[JournalRecord]) -> Iterator[list[dict[str, Any]]]:
    """Yield records in batches small enough for a hub to serve its sessions in between."""
    batch: list[dict[str, Any]] = []
    size = 0
    for each in records:
        fields = each.to_fields()
        length = len(json.dumps(fields))
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(fields)
        size += length
    if batch:
        yield batch


WITHOUT_INDEX: Final = (
    DeadlineExceededError,
    EmbeddingUnavailableError,
    # Only for settings of the engine, which are checked when it is opened.
    InvalidSettingsError,
    StorageUnavailableError,
)
"""The errors after which a command continues without the index."""


async def complete_index(connection: Connection) -> str:
    """Complete the index, or leave it to the hub if it takes long. Return a phrase about the progress."""
    try:
        async with asyncio.timeout(timeouts.COMMAND_INDEX if connection.outlives_command else None):
            points = (await connection.run("complete"))["points"]
    except TimeoutError:
        return "follows in the background; searches may miss some of it until `status` says that nothing is pending"
    except _INTERRUPTIONS:
        out.notice("Interrupted. Everything is in the journal; the index is completed later.")
        raise
    except WITHOUT_INDEX as error:
        out.notice(error.sentence)
        return (
            "pending: the entries are safe in the journal, and are indexed as soon as a server or a command "
            "finds the model and the engine working"
        )
    return f"complete: {out.counted(points, 'vector')}"


@asynccontextmanager
async def open_connection(
    settings: Settings, command: str, load: Callable[[], Embedder] | None = None
) -> AsyncIterator[Connection]:
    """Connect to the hub; start it if none runs, and replace one that runs older code.

    If no hub can run and `load` is given, a function that returns a loaded model, this process opens the data under the
    command's name. Raises `AlreadyRunningError` if another process has locked the data, `DeadlineExceededError` if the
    hub hangs, `StorageUnavailableError` if it cannot be used, and `UntrustedSocketError` if another user could listen.
    """
    patience = timeouts.COMMAND_SEARCH_HUB if command.endswith("search") else timeouts.COMMAND_HUNG_AFTER
    if hub := _reach_hub(settings, STARTS_HUB and load is None, patience):
        try:
            yield Connection(hub.operate, settings, outlives_command=True)
        finally:
            hub.close()
        return
    from learning_memory_server.server.composition.services import open_services
    from learning_memory_server.server.operations import operate

    purpose = f"learning-memory-server {command}"
    async with open_services(settings, purpose=purpose, load=load) as services:
        yield Connection(partial(operate, services), settings)


def _reach_hub(settings: Settings, may_start: bool, patience: float) -> HubClient | None:
    """Return the hub, None if this process has to open the data itself."""
    if not socket_security.has_hubs():
        return None
    who = holder_of(settings)
    can_be_reached = may_start if who is None else "socket" in who
    if not can_be_reached:
        return None
    place = discovery.HubPaths(os.environ)
    try:
        with out.working("Connecting to the hub"):
            connection = HubLink(place, hello_of(place, "command"), out.notice, patience=patience).connect()
    except StorageUnavailableError as error:
        if holder_of(settings):
            raise
        out.notice(f"{error.sentence} This command works without a hub; sessions wait until it has ended.")
        return None
    # Without a `wait` that ends the attempt, a connection exists now.
    if connection:
        connection.close()
    return find_hub(place, hung_after=timeouts.OPERATION_SILENT)
