"""Removing what is forgotten from archives that were made before."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from learning_memory_server.journal.archive.contents import is_forgotten
from learning_memory_server.journal.archive.manifest import DAMAGED, JOURNAL, OPEN
from learning_memory_server.journal.archive.reading import open_archive
from learning_memory_server.journal.archive.replacing import replace_archive
from learning_memory_server.journal.archive.snapshot import Snapshot, names_any
from learning_memory_server.journal.codec import GHAP
from learning_memory_server.journal.line import DamagedLineError, JournalRecord
from learning_memory_server.journal.open_file import open_version

if TYPE_CHECKING:
    from learning_memory_server.journal.archive.contents import Key
    from learning_memory_server.journal.archive.reading import Archive


def count_forgotten(path: Path, forgotten: set[Key]) -> int:
    """Return how many lines and open entries of an archive are about something that is forgotten.

    Args:
        path: The archive.
        forgotten: Kinds and ids.

    Raises:
        InvalidInputError: If it cannot be read.
        JournalUnavailableError: If a newer program wrote it.
        OSError: If the file cannot be opened.
    """
    with open_archive(path) as archive:
        return _without(archive, forgotten).forgotten


def purge_archive(path: Path, forgotten: set[Key], fresh: Snapshot | None = None) -> int:
    """Replace an archive by one without what is forgotten; see `replace_archive`.

    The tombstones stay, and so does what cannot be read, unless it contains the id of something that is forgotten.

    Args:
        path: The archive.
        forgotten: Kinds and ids.
        fresh: The content of a newer archive.

    Returns:
        How many lines and open entries were removed. With 0, the archive is as it was.

    Raises:
        AlreadyRunningError: If another process is writing the same file.
        InvalidInputError, JournalUnavailableError, OSError: See `count_forgotten`; the archive is as it was.
    """
    with open_archive(path) as archive:
        kept, manifest = _without(archive, forgotten), archive.manifest
    if kept.forgotten:
        replace_archive(path, kept, manifest, fresh)
    return kept.forgotten


def _without(archive: Archive, forgotten: set[Key]) -> Snapshot:
    """Return the content of an archive without what is forgotten."""
    kept = Snapshot()
    for name, lines in archive.files():
        if name.startswith((JOURNAL + OPEN, DAMAGED + OPEN)):
            _keep_open(kept, name, b"".join(lines), forgotten)
        else:
            _keep_lines(kept, name, lines, forgotten)
    return kept


def _keep_open(kept: Snapshot, name: str, text: bytes, forgotten: set[Key]) -> None:
    is_damaged = name.startswith(DAMAGED)
    if (GHAP.kind, PurePosixPath(name).stem) in forgotten or (is_damaged and names_any(text, forgotten)):
        kept.forgotten += 1
    elif is_damaged:
        kept.piece(name).add(text)
    else:
        kept.add_open(name, text, open_version(text))


def _keep_lines(kept: Snapshot, name: str, lines: Iterable[bytes], forgotten: set[Key]) -> None:
    for line in lines:
        try:
            record = JournalRecord.from_line(line)
        except DamagedLineError:
            record = None
        if record and (record.is_tombstone or not is_forgotten(record, forgotten)):
            kept.add_record(name, line, record)
        elif record or names_any(line, forgotten):
            kept.forgotten += 1
        else:
            kept.piece(name).add(line)
