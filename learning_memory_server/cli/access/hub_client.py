"""A command's requests to a running hub, and its end; nothing here starts one."""

import asyncio
import json
import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from learning_memory_server.cli import out
from learning_memory_server.errors import (
    DeadlineExceededError,
    LearningMemoryError,
    RefusedSocketError,
    StorageUnavailableError,
    error_from_body,
)
from learning_memory_server.hub.front.link import hello_of
from learning_memory_server.system import locations, timeouts
from learning_memory_server.system.ipc import discovery, socket_security
from learning_memory_server.system.locking import holder, is_locked_by
from learning_memory_server.system.paths import LOCK

_LOOK_SECONDS: Final = 0.05


class HubClient:
    """Sends requests to the hub of a `place`, each over its own connection, while it gives signs of life."""

    def __init__(self, place: discovery.Place, path: Path, connection: socket.socket, hung_after: float) -> None:
        self.place = place
        self._path = path
        self._first: socket.socket | None = connection
        self._hung_after = hung_after
        self._hello = hello_of(place, "control")

    def control(self, command: str, **fields: object) -> dict[str, Any]:
        """Send the hub `status`, `stop` or an operation, and return its reply or raise its error, however late.

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
                # Wakes a thread that still waits for the hub.
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

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
            # A hub of another version may reply in another form.
            raise LearningMemoryError(
                f"The hub's reply was not understood ({error!r}).",
                hint="Run `learning-memory-server hub stop`; the next session starts a hub of the current version.",
            ) from error


def find_hub(
    place: discovery.Place | None = None, *, hung_after: float = timeouts.COMMAND_HUNG_AFTER
) -> HubClient | None:
    """Return the hub that owns the data, by default that of the environment's settings, or None if none runs.

    Raises `DeadlineExceededError` and `UntrustedSocketError`.
    """
    if not socket_security.has_hubs():
        return None
    place = place or discovery.Place(os.environ)
    hung_after = min(hung_after, timeouts.STILL_SILENT) if place.is_silent() else hung_after
    for path in place.sockets():
        connection = _connect(path, place, hung_after)
        if connection is not None:
            return HubClient(place, path, connection, hung_after)
    return None


def _connect(path: Path, place: discovery.Place, hung_after: float) -> socket.socket | None:
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


def _hangs(place: discovery.Place, hung_after: float) -> LearningMemoryError:
    pid = (holder(place.journal) or {}).get("pid")
    return DeadlineExceededError(
        f"The hub (process {pid or 'unknown'}) has given no sign of life for {hung_after:g} seconds.",
        hint="Try again. If that does not help, end it"
        + (f" (kill -KILL {pid})" if pid else "")
        + ": nothing that it acknowledged is lost, and the next session starts another.",
    )


def stop_running_hub(term_seconds: float = timeouts.HUB_TERM) -> int | None:
    """Stop the hub that has locked the data of these settings, and return its process id; None if none has.

    It is asked, then gets SIGTERM, and is killed after `term_seconds`; acknowledged writes are safe. Raises
    `DeadlineExceededError` if it does not end, and `StorageUnavailableError` if the holder is not certain.
    """
    place = discovery.Place(os.environ)
    # Whatever is wrong with the socket or with what listens there, the lock decides which process is the hub.
    try:
        if hub := find_hub(place):
            until = time.monotonic() + timeouts.HUB_END
            pid: int = hub.control("stop")["pid"]
            if _has_released(place, pid, until):
                return pid
    except RefusedSocketError:
        raise  # Nothing is wrong with the hub
    except LearningMemoryError:
        pass
    return _end_holder(place, term_seconds)


def _has_released(place: discovery.Place, pid: int, until: float) -> bool:
    """Return whether a process released the data by then."""
    while (holder(place.journal) or {}).get("pid") == pid:
        if time.monotonic() > until:
            return False
        time.sleep(_LOOK_SECONDS)
    return True


def _end_holder(place: discovery.Place, term_seconds: float) -> int | None:
    who = holder(place.journal)
    if who is None or "socket" not in who:
        return None
    pid = who.get("pid")
    for number, seconds in ((signal.SIGTERM, term_seconds), (signal.SIGKILL, timeouts.HUB_KILLED)):
        # What the lock file says is only what a process has written, and process ids are reused.
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
