"""Archives of a journal, complete under their names or not there at all, and a folder of dated ones."""

import glob
import hashlib
import io
import os
import re
import secrets
import tarfile
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final, Self

from learning_memory_server.errors import AlreadyRunningError, InvalidInputError
from learning_memory_server.journal.archive.reading import (
    DAMAGED,
    JOURNAL,
    MANIFEST,
    OPEN,
    Manifest,
    Member,
    most_bytes,
    open_archive,
)
from learning_memory_server.journal.codec import DamagedLineError, JournalRecord, content_of
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import ANSWER, CLUSTERS, KINDS, PROJECT, RETIRED, RULE_COUNT
from learning_memory_server.journal.log import Line, journal_errors, matching
from learning_memory_server.journal.names import Names
from learning_memory_server.model.limits import BACKUPS_KEPT
from learning_memory_server.system import files
from learning_memory_server.system.locking import try_lock
from learning_memory_server.version import JOURNAL_FORMAT, VERSION

_GHAP: Final = "ghap"
_STAYS: Final = {*RETIRED, *(each.file for each in KINDS.values() if not each.is_archived)}
"""The logs that say where this storage folder has points, and those that are no longer read."""


@dataclass(slots=True)
class Piece:
    """A file of an archive in the making."""

    content: bytearray = field(default_factory=bytearray)
    lines: int = 0
    keys: set[tuple[str, str]] = field(default_factory=set)  # the kinds and ids of its records
    tombstones: int = 0

    def add(self, line: bytes) -> None:
        """Add a line."""
        self.content += line
        self.lines += 1

    @property
    def records(self) -> Counter[str]:
        """The number of records of each kind; one may have several lines, the last of which counts."""
        return Counter(kind for kind, _ in sorted(self.keys))


@dataclass(slots=True)
class Snapshot:
    """The content of an archive in the making, with the numbers of lines left out: forgotten, and of other projects."""

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
            # Changes of cluster numbers continue each other under one id.
            piece.keys.add((record.kind, str(piece.lines) if record.kind == CLUSTERS.kind else record.id))
            if record.kind == _GHAP:
                self.resolved.add(record.id)

    def add_open(self, name: str, text: bytes) -> None:
        """Add an open entry's file."""
        piece = self.piece(name)
        piece.content += text
        piece.lines = text.count(b"\n") + 1
        piece.keys.add(("open", name))

    def piece(self, name: str) -> Piece:
        """Return the file of that name, creating it if necessary."""
        return self.pieces.setdefault(name, Piece())

    def covers(self, older: Self) -> bool:
        """Return whether each line of an older snapshot is in this one; an open entry may be resolved since."""
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
        return Counter(kind for kind, _ in sorted({key for each in self.pieces.values() for key in each.keys}))

    @property
    def tombstones(self) -> int:
        """The number of tombstones."""
        return sum(piece.tombstones for piece in self.pieces.values())

    @property
    def damaged(self) -> dict[str, int]:
        """How many damaged lines each file had."""
        return {
            name.removeprefix(DAMAGED): piece.lines for name, piece in self.pieces.items() if name.startswith(DAMAGED)
        }


def take_snapshot(journal: Path, project: str | None = None) -> Snapshot:
    """Read a journal without a lock: every log and the open entries, of one project or all.

    Segments only grow, and open files are replaced in one step. An unfinished last line was never acknowledged.
    """
    # In this order, an entry that is resolved while reading is in both, and the resolved one wins; in the
    # other order it could be in neither. Values and clusters are read before the entries that they cite.
    still_open = _open_files(journal)
    lines = [line for path in _segments(journal) for line in _lines(path)]
    said = [line.record for line in lines if line.record]
    forgotten = {(record.kind, record.id) for record in said if record.is_tombstone}
    # A tombstone belongs to the project of the record that it is about.
    names = Journal(journal).names
    projects = {(each.kind, each.id): _project_of(names, each) for each in said if not each.is_tombstone}
    snapshot, left_out = Snapshot(), set()
    for line in lines:
        record, name = line.record, line.path.relative_to(journal).as_posix()
        if record and not record.is_tombstone and (record.kind, record.id) in forgotten:
            left_out.add((record.kind, record.id))
        elif record and (project is None or _is_of(project, record, projects)):
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
            _add_open(snapshot, ghap_id, text, names, project)
    snapshot.forgotten += len(left_out)
    return snapshot


