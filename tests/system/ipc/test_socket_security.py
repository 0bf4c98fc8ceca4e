import ctypes
import errno
import os
import socket
import subprocess
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import InvalidSettingsError, UntrustedSocketError
from learning_memory_server.system.ipc import socket_security
from tests.processes import python_once

OTHER = 65534
NEEDS_ROOT = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")

LISTEN = """
import os, socket, sys

listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
os.setuid(int(sys.argv[2]))
listener.listen()
print("listening", flush=True)
connection, _ = listener.accept()
print(len(connection.recv(1000)), flush=True)
"""
"""Listens as another user at a path that only this one can create, and prints how many bytes come."""


def listener_of(user: int, path: Path) -> AbstractContextManager[subprocess.Popen[str]]:
    return python_once("listening", LISTEN, path, user)


def test_the_folder_is_created_private(runtime: Path) -> None:
    folder = runtime / "deep" / "folder"
    socket_security.prepare_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    socket_security.prepare_folder(folder)


@pytest.mark.parametrize("mode", [0o750, 0o707, 0o777, 0o701])
def test_a_folder_open_to_others_is_refused(runtime: Path, mode: int) -> None:
    runtime.chmod(mode)
    for check in (socket_security.prepare_folder, socket_security.check_folder):
        with pytest.raises(UntrustedSocketError, match="open to other users") as caught:
            check(runtime)
        assert str(runtime) in caught.value.message
        assert "XDG_RUNTIME_DIR" in caught.value.sentence


@NEEDS_ROOT
def test_a_folder_of_another_user_is_refused(runtime: Path) -> None:
    folder = runtime / "given"
    folder.mkdir(mode=0o700)
    os.chown(folder, OTHER, OTHER)
    for check in (socket_security.prepare_folder, socket_security.check_folder):
        with pytest.raises(UntrustedSocketError, match=f"belongs to another user .uid {OTHER}"):
            check(folder)


@pytest.mark.parametrize("target", ["real", "missing"])
def test_a_link_to_a_folder_is_refused(runtime: Path, target: str) -> None:
    (runtime / "real").mkdir(mode=0o700)
    (runtime / "link").symlink_to(runtime / target)
    for check in (socket_security.prepare_folder, socket_security.check_folder):
        with pytest.raises(UntrustedSocketError, match="symbolic link"):
            check(runtime / "link")


def test_a_file_in_its_place_is_refused(runtime: Path) -> None:
    (runtime / "file").touch()
    with pytest.raises(UntrustedSocketError, match="not a directory"):
        socket_security.prepare_folder(runtime / "file")


def test_a_folder_that_cannot_be_created_is_a_clear_error(runtime: Path) -> None:
    (runtime / "file").touch()
    with pytest.raises(InvalidSettingsError, match="cannot be created"):
        socket_security.prepare_folder(runtime / "file" / "folder")


def test_a_listener_of_this_user_is_used(runtime: Path) -> None:
    with listener_of(os.getuid(), runtime / "s") as process, socket_security.connect(runtime / "s", 60.0) as connection:
        assert socket_security.user_of(connection) == os.getuid()
        connection.sendall(b"hello")
        assert process.stdout
        assert process.stdout.readline() == "5\n"


@NEEDS_ROOT
def test_a_listener_of_another_user_gets_nothing(runtime: Path) -> None:
    with listener_of(OTHER, runtime / "s") as process:
        with pytest.raises(UntrustedSocketError, match=f"uid {OTHER}") as caught:
            socket_security.connect(runtime / "s")
        assert str(runtime / "s") in caught.value.message
        assert process.stdout
        assert process.stdout.readline() == "0\n"


def test_a_socket_in_a_folder_open_to_others_is_not_connected_to(runtime: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(runtime / "s"))
        listener.listen()
        listener.settimeout(0.1)
        runtime.chmod(0o755)
        with pytest.raises(UntrustedSocketError):
            socket_security.connect(runtime / "s")
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.parametrize("path", ["missing", "no folder/socket", "file"])
def test_where_nobody_listens_is_no_question_of_trust(runtime: Path, path: str) -> None:
    (runtime / "file").touch()
    with pytest.raises(OSError, match=r"\[Errno"):
        socket_security.connect(runtime / path)


class Library:
    """A C library whose `getpeereid` does what that of macOS is documented to do."""

    def __init__(self, user: int | None) -> None:
        self._user = user

    def getpeereid(self, descriptor: int, user: Any, group: Any) -> int:
        assert descriptor >= 0
        if self._user is None:
            ctypes.set_errno(errno.ENOTCONN)
            return -1
        user._obj.value, group._obj.value = self._user, 20
        return 0


def test_getpeereid_names_the_user_or_fails_as_the_system_does() -> None:
    ours, its = socket.socketpair()
    with ours, its:
        assert socket_security.user_by_getpeereid(ours, Library(501)) == 501
        with pytest.raises(OSError, match="not connected"):
            socket_security.user_by_getpeereid(ours, Library(None))
