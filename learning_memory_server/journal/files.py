"""Durable writes: what these functions return from has reached the disk. And what is there."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, Protocol

from learning_memory_server.errors import JournalUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PLAIN: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""How every file is opened: not for children, and without Windows' translation of line ends."""
TEMPORARY: Final = ".tmp"
"""The end of the name that a file has until it is whole."""
_BLOCK: Final = 512
"""Bytes: the unit of st_blocks, whatever the file system's own."""


class System(Protocol):
    """What is asked of the operating system: the module `os`, or something that fails where it is told to."""

    def mkdir(self, path: Path, mode: int, /) -> None: ...  # noqa: D102 - as in `os`
    def open(self, path: Path, flags: int, mode: int = ..., /) -> int: ...  # noqa: D102
    def write(self, descriptor: int, data: memoryview, /) -> int: ...  # noqa: D102
    def fsync(self, descriptor: int, /) -> None: ...  # noqa: D102
    def ftruncate(self, descriptor: int, length: int, /) -> None: ...  # noqa: D102
    def replace(self, source: Path, destination: Path, /) -> None: ...  # noqa: D102
    def unlink(self, path: Path, /) -> None: ...  # noqa: D102


class Disk(Protocol):
    """Where a journal writes: this module is one."""

    def append(self, path: Path, data: bytes, /) -> None:
        """Add `data` to the end of the file and wait for the disk."""

    def replace(self, path: Path, data: bytes, /) -> None:
        """Put `data` in the file's place, so that a crash leaves either the old or the new content."""

    def remove(self, path: Path, /) -> None:
        """Remove the file; a missing one is as good as removed."""

    def truncate(self, path: Path, size: int, /) -> None:
        """Cut the file off at `size` bytes."""


@contextmanager
def journal_errors(path: Path) -> Iterator[None]:
    """Translate the operating system's refusals into a sentence that says what to do.

    Raises:
        JournalUnavailableError: In place of any `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise JournalUnavailableError(
            f"The journal could not be used ({error.strerror or type(error).__name__}: {path.name}).",
            hint="Run `learning-memory-server doctor` to see the journal's folder, its permissions and free space.",
        ) from error


def make_private_directory(path: Path, *, system: System = os) -> None:
    """Create the directory and the parents it needs for their owner alone; existing ones stay as they are."""
    # mkdir gives its mode to the last directory only.
    for directory in (*reversed(path.parents), path):
        if not directory.exists():
            with suppress(FileExistsError):
                system.mkdir(directory, 0o700)
                # A file in it cannot survive a power loss that its directory does not survive. Some directories
                # may be written in, but not opened for that.
                with suppress(PermissionError):
                    sync_directory(directory.parent, system=system)


def append(path: Path, data: bytes, *, system: System = os) -> None:
    """Add `data` to the end of the file and wait for the disk; on failure nothing of it remains."""
    with journal_errors(path):
        make_private_directory(path.parent, system=system)
        is_new = not path.exists()
        descriptor = system.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | PLAIN, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, data, system)
                system.fsync(descriptor)
                if is_new:
                    sync_directory(path.parent, system=system)
            except OSError:
                system.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)


def replace(path: Path, data: bytes, *, system: System = os) -> None:
    """Put `data` in the file's place, so that a crash leaves either the old or the new content."""
    with journal_errors(path):
        make_private_directory(path.parent, system=system)
        temporary = path.with_name(path.name + TEMPORARY)
        descriptor = system.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | PLAIN, 0o600)
        try:
            _write_all(descriptor, data, system)
            system.fsync(descriptor)
        finally:
            os.close(descriptor)
        system.replace(temporary, path)
        sync_directory(path.parent, system=system)


def remove(path: Path, *, system: System = os) -> None:
    """Remove the file; a missing one is as good as removed."""
    with journal_errors(path):
        with suppress(FileNotFoundError):
            system.unlink(path)
        # Also when it was missing: an earlier try may have ended before this.
        if path.parent.is_dir():
            sync_directory(path.parent, system=system)


def truncate(path: Path, size: int, *, system: System = os) -> None:
    """Cut the file off at `size` bytes."""
    with journal_errors(path):
        descriptor = system.open(path, os.O_WRONLY | PLAIN)
        try:
            system.ftruncate(descriptor, size)
            system.fsync(descriptor)
        finally:
            os.close(descriptor)


def sync_directory(path: Path, *, system: System = os) -> None:
    """Make created, renamed and removed names in the directory survive a power loss."""
    if os.name == "nt":
        # Windows opens no directories; its file system keeps a journal of names.
        return
    descriptor = system.open(path, os.O_RDONLY | PLAIN)
    try:
        system.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_at(path: Path, descriptor: int) -> bool:
    """Tell whether the path still names the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def matching(folder: Path, pattern: str) -> list[Path]:
    """Return what in the folder has a name like the pattern, by name; nothing if the folder is not there yet.

    Not by `Path.glob`: to it, a folder that may not be read is an empty one.

    Raises:
        JournalUnavailableError: If the folder cannot be read, or is none.
    """
    with journal_errors(folder):
        try:
            found = sorted(folder.iterdir())
        except FileNotFoundError:
            # A link to nowhere, as to a disk that is not mounted, is no folder that is yet to be made.
            if folder.is_symlink():
                raise
            return []
    return [path for path in found if fnmatchcase(path.name, pattern)]


def disk_use(folder: Path) -> int:
    """Return the bytes that a folder's files take on the disk; what disappears meanwhile does not count.

    Files of the engine have holes, so their lengths say too much.
    """
    total = 0
    for path in folder.rglob("*") if folder.is_dir() else ():
        try:
            found = path.stat()
        except OSError:
            continue
        # Windows knows no blocks.
        total += found.st_blocks * _BLOCK if hasattr(found, "st_blocks") else found.st_size
    return total


def _write_all(descriptor: int, data: bytes, system: System) -> None:
    view = memoryview(data)
    while view:
        view = view[system.write(descriptor, view) :]
