"""How the journal reads and writes files: what it needs of a disk, and the error when the disk refuses."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from learning_memory_server.errors import JournalUnavailableError


class Disk(Protocol):
    """What a journal writes with; the module `files` is one."""

    def append(self, path: Path, data: bytes, /) -> None:
        """Append `data` to the file and wait for the disk."""

    def replace(self, path: Path, data: bytes, /) -> None:
        """Replace the file's content with `data`. A crash leaves either the old or the new content."""

    def remove(self, path: Path, /) -> None:
        """Remove the file; a missing one counts as removed."""

    def truncate(self, path: Path, size: int, /) -> None:
        """Truncate the file to `size` bytes."""


@contextmanager
def journal_errors(path: Path) -> Iterator[None]:
    """Turn any `OSError` into a JournalUnavailableError that says what to do."""
    try:
        yield
    except OSError as error:
        raise JournalUnavailableError(
            f"The journal could not be used ({error.strerror or type(error).__name__}: {path.name}).",
            hint="Run `learning-memory-server doctor` to see the journal folder, its permissions and free space.",
        ) from error


def matching(folder: Path, pattern: str) -> list[Path]:
    """Return the paths in the folder whose names match the pattern, sorted by name; none if the folder is missing.

    Unlike `Path.glob`, it does not take an unreadable folder for an empty one.
    """
    with journal_errors(folder):
        try:
            with os.scandir(folder) as found:
                names = sorted(entry.name for entry in found if fnmatchcase(entry.name, pattern))
        except FileNotFoundError:
            # A broken link, such as to a disk that is not mounted, is not a folder that is yet to be created.
            if folder.is_symlink():
                raise
            return []
    return [folder / name for name in names]
