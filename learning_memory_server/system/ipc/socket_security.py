"""Verify that a socket's folder and the process at the other end belong to this user, before anything is sent."""

from __future__ import annotations

import os
import socket
import stat
import struct
import sys

from learning_memory_server.errors import InvalidSettingsError, RefusedSocketError, UntrustedSocketError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any, Final

_CREDENTIALS: Final = "3i"  # The kernel's `struct ucred`: process, user, group


def has_hubs() -> bool:
    """Return whether this system has what a hub needs: Unix sockets, and `fork`."""
    return hasattr(socket, "AF_UNIX") and hasattr(os, "fork")


def prepare_folder(folder: Path) -> None:
    """Create the socket's folder for this user alone, or check the one that exists."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        # A link or a file in its place has a sentence that says more.
        check_folder(folder)
        raise InvalidSettingsError(
            f"The folder for the hub's socket cannot be created ({error.strerror}).",
            hint="Set XDG_RUNTIME_DIR to a folder that you own, or start with --direct.",
        ) from error
    check_folder(folder)


def check_folder(folder: Path) -> None:
    """Check that the socket's folder is a directory of this user alone, or missing; else `UntrustedSocketError`."""
    try:
        state = folder.lstat()
    except OSError:
        return  # Nobody can listen in it
    if stat.S_ISLNK(state.st_mode):
        problem = "is a symbolic link"
    elif not stat.S_ISDIR(state.st_mode):
        problem = "is not a directory"
    elif state.st_uid != os.geteuid():
        problem = f"belongs to another user (uid {state.st_uid})"
    elif state.st_mode & 0o077:
        problem = f"is open to other users (mode {state.st_mode & 0o777:o})"
    else:
        return
    raise UntrustedSocketError(
        f"{folder}, the folder of the hub's socket, {problem}, so it is not used.",
        hint="Remove it, make it private (chmod 700), or set XDG_RUNTIME_DIR to a folder that only you can use.",
    )


def is_private(folder: Path) -> bool:
    """Return whether `check_folder` passes."""
    try:
        check_folder(folder)
    except UntrustedSocketError:
        return False
    return True


def connect(path: Path, timeout: float | None = None) -> socket.socket:
    """Connect to the hub's socket, and check that it is this user's, else `UntrustedSocketError`.

    `timeout` is the seconds for the connection and for each read and write; None waits. Raises `OSError` if no hub
    listens or its queue is full, and `RefusedSocketError` in a sandbox.
    """
    check_folder(path.parent)
    try:
        connection = socket.socket(socket.AF_UNIX)
    except PermissionError as error:
        raise _refused(error) from error
    try:
        connection.settimeout(timeout)
        connection.connect(str(path))
        user = user_of(connection)
    except OSError as error:
        connection.close()
        if isinstance(error, PermissionError):
            raise _refused(error) from error
        raise
    if user != os.geteuid():
        connection.close()
        raise UntrustedSocketError(
            f"Another user (uid {user}) listens at {path}, so nothing was sent to the hub.",
            hint="Remove that socket, or set XDG_RUNTIME_DIR to a folder that only you can use.",
        )
    return connection


def _refused(error: PermissionError) -> RefusedSocketError:
    return RefusedSocketError(
        f"This process may not use the hub's socket ({error.strerror}), as in a sandbox.",
        hint="Let the sandbox permit Unix sockets, or start with --direct, which needs none: one session at a time.",
    )


def user_of(connection: socket.socket) -> int:
    """Return the effective user id of the process at the other end of a Unix socket. Raises `OSError` if unknown."""
    if sys.platform == "linux":
        size = struct.calcsize(_CREDENTIALS)
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
        user: int = struct.unpack(_CREDENTIALS, credentials)[1]
        return user
    import ctypes

    return user_by_getpeereid(connection, ctypes.CDLL(None, use_errno=True))


def user_by_getpeereid(connection: socket.socket, library: Any) -> int:
    """Return what `getpeereid` says, for macOS and the BSDs. No test has run with the C library of macOS."""
    import ctypes

    user, group = ctypes.c_uint32(), ctypes.c_uint32()
    if library.getpeereid(connection.fileno(), ctypes.byref(user), ctypes.byref(group)):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return user.value
