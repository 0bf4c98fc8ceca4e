"""Folder locks: one process at a time may write. The kernel releases a lock when its process ends."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from learning_memory_server.errors import AlreadyRunningError, LockUnavailableError
from learning_memory_server.system import file_locks, files
from learning_memory_server.system.paths import LOCK

_WAIT: Final = "Wait until it ends."
_RETRY_SECONDS: Final = 0.02
"""Seconds between attempts: much longer than `holder` takes."""


@contextmanager
def hold(journal: Path, storage: Path, purpose: str, *, socket: Path | None = None) -> Iterator[None]:
    """Lock the journal folder and the storage folder until the block ends.

    The order is fixed, so that two processes cannot each lock one of them. If both are one folder, it is locked once.

    Raises:
        AlreadyRunningError: If another process has locked either folder; the message says which.
        LockUnavailableError: If a lock file cannot be created or opened.
    """
    hint = f"{_WAIT} Or use the tools through it. The reading commands (list, status, values) still work."
    with ExitStack() as locks:
        locks.enter_context(exclusive(journal, purpose, name="the journal folder", socket=socket, hint=hint))
        # A link may give the same folder two names.
        if storage.resolve() != journal.resolve():
            locks.enter_context(
                exclusive(storage, purpose, name="the storage folder", socket=socket, hint=hint)
            )
        yield


@contextmanager
def exclusive(
    folder: Path,
    purpose: str,
    *,
    name: str = "the folder",
    socket: Path | None = None,
    hint: str = _WAIT,
) -> Iterator[None]:
    """Lock a folder, which is created if need be, for this process until the block ends.

    Others that find the folder locked are shown the `purpose`, and what to do as a `hint`. Messages call it by its
    `name`. `socket` is where this process listens, if it serves others.

    Raises:
        AlreadyRunningError: If another process has locked it; the message says which.
        LockUnavailableError: If the lock file cannot be created or opened.
    """
    try:
        files.make_private_directory(folder)
        descriptor = _open_lock(folder / LOCK, os.O_CREAT)
    except OSError as error:
        raise LockUnavailableError(
            f"{name.capitalize()} could not be locked ({error.strerror or type(error).__name__}).",
            hint="Run `learning-memory-server doctor` to see the folders, their permissions and free space.",
        ) from error
    try:
        if not try_lock(descriptor):
            raise AlreadyRunningError(
                f"{describe_holder(folder) or 'Another process'} is using {name} {folder}.", hint=hint
            )
        _describe(descriptor, {"purpose": purpose, **({"socket": str(socket)} if socket else {})})
        yield
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _open_lock(path: Path, create: int = 0) -> int:
    try:
        return os.open(path, os.O_RDWR | create | files.PLAIN, 0o600)
    except OSError as error:
        # Where nothing can be written, one process at a time can still read what is there.
        if error.errno not in (errno.EROFS, errno.EACCES):
            raise
        return os.open(path, os.O_RDONLY | files.PLAIN)


def name_socket(folder: Path, socket: Path) -> None:
    """Say in the lock file of a folder that this process has locked where it listens."""
    about = holder(folder) or {}
    with suppress(OSError):
        descriptor = os.open(folder / LOCK, os.O_WRONLY | files.PLAIN)
        try:
            _describe(descriptor, {**about, "socket": str(socket)})
        finally:
            os.close(descriptor)


def _describe(descriptor: int, about: dict[str, object]) -> None:
    # Only for people: the lock itself decides, and it cannot go stale. A full disk must not prevent anyone from
    # freeing space.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        os.write(descriptor, json.dumps({"pid": os.getpid(), **about}).encode())


def try_lock(descriptor: int, pause: Callable[[float], None] = time.sleep) -> bool:
    """Lock an open file until its descriptor is closed. Return False if another process has locked it.

    It retries long enough to outlast a process that only checks who has the lock (`holder`).
    """
    for last in (False, False, True):
        try:
            file_locks.lock(descriptor)
        except BlockingIOError:
            if last:
                return False
            pause(_RETRY_SECONDS)
        else:
            break
    return True


def holder(folder: Path) -> dict[str, object] | None:
    """Return how the process that has locked the folder describes itself ({pid, purpose, socket?}); None if it is free.

    Raises:
        LockUnavailableError: If the lock file cannot be opened.
    """
    try:
        descriptor = _open_lock(folder / LOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise LockUnavailableError(
            f"The lock file {folder / LOCK} could not be opened ({error.strerror}).",
            hint="It must be a file that this user may read and write.",
        ) from error
    try:
        # A shared lock is refused only while another process has the exclusive one.
        file_locks.lock(descriptor, shared=True)
    except BlockingIOError:
        try:
            written = json.loads(os.read(descriptor, 4096))
        except ValueError:
            written = None
        return written if isinstance(written, dict) else {}
    else:
        return None
    finally:
        os.close(descriptor)


def describe_holder(folder: Path) -> str | None:
    """Return which process has locked the folder, in words; None if it is free."""
    who = holder(folder)
    if who is None:
        return None
    return f"Another process ({who.get('purpose')}, process {who.get('pid')})" if who else "Another process"
