"""The way to the hub: find it or start it, and make sure that it is the right one."""

from __future__ import annotations

import json
import os
import random
import select
import socket
import sys
import time
from contextlib import suppress

from learning_memory_server.errors import (
    DeadlineExceededError,
    LearningMemoryError,
    LockUnavailableError,
    StorageUnavailableError,
)
from learning_memory_server.system import locations, ownership, paths, steering, timeouts
from learning_memory_server.system.ipc import discovery, programs, socket_security

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any, Final

    Wait = Callable[[float, socket.socket | None], bool]  # Lets seconds pass, and returns whether a hub is still wanted

_DEATHS_MAX: Final = 5  # Hubs in a row that may end before their ack: another start would not fix it
_FAILED_STARTS_MAX: Final = 6  # How many hubs may be started without any of them locking the data
_FAILURES_OF_ONE: Final = 3  # Starts, and ends before the ack, after which the next program is tried
_DESCRIPTORS: Final = 4096  # Descriptors that a client may have left open


def _sleep(seconds: float, connection: socket.socket | None = None) -> bool:
    select.select([connection] if connection else [], [], [], seconds)
    return True


def hello_of(place: discovery.HubPaths, role: str) -> dict[str, Any]:
    """Return the first line of a connection, see `discovery`. A command's only makes sure of the hub."""
    front = os.urandom(12).hex()
    return {
        "hello": discovery.PROTOCOL_VERSION,
        "role": role,
        "build": programs.this_program(),
        "journal": str(place.journal),
        "storage": str(place.storage),
        "settings": place.settings,
        "project": place.project,
        "directory": os.path.abspath(os.environ.get("CLAUDE_PROJECT_DIR") or locations.working_directory()),
        "session": os.environ.get("CLAUDE_CODE_SESSION_ID") or front,
        "front": front,
        "process": os.getpid(),
        "attended": locations.is_attended(os.environ),
        "variables": [name for name in os.environ if name.startswith(paths.PREFIX)],
    }


