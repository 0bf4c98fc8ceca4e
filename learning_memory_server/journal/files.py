"""Durable writes: what these functions return from has reached the disk."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from learning_memory_server.errors import JournalUnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


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


def make_private_directory(path: Path) -> None:
    """Create the directory and the parents it needs for their owner alone; existing ones stay as they are."""
    # mkdir gives its mode to the last directory only.
    for directory in (*reversed(path.parents), path):
        if not directory.exists():
            directory.mkdir(mode=0o700, exist_ok=True)


def append(path: Path, data: bytes) -> None:
    """Add `data` to the end of the file and wait for the disk; on failure nothing of it remains."""
    with journal_errors(path):
        make_private_directory(path.parent)
        is_new = not path.exists()
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            size = os.fstat(descriptor).st_size
            try:
                _write_all(descriptor, data)
                os.fsync(descriptor)
            except OSError:
                os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)
        if is_new:
            sync_directory(path.parent)


def replace(path: Path, data: bytes) -> None:
    """Put `data` in the file's place, so that a crash leaves either the old or the new content."""
    with journal_errors(path):
        make_private_directory(path.parent)
        temporary = path.with_name(path.name + ".tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
        sync_directory(path.parent)


def remove(path: Path) -> None:
    """Remove the file; a missing one is as good as removed."""
    with journal_errors(path):
        path.unlink(missing_ok=True)
        sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make created, renamed and removed names in the directory survive a power loss."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
