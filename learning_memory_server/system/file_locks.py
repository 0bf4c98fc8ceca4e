"""Locks of the operating system on open files: what differs between Linux, macOS and Windows.

Only Linux runs the tests. What the other systems do is written from their documentation.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from learning_memory_server.system import timeouts

_FAR: Final = 1 << 30


def lock(descriptor: int, *, shared: bool = False) -> None:
    """Lock an open file until its descriptor is closed.

    Args:
        descriptor: The open file.
        shared: Take a lock that others can share. Windows has none; there, every lock excludes the others.

    Raises:
        BlockingIOError: If another process has locked it.
    """
    if sys.platform != "win32":
        import fcntl  # noqa: PLC0415 - absent on Windows

        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return
    import msvcrt  # noqa: PLC0415 - absent elsewhere

    lock_far_byte(descriptor, lambda file, size: msvcrt.locking(file, msvcrt.LK_NBLCK, size))


def lock_far_byte(descriptor: int, locking: Callable[[int, int], None]) -> None:
    """Lock one byte far beyond the content, because locked bytes cannot be read on Windows.

    Args:
        descriptor: The open file; its position is 0 afterwards.
        locking: Locks that many bytes at the file's position, or raises `OSError`, as Windows' `msvcrt.locking` does.

    Raises:
        BlockingIOError: If another process has locked it.
    """
    os.lseek(descriptor, _FAR, os.SEEK_SET)
    try:
        locking(descriptor, 1)
    except OSError as error:
        raise BlockingIOError from error
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)


def is_locked_by(path: Path, pid: int) -> bool:
    """Return whether a process of this user has locked the file; False if that cannot be found out."""
    return _has_locked(path, pid) if sys.platform == "linux" else has_open(path, pid)


def has_open(path: Path, pid: int, lsof: str = "lsof") -> bool:
    """Return whether a process has opened a file, according to `lsof`, which macOS has."""
    command = [lsof, "-t", "-a", "-p", str(pid), "--", str(path)]
    try:
        done = subprocess.run(  # noqa: S603 - a program of the system
            command, capture_output=True, text=True, timeout=timeouts.LSOF, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return str(pid) in done.stdout.split()


def _has_locked(path: Path, pid: int) -> bool:
    """Return whether Linux lists a lock on the file among the process's open files."""
    try:
        state = path.stat()
        for descriptor in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - names, not paths
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(f"/proc/{pid}/fd/{descriptor}"), state):  # noqa: PTH116
                    with open(f"/proc/{pid}/fdinfo/{descriptor}", encoding="ascii") as file:  # noqa: PTH123
                        if any(line.startswith("lock:") and " FLOCK " in line for line in file):
                            return True
    except OSError:
        return False
    return False
