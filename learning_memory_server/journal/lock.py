"""The oracle of who may write: a kernel lock that ends with the process that holds it."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from learning_memory_server.errors import AlreadyRunningError, JournalUnavailableError
from learning_memory_server.journal import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

_NAME = ".lock"
_LOOK_SECONDS = 0.02
"""Much longer than `holder` takes."""
_FAR = 1 << 30


@contextmanager
def hold(directories: Iterable[Path], purpose: str, *, socket: Path | None = None) -> Iterator[None]:
    """Hold the journal's and the storage's directory until the block ends.

    Always in the order given, so that two processes cannot each hold one; once, if they are the same.

    Raises:
        AlreadyRunningError: If another process holds one of them; the message says which.
    """
    with ExitStack() as held:
        for directory in dict.fromkeys(directories):
            held.enter_context(exclusive(directory, purpose, socket=socket))
        yield


@contextmanager
def exclusive(directory: Path, purpose: str, *, socket: Path | None = None) -> Iterator[None]:
    """Hold the directory for this process until the block ends.

    Args:
        directory: The directory to hold; it is created.
        purpose: What the holder is doing, shown to those who find it held.
        socket: Where the holder listens, if it serves others.

    Raises:
        AlreadyRunningError: If another process holds it; the message says which.
    """
    with files.journal_errors(directory / _NAME):
        files.make_private_directory(directory)
        descriptor = os.open(directory / _NAME, os.O_RDWR | os.O_CREAT | files.PLAIN, 0o600)
    try:
        if not try_lock(descriptor):
            raise AlreadyRunningError(
                f"{describe_holder(directory) or 'Another process'} is using {directory}.",
                hint="Wait until it ends, or use the tools through it. Reading commands (list, status, values) "
                "work meanwhile.",
            )
        # Only for people: the lock itself is what counts, and it cannot go stale. A full disk keeps nobody from
        # what may free it.
        about = {"pid": os.getpid(), "purpose": purpose, **({"socket": str(socket)} if socket else {})}
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps(about).encode())
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def try_lock(descriptor: int) -> bool:
    """Lock the file until its descriptor is closed, and tell whether that went: not if another process has it locked.

    It is tried for long enough that somebody who only looks at who holds it (`holder`) is gone again.
    """
    for last in (False, False, True):
        try:
            _lock(descriptor)
        except BlockingIOError:
            if last:
                return False
            time.sleep(_LOOK_SECONDS)
        else:
            break
    return True


def _lock(descriptor: int, *, shared: bool = False) -> None:
    """Lock the file until its descriptor is closed, if nobody else has: `BlockingIOError`."""
    if sys.platform != "win32":
        import fcntl  # noqa: PLC0415 - absent on Windows

        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return
    import msvcrt  # noqa: PLC0415 - absent elsewhere

    # What is locked there cannot be read, so it is a byte far behind what is written. There are no shared locks.
    os.lseek(descriptor, _FAR, os.SEEK_SET)
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except OSError as error:
        raise BlockingIOError from error
    finally:
        os.lseek(descriptor, 0, os.SEEK_SET)


def holder(directory: Path) -> dict[str, object] | None:
    """Return what the present holder wrote about itself ({pid, purpose}), or None if nobody holds it.

    Raises:
        JournalUnavailableError: If that cannot be seen, because the lock file cannot be opened.
    """
    try:
        descriptor = os.open(directory / _NAME, os.O_RDWR | files.PLAIN)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise JournalUnavailableError(
            f"Who holds the data cannot be seen: {directory / _NAME} could not be opened ({error.strerror}).",
            hint="It needs to be a file that this user may read and write.",
        ) from error
    try:
        # A shared request fails exactly while somebody holds the exclusive lock.
        _lock(descriptor, shared=True)
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


def describe_holder(directory: Path) -> str | None:
    """Return who holds the directory, in words, or None if nobody does.

    Raises:
        JournalUnavailableError: See `holder`.
    """
    who = holder(directory)
    if who is None:
        return None
    return f"Another process ({who.get('purpose')}, process {who.get('pid')})" if who else "Another process"
