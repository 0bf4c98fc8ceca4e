"""A folder of dated archives, of which the newest are kept."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from learning_memory_server.archive.writing import remove_unfinished

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

_NAME: Final = re.compile(r"learning-memory-\d{8}T\d{12}Z\.tar\.gz")


def backup_name(at: datetime) -> str:
    """Return the name of a backup; names sort by time."""
    return f"learning-memory-{at:%Y%m%dT%H%M%S%f}Z.tar.gz"


def list_backups(folder: Path) -> list[Path]:
    """Return the backups in a folder, newest first; what has another name is none."""
    return sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), reverse=True)


def prune(folder: Path, keep: int) -> list[Path]:
    """Remove all but the newest backups, and what was left of unfinished ones; return what was removed.

    Args:
        folder: Where they are. Other files in it are left alone.
        keep: How many to keep, at least 1.
    """
    remove_unfinished(folder, "learning-memory-*.tar.gz")
    old = list_backups(folder)[keep:]
    for path in old:
        path.unlink(missing_ok=True)
    return old