def _is_of(project: str, record: JournalRecord, projects: Mapping[tuple[str, str], object]) -> bool:
    """Return whether a record goes into the archive of a project.

    Refused calls, answers and counts of rules never do.
    """
    is_users = record.kind in {ANSWER.kind, RULE_COUNT.kind} or "refusal" in record.data
    return projects.get((record.kind, record.id), project) == project and not is_users


def _project_of(names: Names, record: JournalRecord) -> object:
    return names.of(record.id) if record.kind == PROJECT.kind else _project(names, record.data)


def _project(names: Names, data: Any) -> object:
    return names.as_read(data).get("project") if isinstance(data, dict) else None


def _add_open(snapshot: Snapshot, ghap_id: str, text: bytes, names: Names, project: str | None) -> None:
    name = f"{OPEN}{ghap_id}.json"
    try:
        content = content_of(text)
    except DamagedLineError:
        if project is None:
            snapshot.piece(DAMAGED + name).add(text)
        else:
            snapshot.elsewhere += 1
        return
    if project is not None and _project(names, content) != project:
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
                continue  # The entry was resolved, and is in the log, which is read next
    return found


def _segments(journal: Path) -> list[Path]:
    """Return the files of all logs in an archive, also of other versions' logs; entries last."""
    with journal_errors(journal):
        folders = {*Journal(journal).folders, *(path for path in matching(journal, "*") if path.is_dir())}
    files = (path for folder in (journal, *folders) for path in matching(folder, "*.jsonl"))
    found = sorted(path for path in files if path.parent != journal or path.stem not in _STAYS)
    return sorted(found, key=lambda path: path.parent.name == "entries")


def _lines(path: Path) -> list[Line]:
    with journal_errors(path):
        content = path.read_bytes()
    lines = []
    for number, text in enumerate(io.BytesIO(content), start=1):
        # As in the journal itself, a last line counts if only its line feed is missing.
        whole = text if text.endswith(b"\n") else text + b"\n"
        try:
            lines.append(Line(path, number, whole, JournalRecord.from_line(whole)))
        except DamagedLineError:
            if whole is text:
                lines.append(Line(path, number, text, None))
    return lines


def names_any(text: bytes, forgotten: set[tuple[str, str]]) -> bool:
    """Return whether an unreadable line contains the id of something that is forgotten."""
    return any(record_id.encode() in text for _, record_id in forgotten)


COMPRESSED: Final = (".tar.gz", ".tgz")
PLAIN: Final = (".tar",)
UNFINISHED: Final = ".tmp"  # The suffix of an archive that is not complete yet; its name begins with a dot


def write_archive(
    path: Path, snapshot: Snapshot, at: datetime, *, project: str | None = None, replace: bool = False, key: bytes = b""
) -> Manifest:
    """Write an archive, verify it, and only then give it its name, whose suffix says whether it is compressed.

    Raises `InvalidInputError` if the suffix is unknown, the file exists or cannot be written, and `AlreadyRunningError`
    if another process removes its file. The store's `key` marks the archive.
    """
    if not path.name.endswith(COMPRESSED + PLAIN):
        raise InvalidInputError(f"{path}: must end with {' or '.join(COMPRESSED + PLAIN)}.")
    manifest = Manifest(
        at,
        VERSION,
        JOURNAL_FORMAT,
        project,
        {
            name: Member(
                hashlib.sha256(piece.content).hexdigest(),
                len(piece.content),
                piece.lines,
                dict(piece.records),
                piece.tombstones,
            )
            for name, piece in sorted(snapshot.pieces.items())
        },
    ).marked(key)
    try:
        _refuse_existing(path, replace=replace)
        remove_unfinished(path.parent, glob.escape(path.name))
        with _unfinished(path) as (file, temporary):
            _write(file, manifest, snapshot, compressed=path.name.endswith(COMPRESSED))
            os.fsync(file.fileno())
            with open_archive(temporary):
                pass  # It was verified
            _refuse_existing(path, replace=replace)
            temporary.replace(path)
            files.sync_directory(path.parent)
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written: {error.strerror or error}.") from None
    return manifest


