"""Secrets in archives that were made before: where they are, and the same archives without them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from learning_memory_server.journal.archive.manifest import DAMAGED, JOURNAL, OPEN
from learning_memory_server.journal.archive.reading import open_archive
from learning_memory_server.journal.archive.replacing import replace_archive
from learning_memory_server.journal.archive.snapshot import Snapshot
from learning_memory_server.journal.line import DamagedLineError, JournalRecord
from learning_memory_server.journal.open_file import open_version

if TYPE_CHECKING:
    from learning_memory_server.journal.archive.reading import Archive
    from learning_memory_server.journal.scanning import Finding, Scanner


def scan_archive(path: Path, scanner: Scanner) -> list[Finding]:
    """Return the secrets in an archive.

    Raises:
        InvalidInputError: If it cannot be read.
        JournalUnavailableError: If a newer program wrote it.
        OSError: If the file cannot be opened.
    """
    with open_archive(path) as archive:
        return _redacted(archive, scanner)[1]


def redact_archive(path: Path, scanner: Scanner, fresh: Snapshot | None = None) -> list[Finding]:
    """Replace an archive by one without secrets, and return what was in it; see `replace_archive`.

    Without secrets, the archive is as it was.

    Args:
        path: The archive.
        scanner: Finds the secrets.
        fresh: The content of a newer archive.

    Raises:
        AlreadyRunningError: If another process is writing the same file.
        InvalidInputError, JournalUnavailableError, OSError: See `scan_archive`; the archive is as it was.
    """
    with open_archive(path) as archive:
        (kept, findings), manifest = _redacted(archive, scanner), archive.manifest
    if findings:
        replace_archive(path, kept, manifest, fresh)
    return findings


def _redacted(archive: Archive, scanner: Scanner) -> tuple[Snapshot, list[Finding]]:
    """Return the content of an archive without secrets, and the secrets."""
    kept = Snapshot()
    findings: dict[Finding, None] = {}
    for name, lines in archive.files():
        place = name.removeprefix(JOURNAL)
        if name.startswith((JOURNAL + OPEN, DAMAGED + OPEN)):
            scanned = scanner.open_file(b"".join(lines), place)
            findings.update(dict.fromkeys(scanned.findings))
            if name.startswith(DAMAGED):
                kept.piece(name).add(scanned.text)
            else:
                kept.add_open(name, scanned.text, open_version(scanned.text))
            continue
        for number, line in enumerate(lines, start=1):
            scanned = scanner.line(line, f"{place}:{number}")
            findings.update(dict.fromkeys(scanned.findings))
            try:
                kept.add_record(name, scanned.text, JournalRecord.from_line(scanned.text))
            except DamagedLineError:
                kept.piece(name).add(scanned.text)
    return kept, list(findings)
