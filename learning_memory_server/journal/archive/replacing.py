"""Replacing an archive by one that holds less, without losing what only it holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from learning_memory_server.journal.archive.writing import write_archive
from learning_memory_server.system.files import sync_directory

if TYPE_CHECKING:
    from learning_memory_server.journal.archive.manifest import Manifest
    from learning_memory_server.journal.archive.snapshot import Snapshot


def replace_archive(path: Path, kept: Snapshot, manifest: Manifest, fresh: Snapshot | None) -> None:
    """Replace an archive by what is kept of it, in one step; remove it if nothing is, or a newer one has all of that.

    Args:
        path: The archive.
        kept: What stays of its content.
        manifest: Its manifest.
        fresh: The content of an archive that was written and verified since, if there is one.

    Raises:
        AlreadyRunningError, InvalidInputError: See `write_archive`; the archive is as it was.
        OSError: If the file cannot be removed.
    """
    if kept.pieces and not (fresh and fresh.covers(kept)):
        write_archive(path, kept, manifest.created_at, project=manifest.project, replace=True)
        return
    path.unlink()
    sync_directory(path.parent)