def remove_unfinished(folder: Path, pattern: str) -> None:
    """Remove unfinished archives from the folder if the processes that wrote them have ended."""
    for path in folder.glob(f".{pattern}*{UNFINISHED}"):
        with suppress(OSError), path.open("r+b") as file:
            if try_lock(file.fileno()):
                path.unlink(missing_ok=True)


def _refuse_existing(path: Path, *, replace: bool) -> None:
    if path.is_symlink() or (path.exists() and not (replace and path.is_file())):
        raise InvalidInputError(
            f"{path} already exists.", hint="Choose another name, or replace the file with --force."
        )


@contextmanager
def _unfinished(path: Path) -> Iterator[tuple[IO[bytes], Path]]:
    """Create a file that only this process writes, and remove it at the end unless it has been renamed."""
    # Nobody could have put a link at such a name.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}{UNFINISHED}")
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL | files.PLAIN, 0o600)
    with open(descriptor, "r+b") as file:  # noqa: PTH123 - of a descriptor
        # Who removes what is unfinished may have come first.
        if not try_lock(descriptor) or not files.is_at(temporary, descriptor):
            raise AlreadyRunningError(f"Another process removes unfinished archives beside {path}.")
        try:
            yield file, temporary
        finally:
            if files.is_at(temporary, descriptor):
                temporary.unlink()


def _write(file: IO[bytes], manifest: Manifest, snapshot: Snapshot, *, compressed: bool) -> None:
    members: dict[str, bytes | bytearray] = {
        MANIFEST: manifest.to_json(),
        **{name: snapshot.pieces[name].content for name in manifest.files},
    }
    at = int(manifest.created_at.timestamp())
    with tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) if compressed else _plain(file) as tar:
        length = _add(tar, members, at)
    if compressed and length > most_bytes(file.tell()):
        # Texts that repeat themselves thousands of times: the reader takes a high ratio for an attack.
        file.seek(0)
        file.truncate()
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=0) as tar:
            _add(tar, members, at)
    file.flush()


def _plain(file: IO[bytes]) -> tarfile.TarFile:
    return tarfile.open(fileobj=file, mode="w")


def _add(tar: tarfile.TarFile, members: dict[str, bytes | bytearray], at: int) -> int:
    """Add the members, all of the same time, and return how long the tar is at most, with the padding at its end."""
    for name, content in members.items():
        about = tarfile.TarInfo(name)
        about.size, about.mode, about.mtime = len(content), 0o600, at
        tar.addfile(about, io.BytesIO(content))
    return tar.offset + 2 * tarfile.RECORDSIZE


_NAME: Final = re.compile(r"learning-memory-\d{8}T\d{12}Z\.tar\.gz")


@dataclass(frozen=True, slots=True)
class Backup:
    """A backup that was made, and the older ones that were removed."""

    path: Path
    snapshot: Snapshot
    removed: list[Path]


def back_up(
    journal: Journal, folder: Path, at: datetime, keep: int | None = BACKUPS_KEPT, key: bytes = b""
) -> Backup | None:
    """Write a journal to a dated archive in a folder, and remove all but the newest `keep` backups; None keeps all.

    An empty journal is not written. If anything cannot be read or written, no backup is removed.
    """
    snapshot = take_snapshot(journal.path)
    if not (snapshot.records or snapshot.tombstones):
        return None
    path = folder / backup_name(at)
    try:
        files.make_private_directory(folder)
        write_archive(path, snapshot, at, key=key)
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
