"""The socket file that the hub listens on, which others can remove while the hub runs."""

from __future__ import annotations

import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from learning_memory_server import peers
from learning_memory_server.errors import InvalidSettingsError

if TYPE_CHECKING:
    from pathlib import Path

_BACKLOG: Final = 128


class Door:
    """A listening socket and its file. Only the process that has locked the data may have one.

    Args:
        path: The socket file. A stale one is replaced.

    Attributes:
        listener: Listens at the path, or did until the file was removed.

    Raises:
        InvalidSettingsError: If the socket's folder cannot be created, or the socket cannot be bound.
        UntrustedSocketError: If another user could use the folder.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        peers.prepare_folder(path.parent)
        self.listener = self._bind()

    def is_in_place(self) -> bool:
        """Return whether the path still leads to this socket."""
        return self._identity() == self._bound

    def bind_again(self) -> socket.socket:
        """Return a new listener at the path. Connections that were made through the old one stay.

        Raises:
            InvalidSettingsError: If it cannot be bound, or the folder above the socket's is gone as well.
            UntrustedSocketError: If another user could use the folder.
        """
        # After a logout the whole runtime directory is gone, and is not this program's to create.
        if self._path.parent.parent.is_dir():
            peers.prepare_folder(self._path.parent)
        self.listener = self._bind()
        return self.listener

    def close(self) -> None:
        """Stop listening, and remove the file if it is still this socket's."""
        # Checked first: an open socket keeps others from getting its inode number.
        if self.is_in_place():
            self._path.unlink(missing_ok=True)
        self.listener.close()

    def _bind(self) -> socket.socket:
        listener = socket.socket(socket.AF_UNIX)
        try:
            self._path.unlink(missing_ok=True)
            listener.bind(str(self._path))
            self._path.chmod(0o600)
            listener.listen(_BACKLOG)
        except OSError as error:
            listener.close()
            raise InvalidSettingsError(
                f"The hub cannot listen at {self._path} ({error.strerror or error}).",
                hint="Set XDG_RUNTIME_DIR to a folder that only you can use.",
            ) from error
        self._bound = self._identity()
        return listener

    def _identity(self) -> tuple[int, int] | None:
        with suppress(OSError):
            state = self._path.lstat()
            return state.st_dev, state.st_ino
        return None
