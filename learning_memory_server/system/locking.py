"""Folder locks: one process at a time may write. The kernel releases a lock when its process ends."""

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Final

from learning_memory_server.errors import AlreadyRunningError, ForeignDataError, LockUnavailableError
from learning_memory_server.system import files, ownership, timeouts
from learning_memory_server.system.paths import LOCK

_WAIT: Final = "Wait until it ends."
_RETRY_SECONDS: Final = 0.02  # Seconds between attempts: much longer than `holder` takes


@contextmanager
def hold(journal: Path, storage: Path, purpose: str, *, socket: Path | None = None) -> Iterator[None]:
    """Lock the journal folder, then the storage folder, until the block ends.

    Raises as `exclusive`, and `ForeignDataError` if another user owns the data.
    """
    ownership.refuse_foreign(journal, storage)
    hint = f"{_WAIT} Or use the tools through it. The reading commands (list, status, values) still work."
    with ExitStack() as locks:
        locks.enter_context(exclusive(journal, purpose, name="the journal folder", socket=socket, hint=hint))
        # A link may give the same folder two names.
        if storage.resolve() != journal.resolve():
            locks.enter_context(exclusive(storage, purpose, name="the storage folder", socket=socket, hint=hint))
        yield


@contextmanager
def exclusive(
    folder: Path, purpose: str, *, name: str = "the folder", socket: Path | None = None, hint: str = _WAIT
) -> Iterator[None]:
    """Lock a folder, which is created if need be, for this process until the block ends.

    Other processes are shown the `purpose` and the `hint`; messages use the `name`. `socket` is the address of this
    process, if it serves others. Raises `AlreadyRunningError` if the folder is locked, `LockUnavailableError` if it
    cannot be.
    """
    try:
        files.make_private_directory(folder)
        descriptor = _open_lock(folder / LOCK, os.O_CREAT)
    except OSError as error:
        raise LockUnavailableError(
            f"{name.capitalize()} could not be locked ({error.strerror or type(error).__name__}).",
            doctor=" to see the folders, their permissions and free space",
        ) from error
    try:
        if not try_lock(descriptor):
            raise AlreadyRunningError(f"{described(holder(folder))} is using {name} {folder}.", hint=hint)
        listens = {"socket": str(socket)} if socket else {}
        _describe(descriptor, {"purpose": purpose, "folder": os.path.realpath(folder), **listens})
        yield
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def _open_lock(path: Path, create: int = 0) -> int:
    try:
        return files.open_file(path, os.O_RDWR | create)
    except OSError as error:
        # Where nothing can be written, one process at a time can still read what is there.
        if error.errno not in (errno.EROFS, errno.EACCES):
            raise
        return files.open_file(path)


def name_socket(folder: Path, socket: Path) -> None:
    """Say in the lock file of a folder that this process has locked where it listens."""
    about = holder(folder) or {}
    with suppress(OSError):
        descriptor = files.open_file(folder / LOCK, os.O_WRONLY)
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
    """Lock an open file until its descriptor is closed, after retries; False if another process has locked it."""
    for last in (False, False, True):
        try:
            lock(descriptor)
        except BlockingIOError:
            if last:
                return False
            pause(_RETRY_SECONDS)
        else:
            break
    return True


def holder(folder: Path) -> dict[str, object] | None:
    """Return {pid, purpose, folder, socket?} of the process that has locked the folder; None if it is free."""
    try:
        descriptor = _open_lock(folder / LOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if foreign := ownership.explain_denied(folder / LOCK):
            raise ForeignDataError(foreign) from error
        raise LockUnavailableError(
            f"The lock file {folder / LOCK} could not be opened ({error.strerror}).",
            hint="It must be a file that this user may read and write.",
        ) from error
    try:
        lock(descriptor, shared=True)  # A shared lock is refused only while another process has the exclusive one
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


def described(who: dict[str, object] | None) -> str:
    """Return in words which process has locked a folder; see `holder`."""
    return f"Another process ({who.get('purpose')}, process {who.get('pid')})" if who else "Another process"


_FAR: Final = 1 << 30


def lock(descriptor: int, *, shared: bool = False) -> None:
    """Lock an open file until its descriptor is closed; `BlockingIOError` if another process has locked it.

    Windows has no `shared` locks. Raises `LockUnavailableError` on a file system without locks.
    """
    if sys.platform != "win32":
        import fcntl

        with lock_errors():
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        return
    import msvcrt

    lock_far_byte(descriptor, lambda file, size: msvcrt.locking(file, msvcrt.LK_NBLCK, size))


@contextmanager
def lock_errors() -> Iterator[None]:
    """Turn any `OSError` into a `LockUnavailableError`, but not the `BlockingIOError` of a file that is locked."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        raise LockUnavailableError(
            f"The file system does not lock files ({error.strerror or type(error).__name__}).",
            hint="Set storage_path and journal_path to folders on a local disk.",
        ) from error


def lock_far_byte(descriptor: int, locking: Callable[[int, int], None]) -> None:
    """Lock one byte far beyond the content, because locked bytes cannot be read on Windows; else `BlockingIOError`."""
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
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeouts.LSOF, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return str(pid) in done.stdout.split()


def _has_locked(path: Path, pid: int) -> bool:
    """Return whether Linux lists a lock on the file among the process's open files."""
    try:
        state = path.stat()
        for descriptor in os.listdir(f"/proc/{pid}/fd"):
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(f"/proc/{pid}/fd/{descriptor}"), state):
                    with open(f"/proc/{pid}/fdinfo/{descriptor}", encoding="ascii") as file:
                        if any(line.startswith("lock:") and " FLOCK " in line for line in file):
                            return True
    except OSError:
        return False
    return False
