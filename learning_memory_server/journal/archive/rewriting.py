"""Archives that were made before: without what was forgotten since, or without secrets."""

from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import Final

from learning_memory_server.journal.archive.contents import Key, is_forgotten
from learning_memory_server.journal.archive.reading import DAMAGED, JOURNAL, OPEN, Archive, Manifest, open_archive
from learning_memory_server.journal.archive.writing import Snapshot, names_any, write_archive
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.journal.scanning import Finding, Scanner
from learning_memory_server.system.files import sync_directory

Change = Callable[[str, int, bytes], bytes | None]  # Maps name, line number (0: an open file) and text to a new text

_OPEN: Final = (JOURNAL + OPEN, DAMAGED + OPEN)


def purge_archive(
    path: Path, forgotten: set[Key], fresh: Snapshot | None = None, *, key: bytes = b"", dry_run: bool = False
) -> int:
    """Replace an archive by one without what is forgotten, and return how many lines and open entries that were.

    Tombstones and unreadable lines stay, unless those contain a forgotten id. If it returns 0 or raises
    (`InvalidInputError`, `JournalUnavailableError`), the archive is as it was.

    Args:
        fresh: The content of a verified newer archive: one that has all of this makes this one superfluous.
        key: The key of this store, which marks an archive again that it had marked.
    """
    with open_archive(path) as archive:
        kept, manifest = _changed(archive, _without(forgotten)), archive.manifest
    if kept.forgotten and not dry_run:
        _replace(path, kept, manifest, fresh, key)
    return kept.forgotten


def redact_archive(
    path: Path, scanner: Scanner, fresh: Snapshot | None = None, *, key: bytes = b"", dry_run: bool = False
) -> list[Finding]:
    """Replace an archive that has secrets by one without them, and return them; see `purge_archive`."""
    findings: dict[Finding, None] = {}
    with open_archive(path) as archive:
        kept, manifest = _changed(archive, _redacted(scanner, findings)), archive.manifest
    if findings and not dry_run:
        _replace(path, kept, manifest, fresh, key)
    return list(findings)


def _changed(archive: Archive, change: Change) -> Snapshot:
    kept = Snapshot()
    for name, lines in archive.files():
        is_open = name.startswith(_OPEN)
        pieces = [(0, b"".join(lines))] if is_open else enumerate(lines, start=1)
        for number, piece in pieces:
            text = change(name, number, piece)
            if text is None:
                kept.forgotten += 1
            elif is_open and name.startswith(JOURNAL):
                kept.add_open(name, text)
            elif record := None if is_open else JournalRecord.find(text):
                kept.add_record(name, text, record)
            else:
                kept.piece(name).add(text)
    return kept


def _without(forgotten: set[Key]) -> Change:
    def change(name: str, number: int, text: bytes) -> bytes | None:
        record = JournalRecord.find(text) if number else None
        if record:
            is_gone = not record.is_tombstone and is_forgotten(record, forgotten)
        elif not number and (GHAP.kind, PurePosixPath(name).stem) in forgotten:
            is_gone = True
        else:
            is_gone = not name.startswith(JOURNAL + OPEN) and names_any(text, forgotten)
        return None if is_gone else text

    return change


def _redacted(scanner: Scanner, findings: dict[Finding, None]) -> Change:
    def change(name: str, number: int, text: bytes) -> bytes:
        place = name.removeprefix(JOURNAL)
        scanned = scanner.line(text, f"{place}:{number}") if number else scanner.open_file(text, place)
        findings.update(dict.fromkeys(scanned.findings))
        return scanned.text

    return change


def _replace(path: Path, kept: Snapshot, manifest: Manifest, fresh: Snapshot | None, key: bytes) -> None:
    """Replace an archive in one step; remove it if nothing is kept, or a newer one has all of it."""
    if kept.pieces and not (fresh and fresh.covers(kept)):
        key = key if manifest.is_marked(key) else b""
        write_archive(path, kept, manifest.created_at, project=manifest.project, replace=True, key=key)
        return
    path.unlink()
    sync_directory(path.parent)