class HubLink:
    """Connects to the hub, and starts it if none runs. `say` shows a sentence; `patience` is for a running hub."""

    def __init__(
        self,
        place: discovery.HubPaths,
        hello: dict[str, Any],
        say: Any,
        connect_seconds: float = timeouts.CONNECT,
        patience: float = timeouts.RUNNING_IS_SILENT,
    ) -> None:
        self._place = place
        self._hello = hello
        self._say = say
        self._connect_seconds = connect_seconds
        self._patience_seconds = patience
        self._shown: set[str] = set()
        self._wait: Wait = _sleep

    def connect(self, wait: Wait = _sleep) -> socket.socket | None:
        """Return a connection to a hub that has acknowledged the hello, or None once it is no longer wanted.

        Raises `UntrustedSocketError` if another user listens, or could, `ForeignDataError` if the data is not this
        user's, `DeadlineExceededError` if a hub stays silent, and `StorageUnavailableError` if none can be reached
        within `timeouts.CONNECT`.
        """
        self._wait, self._has_asked = wait, False
        if self._hello["settings"] is not None:
            # As a hub would have them that is started now: the file may have changed.
            with suppress(LearningMemoryError):
                self._hello["settings"] = discovery.HubPaths(os.environ).settings
        begun = time.monotonic()
        deadline = begun + self._connect_seconds
        spawn_at, pause, deaths, spawned = 0.0, 0.005, 0, 0
        is_hopeless = False
        while time.monotonic() < deadline and not is_hopeless:
            connection = self._try_connect()
            if connection is not None:
                silent_until = min(
                    begun + timeouts.SILENT_TIMES * self._connect_seconds, time.monotonic() + self._patience()
                )
                ack = self._greet(connection, silent_until)
                if ack is not None and self._accept(connection, ack):
                    return connection
                connection.close()
                if ack is None and time.monotonic() >= silent_until:
                    locations.note_silence(str(self._place.storage))
                    raise self._silence(time.monotonic() - begun)
                # It has closed the connection, so it has ended.
                deaths += ack is None
                is_hopeless = deaths >= _DEATHS_MAX
            elif time.monotonic() >= spawn_at:
                # A process other than a hub may have locked the data.
                if time.monotonic() >= begun + timeouts.HELD and (who := self._holder()) and "socket" not in who:
                    break
                is_hopeless = spawned >= _FAILED_STARTS_MAX and self._holder() is None
                self._start((spawned + deaths) // _FAILURES_OF_ONE)
                spawned += 1
                spawn_at = time.monotonic() + timeouts.SPAWN_AGAIN
            # Jitter, so that many fronts do not reconnect at the same moment.
            if not wait(pause * random.uniform(0.5, 1.5), None):
                return None
            pause = min(pause * 1.3, 0.2)
        raise self._failure(is_hopeless=is_hopeless or deaths > 0)

    def _patience(self) -> float:
        """Return the seconds that a hub that was reached has for its ack."""
        if self._place.is_silent():
            return min(timeouts.STILL_SILENT, self._patience_seconds)
        # It is recorded once it has imported what it needs and opened the journal.
        begun, served = self._place.journal / paths.LOCK, self._place.storage / programs.RECORD
        is_running = discovery.modified_at(served) > discovery.modified_at(begun)
        return self._patience_seconds if is_running else timeouts.SILENT_TIMES * self._connect_seconds

    def _start(self, failed: int) -> None:
        """Start a hub: of the first program, or of the next one after those that have failed."""
        candidates = programs.to_start(self._place.storage)
        program = candidates[min(failed, len(candidates) - 1)]
        # A hub that runs is better than another end of it for a program that fails.
        self._hello["settles"] = programs.outranks(self._hello["build"], program)
        spawn_hub(self._place, program)

    def _try_connect(self) -> socket.socket | None:
        for path in self._place.sockets():
            with suppress(OSError):
                connection = socket_security.connect(path, timeouts.QUEUE)
                connection.setblocking(True)
                return connection
        return None

    def _greet(self, connection: socket.socket, deadline: float) -> dict[str, Any] | None:
        """Send the hello and return the ack; None from the backlog of a dying hub."""
        try:
            connection.sendall(json.dumps(self._hello).encode() + b"\n")
            line = b""
            while not line.endswith(b"\n"):
                received = self._receive(connection, 1, deadline)
                if not received:
                    return None
                line += received
            ack = json.loads(line)
        except (OSError, ValueError):
            return None
        return ack if isinstance(ack, dict) else None

    def _receive(self, connection: socket.socket, size: int, deadline: float) -> bytes:
        """Return the next bytes; empty if the hub closes the connection, is silent for too long, or is not wanted."""
        while (left := deadline - time.monotonic()) > 0 and self._wait(left, connection):
            with suppress(BlockingIOError):
                return connection.recv(size, socket.MSG_DONTWAIT)
        return b""

    def _accept(self, connection: socket.socket, ack: dict[str, Any]) -> bool:
        if ack.get("refused"):
            connection.close()
            raise StorageUnavailableError(f"The memory hub refused this {self._hello['role']}: {ack['refused']}.")
        kept = ack.get("kept", "")
        # Once: two sessions that start at the same time could end each other's hubs for ever.
        if ack["gives_way"] and not (kept and self._has_asked):
            self._has_asked = bool(kept)
            why = "other settings" if kept else "a newer version"
            self._say(f"Asking the hub (process {ack['pid']}) to shut down for {why}.")
            # It closes the connection when it has ended, or at once if another front has asked before or uses it now.
            with suppress(OSError):
                connection.sendall(discovery.DRAIN)
                deadline = time.monotonic() + timeouts.DRAIN
                while self._receive(connection, 4096, deadline):
                    pass
            return False
        for sentence in (kept, *ack.get("notices", ())):
            if sentence and sentence not in self._shown:
                self._shown.add(sentence)
                self._say(sentence)
        return True

    def _silence(self, seconds: float) -> LearningMemoryError:
        who = self._holder() or {}
        if "socket" not in who:
            return self._failure(is_hopeless=False)
        return DeadlineExceededError(
            f"The memory hub (process {who.get('pid')}) listens, but has not answered for {seconds:.0f} seconds.",
            hint="If it is only slow to start, call again. If it stays silent, run "
            "`learning-memory-server hub stop`: nothing that it acknowledged is lost.",
        )

    def _failure(self, *, is_hopeless: bool) -> LearningMemoryError:
        # Hubs that end at once also lock the data for a moment, but they are not what is in the way.
        who = None if is_hopeless else self._holder()
        if who is not None:
            from learning_memory_server.system.locking import described

            return StorageUnavailableError(
                f"{described(who)} has locked the data, so the memory hub could not be started.",
                hint="Call again when it has finished.",
            )
        reason = _last_sentence(self._place.storage)
        return StorageUnavailableError(
            f"The memory hub could not be started. {reason}".rstrip(),
            hint="Run `learning-memory-server hub logs` and `learning-memory-server doctor` to see why.",
        )

    def _holder(self) -> dict[str, object] | None:
        """Return the process that has locked the data, None if there is none or a folder cannot be used."""
        from learning_memory_server.system.locking import holder

        with suppress(LockUnavailableError):
            found = holder(self._place.journal)
            return holder(self._place.storage) if found is None else found
        return None


def _last_sentence(storage: Path) -> str:
    """Return the sentence with which the last hub ended, if its log has one."""
    from learning_memory_server.system import files

    try:
        lines = files.content(storage / discovery.LOG).decode("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return ""
    except OSError:
        return "Its storage folder cannot be used."
    last = lines[-1] if lines else ""
    prefix = "learning-memory-server hub: "
    return last.removeprefix(prefix) if last.startswith(prefix) else ""


def spawn_hub(place: discovery.HubPaths, program: programs.Program) -> None:
    """Start a hub as a daemon: in its own session, without a parent, and without inherited streams.

    Raises `ForeignDataError` if the data is another user's: its log alone would be a file that the owner cannot open.
    """
    ownership.refuse_foreign(place.journal, place.storage)
    environment = {
        **steering.for_hub(os.environ),
        "LEARNING_MEMORY_STORAGE_PATH": str(place.storage),
        "LEARNING_MEMORY_JOURNAL_PATH": str(place.journal),
        # The hub runs in /, where Python would not find a checkout that is not installed.
        "PYTHONPATH": os.pathsep.join(filter(None, [program["folder"], os.environ.get("PYTHONPATH")])),
    }
    sys.stdout.flush()
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        return
    # The child must never return from here, or there would be two fronts.
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        null = os.open(os.devnull, os.O_RDWR)
        log = _open_log(place.storage, null)
        for descriptor, target in ((null, 0), (null, 1), (log, 2)):
            os.dup2(descriptor, target)
        # A descriptor that the client left open would stay open as long as the hub.
        os.closerange(3, _DESCRIPTORS)
        executable = program["executable"]
        os.execve(executable, [executable, "-m", "learning_memory_server", "hub", "run"], environment)  # noqa: S606
    finally:
        os._exit(127)


def _open_log(storage: Path, instead: int) -> int:
    from learning_memory_server.system import files

    try:
        storage.mkdir(mode=0o700, parents=True, exist_ok=True)
        return files.open_file(storage / discovery.LOG, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    except OSError:
        return instead  # The hub will fail on the same folder, and the front reports that
