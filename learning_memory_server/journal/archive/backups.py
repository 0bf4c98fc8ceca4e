"""A folder of dated archives: only the newest are kept."""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.snapshot import Snapshot, take_snapshot
from learning_memory_server.journal.archive.writing import remove_unfinished, write_archive
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.limits import BACKUPS_KEPT
from learning_memory_server.system.files import make_private_directory

_NAME: Final = re.compile(r"learning-memory-\d{8}T\d{12}Z\.tar\.gz")


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made, and the older ones that were removed."""

    path: Path
    snapshot: Snapshot
    removed: list[Path]


def back_up(journal: Journal, folder: Path, at: datetime, keep: int | None = BACKUPS_KEPT) -> Backup | None:
    """Write a journal to a dated archive in a folder, and remove all but the newest `keep` backups; None keeps all.

    An empty journal is not written: in time its backups would displace all those that hold something. If the folder
    cannot be written to, or anything of the journal be read, no backup is removed.
    """
    snapshot = take_snapshot(journal.path)
    if not (snapshot.records or snapshot.tombstones):
        return None
    path = folder / backup_name(at)
    try:
        make_private_directory(folder)
        write_archive(path, snapshot, at)
        return Backup(path, snapshot, prune(folder, keep) if keep else [])
    except OSError as error:
        raise InvalidInputError(f"{folder} cannot be written to: {error.strerror}.") from None


def backup_name(at: datetime) -> str:
    """Return the name of a backup; names sort by time."""
    return f"learning-memory-{at:%Y%m%dT%H%M%S%f}Z.tar.gz"


def list_backups(folder: Path) -> list[Path]:
    """Return the backups in a folder, newest first; files with other names are ignored."""
    if not folder.is_dir():
        return []
    return sorted((path for path in folder.iterdir() if _NAME.fullmatch(path.name)), reverse=True)


def remove_unfinished_backups(folder: Path) -> None:
    """Remove what processes that were killed have left of backups."""
    remove_unfinished(folder, "learning-memory-*.tar.gz")


def prune(folder: Path, keep: int) -> list[Path]:
    """Remove all but the newest backups and all unfinished ones; return the backups that were removed."""
    remove_unfinished_backups(folder)
    old = list_backups(folder)[keep:]
    for path in old:
        path.unlink(missing_ok=True)
    return old
