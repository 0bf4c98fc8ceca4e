"""The socket that the hub listens on. Others can remove its file while the hub runs."""

import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from learning_memory_server.errors import InvalidSettingsError, UntrustedSocketError
from learning_memory_server.system import locking
from learning_memory_server.system.ipc import discovery, socket_security
from learning_memory_server.system.paths import APPLICATION


class Listener:
    """A listening socket and its file, instead of a stale one. Only the process that locks the data has one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        socket_security.prepare_folder(path.parent)
        self.listener = self._bind()

    def is_in_place(self) -> bool:
        """Return whether the path still leads to this socket."""
        return self._identity() == self._bound

    def bind_again(self) -> None:
        """Listen at the path again. Connections that were made through the old listener stay."""
        # After a logout the whole runtime directory is gone, and is not this program's to create.
        if self.path.parent.parent.is_dir():
            socket_security.prepare_folder(self.path.parent)
        self.listener = self._bind()

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


@contextmanager
def open_door(place: discovery.HubPaths) -> Iterator[Listener]:
    """Listen while the block runs, in the first folder of this user alone, else in a new one in /tmp."""
    with ExitStack() as stack:
        door = _usual_door(place)
        if door is None:
            made = stack.enter_context(tempfile.TemporaryDirectory(prefix=f"{APPLICATION}-", dir="/tmp"))
            door = Listener(Path(made) / place.socket.name)
        if door.path != place.socket:
            locking.name_socket(place.journal, door.path)
        stack.callback(door.close)
        yield door


def _usual_door(place: discovery.HubPaths) -> Listener | None:
    for path in (place.socket, place.second_socket):
        try:
            return Listener(path)
        except (InvalidSettingsError, UntrustedSocketError) as error:
            print(f"learning-memory-server hub: {error.message}", file=sys.stderr)  # noqa: T201 - its log
    return None
