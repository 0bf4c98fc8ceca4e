"""The oracle of who may write: a kernel lock that ends with the process that holds it."""

from __future__ import annotations

import json
import os
import time
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from learning_memory_server.errors import AlreadyRunningError, InvalidSettingsError
from learning_memory_server.journal import files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_NAME = ".lock"
_LOOK_SECONDS = 0.02
"""Much longer than `holder` takes."""


@contextmanager
def hold(directories: Iterable[Path], purpose: str, *, socket: Path | None = None) -> Iterator[None]:
    """Hold the journal's and the storage's directory until the block ends.

    Always in the order given, so that two processes cannot each hold one; once, if they are the same.

    Raises:
        AlreadyRunningError: If another process holds one of them; the message says which.
        InvalidSettingsError: If the system has no file locks.
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
        InvalidSettingsError: If the system has no file locks.
    """
    try:
        import fcntl  # noqa: PLC0415 - absent on Windows
    except ModuleNotFoundError:
        raise InvalidSettingsError("This system has no flock; only Linux and macOS are supported.") from None

    with files.journal_errors(directory / _NAME):
        files.make_private_directory(directory)
        descriptor = os.open(directory / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not _take(lambda: fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)):
            raise AlreadyRunningError(
                f"{describe_holder(directory) or 'Another process'} is using {directory}.",
                hint="Wait until it ends, or use the tools through it. Reading commands (list, status, values) "
                "work meanwhile.",
            )
        # Only for people: the lock itself is what counts, and it cannot go stale.
        os.ftruncate(descriptor, 0)
        about = {"pid": os.getpid(), "purpose": purpose, **({"socket": str(socket)} if socket else {})}
        os.write(descriptor, json.dumps(about).encode())
        yield
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _take(lock: Callable[[], None]) -> bool:
    """Try to lock, for long enough that somebody who only looks at who holds it (`holder`) is gone again."""
    for last in (False, False, True):
        try:
            lock()
        except BlockingIOError:
            if last:
                return False
            time.sleep(_LOOK_SECONDS)
        else:
            break
    return True


def holder(directory: Path) -> dict[str, object] | None:
    """Return what the present holder wrote about itself ({pid, purpose}), or None if nobody holds it."""
    import fcntl  # noqa: PLC0415 - absent on Windows

    try:
        descriptor = os.open(directory / _NAME, os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        # A shared request fails exactly while somebody holds the exclusive lock.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
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
    """Return who holds the directory, in words, or None if nobody does."""
    who = holder(directory)
    if who is None:
        return None
    return f"Another process ({who.get('purpose')}, process {who.get('pid')})" if who else "Another process"
