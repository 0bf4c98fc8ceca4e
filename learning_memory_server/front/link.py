"""Coming to the hub: find it, start it if there is none, and make sure that it is the right one."""

from __future__ import annotations

import json
import os
import random
import select
import socket
import sys
import time
from contextlib import suppress

from learning_memory_server import rendezvous
from learning_memory_server.errors import (
    JournalUnavailableError,
    LearningMemoryError,
    StorageUnavailableError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Final

CONNECT_SECONDS: Final = 25.0
"""How long a hub may take to start before the front gives an error."""
_DEATHS_MAX: Final = 5
"""How many hubs in a row may end before their ack: then something is broken, and another one would not help."""
_STILLBORN_MAX: Final = 6
"""How many hubs may be started without one that holds the data."""
_ACK_SECONDS: Final = 20.0
_DRAIN_SECONDS: Final = 20.0
_SPAWN_AGAIN: Final = 0.5
"""Seconds after which a hub that was started and is not there is started once more."""


class HubLink:
    """Makes connections to the hub.

    Args:
        place: Which hub.
        hello: What this front is; see `rendezvous`.
        say: Shows a sentence to the person who reads the client's log.
        connect_seconds: See `CONNECT_SECONDS`.
    """

    def __init__(
        self,
        place: rendezvous.Place,
        hello: dict[str, Any],
        say: Any,  # noqa: ANN401 - a function of a sentence; Callable would be an import
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        self._place = place
        self._hello = hello
        self._say = say
        self._connect_seconds = connect_seconds
        self._told: set[str] = set()

    def connect(self) -> socket.socket:
        """Return a connection whose hub has said that it is the right one.

        Raises:
            LearningMemoryError: If there is no hub after `CONNECT_SECONDS`, or hubs end as soon as they are
                started; the message says why.
        """
        deadline = time.monotonic() + self._connect_seconds
        spawn_at, pause, deaths, spawned = 0.0, 0.005, 0, 0
        in_vain = False
        while time.monotonic() < deadline and not in_vain:
            connection = self._try_connect()
            if connection is not None:
                ack = self._greet(connection, min(time.monotonic() + _ACK_SECONDS, deadline))
                if ack is not None and self._accept(connection, ack):
                    return connection
                # One that is silent until the deadline hangs; one that closes the connection has ended.
                deaths += ack is None and time.monotonic() < deadline
                in_vain = deaths >= _DEATHS_MAX
                connection.close()
            elif time.monotonic() >= spawn_at:
                in_vain = spawned >= _STILLBORN_MAX and self._holder() is None
                spawn_hub(self._place)
                spawned += 1
                spawn_at = time.monotonic() + _SPAWN_AGAIN
            # Jitter, so that many fronts do not all come back in the same moment.
            time.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
            pause = min(pause * 1.3, 0.2)
        raise self._why(in_vain=in_vain or deaths > 0)

    def _try_connect(self) -> socket.socket | None:
        for path in self._place.sockets():
            connection = socket.socket(socket.AF_UNIX)
            try:
                connection.connect(str(path))
            except OSError:
                connection.close()
            else:
                return connection
        return None

    def _greet(self, connection: socket.socket, deadline: float) -> dict[str, Any] | None:
        """Send the hello and return the ack. A dying hub's backlog accepts connections that nobody will serve."""
        try:
            connection.sendall(json.dumps(self._hello).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n"):
                ready, _, _ = select.select([connection], [], [], max(0.0, deadline - time.monotonic()))
                received = connection.recv(1) if ready else b""
                if not received:
                    return None
                line += received
            ack = json.loads(line)
        except (OSError, ValueError):
            return None
        return ack if isinstance(ack, dict) else None

    def _accept(self, connection: socket.socket, ack: dict[str, Any]) -> bool:
        if ack.get("refused"):
            connection.close()
            raise StorageUnavailableError(f"The memory hub refused this session: {ack['refused']}.")
        if rendezvous.is_newer(self._hello["build"], ack["build"]):
            self._say(f"Asking the hub (process {ack['pid']}) to make room for a newer version.")
            # It closes the connection when its calls are done and its data is on the disk; or at once, if
            # another front has asked it before.
            connection.settimeout(_DRAIN_SECONDS)
            with suppress(OSError):
                connection.sendall(rendezvous.DRAIN)
                while connection.recv(4096):
                    pass
            return False
        if ack["settings"] != self._place.settings and "settings" not in self._told:
            self._told.add("settings")
            self._say(
                "The running hub was started with other settings than this session's, and keeps them. "
                "Run `learning-memory-server hub stop` to start it anew."
            )
        for sentence in ack.get("notices", ()):
            if sentence not in self._told:
                self._told.add(sentence)
                self._say(sentence)
        return True

    def _why(self, *, in_vain: bool) -> LearningMemoryError:
        # Hubs that end at once hold the data for a moment, too; the last of them is not what is in the way.
        holder = None if in_vain else self._holder()
        if holder:
            return StorageUnavailableError(
                f"The memory hub could not be started: {holder} holds the data and serves nobody else.",
                hint="Wait until it ends, as an import does by itself, and call again.",
            )
        reason = _last_words(self._place.storage)
        return StorageUnavailableError(
            f"The memory hub could not be started. {reason}".rstrip(),
            hint="Run `learning-memory-server hub logs` and `learning-memory-server doctor` to see why.",
        )

    def _holder(self) -> str | None:
        from learning_memory_server.journal.lock import describe_holder  # noqa: PLC0415 - only in trouble

        # A folder that cannot be used has nobody to name.
        with suppress(JournalUnavailableError):
            return describe_holder(self._place.journal) or describe_holder(self._place.storage)
        return None


def _last_words(storage: Path) -> str:
    """Return the sentence that a hub ended with, if its log has one."""
    try:
        lines = (storage / "hub.log").read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return ""
    except OSError:
        return "Its storage folder cannot be used."
    last = lines[-1] if lines else ""
    prefix = "learning-memory-server hub: "
    return last.removeprefix(prefix) if last.startswith(prefix) else ""


def spawn_hub(place: rendezvous.Place) -> None:
    """Start a hub that belongs to nobody: its own session, no parent to wait for it, no inherited streams."""
    program = place.newest_program()
    environment = {
        **os.environ,
        "LEARNING_MEMORY_STORAGE_PATH": str(place.storage),
        "LEARNING_MEMORY_JOURNAL_PATH": str(place.journal),
        # The hub runs in /, where a checkout that is not installed would not be found.
        "PYTHONPATH": os.pathsep.join(filter(None, [program["folder"], os.environ.get("PYTHONPATH")])),
    }
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    # In the child: nothing may return from here, or there would be two fronts.
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        log = _open_log(place.storage, null)
        for descriptor, target in ((null, 0), (null, 1), (log, 2)):
            os.dup2(descriptor, target)
        os.closerange(3, 256)
        executable = program["executable"]
        os.execve(executable, [executable, "-m", "learning_memory_server", "hub", "run"], environment)  # noqa: S606
    finally:
        os._exit(127)


def _open_log(storage: Path, instead: int) -> int:
    try:
        storage.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(storage / "hub.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    except OSError:
        # The hub will find the folder unusable, and the front says so.
        return instead
