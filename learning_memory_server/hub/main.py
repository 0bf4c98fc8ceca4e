"""The hub's process: lock the data, listen, and only then import what is heavy.

Others can remove the socket file that it listens on while it runs.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

from learning_memory_server.errors import AlreadyRunningError, InvalidSettingsError, UntrustedSocketError
from learning_memory_server.server.main import fast_imports
from learning_memory_server.system import locking, paths
from learning_memory_server.system.interrupts import INTERRUPTED, run_and_exit
from learning_memory_server.system.ipc import discovery, socket_security
from learning_memory_server.system.locking import hold
from learning_memory_server.system.paths import APPLICATION

if TYPE_CHECKING:
    from learning_memory_server.system.ipc.discovery import Place


@contextmanager
def open_door(place: Place) -> Iterator[Door]:
    """Listen while the block runs, at the first place that only this user can use.

    If neither of the data's own places is one, or the path of the second is too long for a socket, that is a new folder
    in /tmp, which the lock file of the journal names.
    """
    made: list[Path] = []
    try:
        door = _first_door(place, made)
        if door.path != place.socket:
            locking.name_socket(place.journal, door.path)
        try:
            yield door
        finally:
            door.close()
    finally:
        for folder in made:
            with suppress(OSError):
                folder.rmdir()


def _first_door(place: Place, made: list[Path]) -> Door:
    for path in (place.socket, place.second_socket):
        try:
            return Door(path)
        except (InvalidSettingsError, UntrustedSocketError) as error:
            print(f"learning-memory-server hub: {error.message}", file=sys.stderr)  # noqa: T201 - its log
    made.append(Path(tempfile.mkdtemp(prefix=f"{APPLICATION}-", dir="/tmp")))
    return Door(made[0] / place.socket.name)


class Door:
    """A listening socket and its file, instead of a stale one. Only the process that locks the data has one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        socket_security.prepare_folder(path.parent)
        self.listener = self._bind()

    def is_in_place(self) -> bool:
        """Return whether the path still leads to this socket."""
        return self._identity() == self._bound

    def bind_again(self) -> socket.socket:
        """Return a new listener at the path. Connections that were made through the old one stay."""
        # After a logout the whole runtime directory is gone, and is not this program's to create.
        if self.path.parent.parent.is_dir():
            socket_security.prepare_folder(self.path.parent)
        self.listener = self._bind()
        return self.listener

    def close(self) -> None:
        """Stop listening, and remove the file if it is still this socket's."""
        # Checked first: an open socket keeps others from getting its inode number.
        if self.is_in_place():
            self.path.unlink(missing_ok=True)
        self.listener.close()

    def _bind(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX)
        try:
            self.path.unlink(missing_ok=True)
            listener.bind(str(self.path))
            self.path.chmod(0o600)
            listener.listen(128)
        except OSError as error:
            listener.close()
            raise InvalidSettingsError(
                f"The hub cannot listen at {self.path} ({error.strerror or error}).",
                hint="Set XDG_RUNTIME_DIR to a folder that only you can use.",
            ) from error
        self._bound = self._identity()
        return listener

    def _identity(self) -> tuple[int, int] | None:
        with suppress(OSError):
            state = self.path.lstat()
            return state.st_dev, state.st_ino
        return None


_DESCRIPTORS: Final = 65_536
"""Open files that the hub may have, where the system permits so many."""


def main() -> NoReturn:
    """Run the hub, unless one is running already, then exit the process."""
    run_and_exit(_serve, "learning-memory-server hub")


def _serve() -> int:
    """Serve until the hub is not needed. Return the exit status."""
    place = discovery.Place(os.environ)
    _raise_descriptor_limit()
    try:
        with hold(place.journal, place.storage, "the memory hub", socket=place.socket), open_door(place) as door:
            # Fronts can connect now; they wait for the ack during these imports.
            with fast_imports():
                from learning_memory_server.embedding.loading import load_ahead  # noqa: PLC0415

                # First, so that it is done when the other imports are.
                packaged = load_ahead(paths.raw_settings(os.environ))
                from learning_memory_server.hub.hub import run  # noqa: PLC0415
                from learning_memory_server.server.settings import load_settings  # noqa: PLC0415

                settings = load_settings()
            return INTERRUPTED if run(place, door, settings, packaged) else 0
    except AlreadyRunningError as error:
        # Several fronts may start a hub at once, and this one is not needed.
        print(f"learning-memory-server hub: {error.message}", file=sys.stderr)  # noqa: T201
        return 0


def _raise_descriptor_limit() -> None:
    """Allow as many open files as the system permits, within reason: the engine and every session need some."""
    import resource  # noqa: PLC0415 - absent on Windows, which has no hub

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _DESCRIPTORS)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        # macOS refuses more than its own limit, which is not the hard one.
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
