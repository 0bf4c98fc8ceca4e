"""The content of a journal at one moment, while another process may continue writing."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from learning_memory_server.journal.archive.manifest import DAMAGED, JOURNAL, OPEN
from learning_memory_server.journal.disk import journal_errors, matching
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.line import DamagedLineError, JournalRecord, content_of
from learning_memory_server.journal.log import Line

_GHAP: Final = "ghap"
_STAYS: Final = frozenset({"servers.jsonl", "trials.jsonl"})
"""Not in archives: they say where this storage folder has points, and what this machine's sessions were told."""


@dataclass(slots=True)
class Piece:
    """A file of an archive in the making."""

    content: bytearray = field(default_factory=bytearray)
    lines: int = 0
    records: Counter[str] = field(default_factory=Counter)
    tombstones: int = 0

    def add(self, line: bytes) -> None:
        """Add a line."""
        self.content += line
        self.lines += 1


@dataclass(slots=True)
class Snapshot:
    """The content of an archive in the making.

    `forgotten` counts what was left out because it is forgotten; `elsewhere`, the lines that were left out because they
    do not belong to the project, or cannot be shown to.
    """

    pieces: dict[str, Piece] = field(default_factory=dict)
    forgotten: int = 0
    elsewhere: int = 0
    resolved: set[str] = field(default_factory=set)

    def add_record(self, name: str, line: bytes, record: JournalRecord) -> None:
        """Add a line that can be read to the file of that name."""
        piece = self.piece(name)
        piece.add(line)
        if record.is_tombstone:
            piece.tombstones += 1
        else:
            piece.records[record.kind] += 1
            if record.kind == _GHAP:
                self.resolved.add(record.id)

    def add_open(self, name: str, text: bytes) -> None:
        """Add an open entry's file."""
        piece = self.piece(name)
        piece.content += text
        piece.lines = text.count(b"\n") + 1
        piece.records["open"] += 1

    def piece(self, name: str) -> Piece:
        """Return the file of that name, creating it if necessary."""
        return self.pieces.setdefault(name, Piece())

    def covers(self, older: Snapshot) -> bool:
        """Return whether everything in an older snapshot is in this one: each line, also a damaged one, as it stands.

        An open entry is if it is unchanged, or was resolved since.
        """
        lines = {line for piece in self.pieces.values() for line in io.BytesIO(piece.content)}
        return all(
            PurePosixPath(name).stem in self.resolved or self.pieces.get(name) == piece
            if name.startswith(JOURNAL + OPEN)
            else lines.issuperset(io.BytesIO(piece.content))
            for name, piece in older.pieces.items()
        )

    @property
    def records(self) -> Counter[str]:
        """The number of records of each kind."""
        return sum((piece.records for piece in self.pieces.values()), Counter())

    @property
    def tombstones(self) -> int:
        """The number of tombstones."""
        return sum(piece.tombstones for piece in self.pieces.values())

    @property
    def open_entries(self) -> int:
        """The number of open entries."""
        return sum(name.startswith(JOURNAL + OPEN) for name in self.pieces)

    @property
    def damaged(self) -> dict[str, int]:
        """How many damaged lines each file had."""
        return {
            name.removeprefix(DAMAGED): piece.lines for name, piece in self.pieces.items() if name.startswith(DAMAGED)
        }


def take_snapshot(journal: Path, project: str | None = None) -> Snapshot:
    """Read a journal as it is now: every log and the open entries; of one project, what names it as its own.

    Nothing is locked: segments only grow, so each is complete up to its last line feed, and open files are replaced in
    one step. An unfinished last line was never acknowledged, and is left out.
    """
    # In this order, an entry that is resolved while reading is in both, and the resolved one wins; in the
    # other order it could be in neither. Values and clusters are read before the entries that they cite.
    still_open = _open_files(journal)
    lines = [line for path in _segments(journal) for line in _lines(path)]
    said = [line.record for line in lines if line.record]
    forgotten = {(record.kind, record.id) for record in said if record.is_tombstone}
    # A tombstone belongs to the project of the record that it is about.
    projects = {(record.kind, record.id): _project(record) for record in said if not record.is_tombstone}
    snapshot = Snapshot()
    for line in lines:
        record, name = line.record, line.path.relative_to(journal).as_posix()
        if record and not record.is_tombstone and (record.kind, record.id) in forgotten:
            snapshot.forgotten += 1
        elif record and (project is None or projects.get((record.kind, record.id), project) == project):
            snapshot.add_record(JOURNAL + name, line.text, record)
        elif record or project is not None:
            snapshot.elsewhere += 1
        elif names_any(line.text, forgotten):
            snapshot.forgotten += 1
        else:
            snapshot.piece(DAMAGED + name).add(line.text)
    closed = {record.id for record in said if record.kind == _GHAP}
    for ghap_id, text in still_open.items():
        if ghap_id not in closed:
            _add_open(snapshot, ghap_id, text, project)
    return snapshot


def _add_open(snapshot: Snapshot, ghap_id: str, text: bytes, project: str | None) -> None:
    name = f"{OPEN}{ghap_id}.json"
    try:
        content = content_of(text)
    except DamagedLineError:
        if project is None:
            snapshot.piece(DAMAGED + name).add(text)
        else:
            snapshot.elsewhere += 1
        return
    if project is not None and content.get("project") != project:
        snapshot.elsewhere += 1
        return
    snapshot.add_open(JOURNAL + name, text)


def _open_files(journal: Path) -> dict[str, bytes]:
    found = {}
    for path in Journal(journal).open_files():
        with journal_errors(path):
            try:
                found[path.stem] = path.read_bytes()
            except FileNotFoundError:
                # The entry was resolved, and is in the log, which is read next.
                continue
    return found


def _segments(journal: Path) -> list[Path]:
    """Return the files of all logs that an archive has, also of those that only another version knows; entries last."""
    with journal_errors(journal):
        folders = {*Journal(journal).folders, *(path for path in matching(journal, "*") if path.is_dir())}
    files = (path for folder in (journal, *folders) for path in matching(folder, "*.jsonl"))
    found = sorted(path for path in files if path.parent != journal or path.name not in _STAYS)
    return sorted(found, key=lambda path: path.parent.name == "entries")


def _lines(path: Path) -> list[Line]:
    with journal_errors(path):
        content = path.read_bytes()
    lines = []
    for text in io.BytesIO(content):
        # As in the journal itself, a last line counts if only its line feed is missing.
        whole = text if text.endswith(b"\n") else text + b"\n"
        try:
            lines.append(Line(path, whole, JournalRecord.from_line(whole)))
        except DamagedLineError:
            if whole is text:
                lines.append(Line(path, text, None))
    return lines


def _project(record: JournalRecord) -> object:
    return record.data.get("project") if isinstance(record.data, dict) else None


def names_any(text: bytes, forgotten: set[tuple[str, str]]) -> bool:
    """Return whether an unreadable line contains the id of something that is forgotten."""
    return any(record_id.encode() in text for _, record_id in forgotten)
