"""Durable writes: once a function has returned, its change is on the disk. They raise `OSError`."""

import errno
import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from learning_memory_server.system.locations import write_all

PLAIN: Final = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)  # Not inherited, and no translated line ends
_AS_IT_IS: Final = os.O_RDONLY | PLAIN | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags for a file of somebody else: whatever has taken its place is neither followed nor waited for."""
READ_MAX: Final = 1 << 16  # Bytes of a file of somebody else that is read. Larger ones are data.
_NO_FILE: Final = "not a regular file"
TEMPORARY: Final = ".tmp"  # The suffix of a file that is not complete yet
CACHE_TAG: Final = "CACHEDIR.TAG"
_CACHE_SIGNATURE: Final = (
    b"Signature: 8a477f597d28d172789f06886806bc55\n# learning-memory-server rebuilds this folder.\n"
)
_BLOCK: Final = 512  # Bytes: the unit of st_blocks on every file system


def make_private_directory(path: Path) -> None:
    """Create the directory and its missing parents for their owner alone; existing ones are left as they are."""
    # Every write asks, and six looks at the parents took an eighth of a busy hub's time.
    if path.is_dir():
        return
    # mkdir gives its mode to the last directory only.
    for directory in (*reversed(path.parents), path):
        if not directory.exists():
            with suppress(FileExistsError):
                os.mkdir(directory, 0o700)
                # A file does not survive a power loss that its directory does not survive. Some directories are
                # writable, but cannot be opened for a sync.
                with suppress(PermissionError):
                    sync_directory(directory.parent)


def mark_rebuildable(folder: Path) -> None:
    """Mark a folder as one that programs for backups may leave out, as https://bford.info/cachedir/ specifies."""
    # A store that cannot be written is still read.
    with suppress(OSError):
        if not (folder / CACHE_TAG).exists():
            create(folder / CACHE_TAG, _CACHE_SIGNATURE)


def create(path: Path, data: bytes) -> bool:
    """Create the file with `data`, and return whether that was done: an existing one stays. Nobody sees it in part."""
    temporary = _written(path, data, 0o600)
    try:
        os.link(temporary, path)  # Unlike a renamed one, a linked file takes nobody's place
    except FileExistsError:
        return False
    finally:
        os.unlink(temporary)
    _keep_name(path, is_new=True)
    return True


def open_file(path: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file, and return its descriptor. A pipe that has taken its place would keep us waiting."""
    try:
        descriptor = os.open(path, flags | PLAIN | getattr(os, "O_NONBLOCK", 0), 0o600)
    except OSError as error:
        if error.errno != errno.ENXIO:  # A pipe that nobody reads
            raise
        raise OSError(errno.EINVAL, _NO_FILE, str(path)) from error
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return descriptor
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, _NO_FILE, str(path))


def content(path: Path) -> bytes:
    """Return the content of a regular file of ours."""
    with os.fdopen(open_file(path), "rb") as file:
        return file.read()


def append(path: Path, data: bytes) -> None:
    """Append `data` to the file and wait for the disk. On failure the file is as it was."""
    make_private_directory(path.parent)
    is_new = not path.exists()
    descriptor = open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        size = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
            if is_new:
                sync_directory(path.parent)
        except OSError:
            os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)


def replace(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace the file's content and mode. A crash or a failure leaves the old or the new, and no temporary file."""
    is_new = not path.exists()
    if not (is_new or path.is_file() or path.is_dir()):
        raise OSError(errno.EINVAL, _NO_FILE, str(path))  # A device, such as /dev/null
    temporary = _written(path, data, mode)
    try:
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _keep_name(path, is_new=is_new)


def _written(path: Path, data: bytes, mode: int) -> Path:
    """Write a new file with a random name beside another one, and return its path."""
    make_private_directory(path.parent)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}{TEMPORARY}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, 0o600)
    try:
        try:
            write_all(descriptor, data)
            if hasattr(os, "fchmod"):
                os.fchmod(descriptor, mode)  # The process's umask has taken bits from what was opened
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError:
        # A full disk stays full otherwise, and what could not be written may be private.
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return temporary


def _keep_name(path: Path, *, is_new: bool) -> None:
    try:
        sync_directory(path.parent)
    except OSError:
        if is_new:
            with suppress(OSError):
                os.unlink(path)
        raise


def read(path: Path) -> bytes | None:
    """Return the content of another program's regular file; None if it cannot be read, or is too large."""
    try:
        descriptor = os.open(path, _AS_IT_IS)
        with os.fdopen(descriptor, "rb") as file:
            content = file.read(READ_MAX + 1) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
    except OSError:
        return None
    return content if content is not None and len(content) <= READ_MAX else None


def remove(path: Path) -> None:
    """Remove the file; a missing one counts as removed."""
    with suppress(FileNotFoundError):
        os.unlink(path)
    # Also when it was missing: an earlier try may have ended before this.
    if path.parent.is_dir():
        sync_directory(path.parent)


def truncate(path: Path, size: int) -> None:
    """Truncate the file to `size` bytes."""
    descriptor = os.open(path, os.O_WRONLY | PLAIN)
    try:
        os.ftruncate(descriptor, size)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(path: Path) -> None:
    """Make created, renamed and removed names in the directory survive a power loss."""
    if os.name == "nt":
        return  # Windows cannot open directories, but its file system journals name changes
    descriptor = os.open(path, os.O_RDONLY | PLAIN)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_at(path: Path, descriptor: int) -> bool:
    """Return whether the path still names the open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def disk_use(folder: Path) -> int:
    """Return the bytes that a folder's files take on the disk; the engine's files have holes."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.stat(os.path.join(parent, name))
            except OSError:
                continue
            total += found.st_blocks * _BLOCK if hasattr(found, "st_blocks") else found.st_size  # Windows has no blocks
    return total
