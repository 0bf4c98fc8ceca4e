"""Journals and archives of earlier formats, rewritten into the present one. What was there stays beside it."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path
from typing import Final

from learning_memory_server.errors import InvalidInputError, JournalUnavailableError
from learning_memory_server.journal.archive.contents import Contents, contents_of
from learning_memory_server.journal.archive.manifest import DAMAGED, JOURNAL, OPEN
from learning_memory_server.journal.archive.reading import Archive, open_archive
from learning_memory_server.journal.archive.snapshot import Snapshot
from learning_memory_server.journal.archive.writing import COMPRESSED, PLAIN, write_archive
from learning_memory_server.journal.disk import journal_errors, matching
from learning_memory_server.journal.formats import CURRENT, versions_of
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.line import (
    DamagedLineError,
    JournalRecord,
    content_of,
    open_file_of,
    open_version,
)
from learning_memory_server.system import files

_EVIDENCE: Final = "evidence.jsonl"
"""What format 1 computed about values, which nothing reads."""


def convert_journal(folder: Path, at: datetime) -> list[Path]:
    """Rewrite the files of a journal that are not in the present format, and return where the earlier ones are now.

    Needs the journal's lock. Each file is written anew, synced, read back and compared with the earlier one, which then
    stays under another name. A crash leaves each file as it was or converted, and another run completes the work. Lines
    that cannot be read stay, byte for byte.

    Raises:
        JournalUnavailableError: If a file cannot be used, a newer program wrote it, or it would not read back the same.
    """
    folders = (folder, *Journal(folder).folders)
    earlier = []
    for path in sorted(path for each in folders for path in matching(each, "*.jsonl")):
        with journal_errors(path):
            content = path.read_bytes()
        if path.name == _EVIDENCE:
            earlier.append(_kept(path, content, at))
            with journal_errors(path):
                files.remove(path)
        elif (converted := b"".join(map(_line, _lines(content)))) != content:
            earlier.append(_replace(path, content, converted, at))
    for path in Journal(folder).open_files():
        with journal_errors(path):
            content = path.read_bytes()
        if (converted := _open_file(content)) != content:
            earlier.append(_replace(path, content, converted, at))
    return earlier


def convert_archive(path: Path, at: datetime) -> list[Path]:
    """Rewrite an archive that is not in the present format, and return where the earlier one is now.

    The new one is written beside it, synced, read back, and compared with it record by record. Lines that cannot be
    read stay, byte for byte.

    Raises:
        AlreadyRunningError: If another process is writing the same file.
        InvalidInputError: If it cannot be read or written, or would not read back the same.
    """
    suffix = next((each for each in COMPRESSED + PLAIN if path.name.endswith(each)), PLAIN[0])
    beside = path.with_name(f"{path.name.removesuffix(suffix)}.converted{suffix}")
    with open_archive(path) as archive:
        manifest, before = archive.manifest, contents_of(archive)
        converted, is_earlier = _converted(archive)
    if not is_earlier:
        return []
    write_archive(beside, converted, manifest.created_at, project=manifest.project, replace=True)
    with open_archive(beside) as archive:
        after = contents_of(archive)
    if _readable(after) != _readable(before):
        raise InvalidInputError(f"{path} was not converted: {beside} reads differently.")
    try:
        kept = _name_of_earlier(path, at)
        shutil.copyfile(path, kept)
        files.sync_file(kept)
        beside.replace(path)
        files.sync_directory(path.parent)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be replaced: {error.strerror or error}.") from None
    return [kept]


def _converted(archive: Archive) -> tuple[Snapshot, bool]:
    """Return the content of an archive in the present format, and whether it is in an earlier one."""
    snapshot, is_earlier = Snapshot(), archive.has_sums
    for name, lines in archive.files():
        if name == JOURNAL + _EVIDENCE:
            is_earlier = True
        elif name.startswith(JOURNAL + OPEN):
            text = b"".join(lines)
            converted = _open_file(text)
            is_earlier |= converted != text
            snapshot.add_open(name, converted, open_version(converted))
        else:
            for text in lines:
                converted = text if name.startswith(DAMAGED) else _line(text)
                is_earlier |= converted != text
                _add(snapshot, name, converted)
    return snapshot, is_earlier


def _add(snapshot: Snapshot, name: str, line: bytes) -> None:
    try:
        snapshot.add_record(name, line, JournalRecord.from_line(line))
    except DamagedLineError:
        snapshot.piece(name).add(line)


def _readable(contents: Contents) -> tuple[object, ...]:
    # Not what was changed in reading: the earlier one names what the present format no longer has.
    return (
        contents.entries,
        contents.open,
        contents.records,
        contents.clusters,
        contents.forgotten,
        contents.rejections,
    )


def _lines(content: bytes) -> list[bytes]:
    return content.splitlines(keepends=True)


def _line(line: bytes) -> bytes:
    """Return a line in the present format; one that cannot be read, or is in it already, as it is."""
    if all(version == CURRENT.version for version in versions_of(line)):
        return line
    try:
        return JournalRecord.from_line(line).to_line()
    except DamagedLineError:
        return line


def _open_file(text: bytes) -> bytes:
    """Return an open entry's file in the present format; see `_line`."""
    version = open_version(text)
    CURRENT.refuse_newer(version)
    if version == CURRENT.version:
        return text
    try:
        content = content_of(text)
    except DamagedLineError:
        return text
    data = CURRENT.upgraded("ghap", content, version)
    return open_file_of({**data, "v": CURRENT.version})


def _records(path: Path, content: bytes) -> list[object]:
    """Return what the lines of a log, or an open entry's file, say in the present format; what is damaged as it is."""
    if path.suffix == ".json":
        return [_open_file(content)]
    said: list[object] = []
    for line in _lines(content):
        try:
            said.append(JournalRecord.from_line(line))
        except DamagedLineError:
            said.append(line)
    return said


def _replace(path: Path, content: bytes, converted: bytes, at: datetime) -> Path:
    beside = path.with_name(f"{path.name}.converted{files.TEMPORARY}")
    with journal_errors(path):
        files.replace(beside, converted)
        is_same = _records(path, beside.read_bytes()) == _records(path, content)
    if not is_same:
        raise JournalUnavailableError(f"{path} was not converted: {beside} reads differently.")
    kept = _kept(path, content, at)
    with journal_errors(path):
        beside.replace(path)
        files.sync_directory(path.parent)
    return kept


def _kept(path: Path, content: bytes, at: datetime) -> Path:
    kept = _name_of_earlier(path, at)
    with journal_errors(kept):
        files.replace(kept, content)
    return kept


def _name_of_earlier(path: Path, at: datetime) -> Path:
    return path.with_name(f"{path.name}.earlier-{at:%Y%m%dT%H%M%SZ}")
