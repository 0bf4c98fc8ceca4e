"""An append-only log of records, in one file or in one file a month; and what it needs of a disk."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import structlog

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import DamagedLineError, JournalRecord
from learning_memory_server.journal.kinds import RecordKind
from learning_memory_server.system import files, ownership

if TYPE_CHECKING:
    from learning_memory_server.journal.names import Names

log = structlog.get_logger()


class Disk(Protocol):
    """The writing operations of a journal; the module `files` is one."""

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
        if isinstance(error, PermissionError) and (foreign := ownership.explain_denied(error.filename or path)):
            raise JournalUnavailableError(f"The journal could not be used: {foreign}") from error
        raise JournalUnavailableError(
            f"The journal could not be used ({error.strerror or type(error).__name__}: {path.name}).",
            doctor=" to see the journal folder, its permissions and free space",
        ) from error


def matching(folder: Path, pattern: str) -> list[Path]:
    """Return the paths in the folder whose names match, sorted; none if it is missing, an error if it is unreadable.

    As in a shell, hidden files match no pattern: those are what file managers and editors keep beside a file.
    """
    with journal_errors(folder):
        try:
            with os.scandir(folder) as found:
                names = sorted(entry.name for entry in found if _is_shown(entry.name, pattern))
        except FileNotFoundError:
            # A broken link, such as to a disk that is not mounted, is not a folder that is yet to be created.
            if folder.is_symlink():
                raise
            return []
    return [folder / name for name in names]


def _is_shown(name: str, pattern: str) -> bool:
    return not name.startswith(".") and fnmatchcase(name, pattern)


def is_in_the_way(path: Path) -> bool:
    """Return whether something stands in the place of a file that is none, such as a folder or a pipe."""
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return False  # Whoever opens it says why it cannot be used


@dataclass(frozen=True, slots=True)
class Line:
    """A line as its file has it. `torn` marks an unfinished last line: a crash during a write."""

    path: Path
    number: int  # from 1
    text: bytes
    record: JournalRecord | None  # None for a damaged line
    reason: str = ""  # why it cannot be read
    torn: bool = False


@dataclass(frozen=True, slots=True)
class LogContent:
    """The content of a log: its readable records, oldest first, without the `forgotten` ones by kind and id."""

    records: list[JournalRecord] = field(default_factory=list)
    damage: list[Line] = field(default_factory=list)
    forgotten: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> LogContent:
        """Return what the lines of a log add up to."""
        content = cls()
        for line in lines:
            if line.record is None:
                content.damage.append(line)
            elif line.record.is_tombstone:
                content.forgotten.add((line.record.kind, line.record.id))
            else:
                content.records.append(line.record)
        gone = content.forgotten
        if gone:
            content.records[:] = [said for said in content.records if (said.kind, said.id) not in gone]
        return content


@dataclass(frozen=True, slots=True)
class Purge:
    """The lines that a purge removed from each file, and the files with unreadable bytes for a person to look at."""

    removed: dict[Path, int] = field(default_factory=dict)
    doubtful: list[Path] = field(default_factory=list)


_TAIL: Final = 1 << 16
_REMEMBERED: Final = 1 << 20  # Bytes of a file that are kept to be written again
SET_ASIDE: Final = ".corrupt-"  # In the name of a file of set-aside bytes, the part between the log's name and the time


class Log:
    """Records of one kind in `{kind.file}.jsonl`, or in `{kind.file}/YYYY-MM.jsonl` by the month they were written in.

    Reading never changes a file. Only the process that has locked the journal may append or `recover`. Raises
    `JournalUnavailableError` if a file or folder cannot be used, or has another format; then nothing is changed.
    """

    def __init__(self, folder: Path, kind: RecordKind[Any], *, disk: Disk = files, names: Names | None = None) -> None:
        self.kind = kind
        self.names = names
        self._path = folder / kind.file
        self._disk = disk
        self.known_damage: int | None = None  # Unreadable lines when it was last read; None if it never was
        self._ends: dict[Path, int] = {}  # Acknowledged bytes of each file, as read or written by this process
        self._appended: dict[Path, bytes] = {}  # What this process has appended to each file last
        self._unfinished: set[Path] = set()  # Files with an append that failed, whose bytes may still be there
        self.changed_by_others: set[Path] = set()  # Files whose length another program changed between appends

    def append(self, records: Sequence[JournalRecord]) -> None:
        """Write the records and wait for the disk. After a crash in between, the first few may be there, complete."""
        if records:
            if names := self.names:
                records = [replace(record, data=names.as_written(record.data)) for record in records]
            lines = b"".join(record.to_line() for record in records)
            name = f"{records[0].at:%Y-%m}" if self.kind.is_monthly else self._path.name
            path = (self._path if self.kind.is_monthly else self._path.parent) / f"{name}.jsonl"
            with journal_errors(path):
                end = self._end_for_append(path, records[0].at)
                try:
                    self._disk.append(path, lines)
                except OSError:
                    # Removing what was written may have failed as well.
                    self._ends[path] = end
                    self._unfinished.add(path)
                    raise
                self._ends[path] = end + len(lines)
                self._appended[path] = (self._appended.get(path, b"") + lines)[-_REMEMBERED:]

    def _end_for_append(self, path: Path, at: datetime) -> int:
        """Return the size of a file, which ends in a line feed; what a failed append has left is removed first."""
        size = path.stat().st_size if path.exists() else 0
        end = self._ends.get(path, size)
        if path in self._unfinished and size > end:
            self._disk.truncate(path, end)
            size = end
        self._unfinished.discard(path)
        if size != end:
            self.changed_by_others.add(path)
            log.warning("journal.changed_by_others", file=path.name, bytes_expected=end, bytes_found=size)
            lost = self._lost(path, end, size)
            self._disk.append(path, lost)
            size += len(lost)
        if size and not _ends_a_line(path):
            self._recover(path, at)
            size = path.stat().st_size
        return size

    def _lost(self, path: Path, end: int, size: int) -> bytes:
        """Return what a file lacks that an earlier version of it has replaced, if this process remembers that much."""
        appended = self._appended.pop(path, b"")
        still = size - (end - len(appended))
        if not 0 <= still < len(appended) or (size and not files.content(path).endswith(appended[:still])):
            return b""
        self._appended[path] = appended
        return appended[still:]

    def read(self) -> LogContent:
        """Return everything that can be read and is not forgotten. A tombstone counts wherever it is in the log."""
        content = LogContent.of(self._parsed())
        self.known_damage = len(content.damage)
        return content

    def records(self) -> Iterator[JournalRecord]:
        """Yield every readable record, forgotten ones and tombstones included, with the present names of projects."""
        damaged = 0
        for line in self._parsed():
            if line.record is None:
                damaged += 1
                continue
            data = self.names.as_read(line.record.data) if self.names else line.record.data
            yield line.record if data is line.record.data else replace(line.record, data=data)
        self.known_damage = damaged

    def mentioned(self, ids: Iterable[str]) -> set[str]:
        """Return the ids that a readable line is about, by a text search in the fixed form of lines."""
        sought = {json.dumps(record_id).encode() for record_id in ids}
        named = re.compile(rb'"id":("(?:[^"\\]|\\.)*"),"kind":"%s"' % self.kind.kind.encode())
        found = set()
        for path in self.segments() if sought else ():
            for _, line, _ in _lines(path):
                if not sought.isdisjoint(named.findall(line)) and (record := JournalRecord.find(line)):
                    found.add(record.id)
        return found

    def recover(self, at: datetime) -> list[Path]:
        """Move the last line of each segment, if it lacks its line feed, to a returned file `*.corrupt-<time>`."""
        return [aside for path in self.segments() if (aside := self._recover(path, at))]

    def _recover(self, path: Path, at: datetime) -> Path | None:
        torn = _torn_tail(path)
        self._forget(path)
        if torn and JournalRecord.find(torn + b"\n"):
            # Only the line feed is missing: an editor removed it, or a crash came just before it.
            with journal_errors(path):
                self._disk.append(path, b"\n")
        elif torn and JournalRecord.find(torn[:-1] + b"\n"):
            # Only the line feed is damaged.
            with journal_errors(path):
                self._disk.truncate(path, path.stat().st_size - 1)
                self._disk.append(path, b"\n")
        elif torn:
            aside = path.with_name(f"{path.name}{SET_ASIDE}{at:%Y%m%dT%H%M%S%fZ}")
            with journal_errors(aside):
                self._disk.replace(aside, torn)
            with journal_errors(path):
                self._disk.truncate(path, path.stat().st_size - len(torn))
            return aside
        return None

    def purge(self) -> Purge:
        """Rewrite the files without the lines about forgotten ids, each file in one step. Nothing may append."""
        lines = list(self._parsed())
        content = LogContent.of(lines)
        forgotten = content.forgotten
        if not forgotten:
            return Purge()
        removed = {
            line.text: b""
            for line in lines
            if (said := line.record) and not said.is_tombstone and (said.kind, said.id) in forgotten
        }
        doubtful = {damage.path for damage in content.damage}.union(self.set_aside_files())
        return Purge(self.rewrite(removed), sorted(doubtful))

    def rewrite(self, changes: Mapping[bytes, bytes]) -> dict[Path, int]:
        """Replace lines, also set-aside ones, or remove them by an empty replacement. Return the number by file."""
        rewritten: dict[Path, int] = {}
        for path in (*self.segments(), *self.set_aside_files()) if changes else ():
            lines = [line for _, line, _ in _lines(path)]
            if count := sum(line in changes for line in lines):
                # First: the disk may refuse to say that it is replaced.
                self._forget(path)
                with journal_errors(path):
                    self._disk.replace(path, b"".join(changes.get(line, line) for line in lines))
                rewritten[path] = count
        return rewritten

    def raw_lines(self) -> Iterator[tuple[Path, int, bytes]]:
        """Yield the file, the number from 1 and the bytes of every line, readable or not, also of kept torn lines."""
        for path in (*self.segments(), *self.set_aside_files()):
            for number, line, _ in _lines(path):
                yield path, number, line

    def set_aside_files(self) -> list[Path]:
        """Return the files that `recover` has moved torn lines to."""
        folder, name = (self._path, "*") if self.kind.is_monthly else (self._path.parent, self._path.name)
        return matching(folder, f"{name}.jsonl{SET_ASIDE}*")

    def segments(self) -> list[Path]:
        """Return the log's files, oldest first."""
        return [path for path in self._named() if not is_in_the_way(path)]

    def _named(self) -> list[Path]:
        """Return what has the name of a file of the log."""
        if self.kind.is_monthly:
            return matching(self._path, "*.jsonl")
        return matching(self._path.parent, f"{self._path.name}.jsonl")

    def _parsed(self) -> Iterator[Line]:
        for path in filter(is_in_the_way, self._named()):
            log.warning("journal.no_file", file=path.name)
            yield Line(path, 0, b"", None, "a folder or something else stands where the file belongs")
        for path in self.segments():
            size = 0
            for number, text, last in _lines(path):
                size += len(text)
                try:
                    yield Line(path, number, text, JournalRecord.from_line(text))
                except DamagedLineError as error:
                    yield Line(path, number, text, None, str(error), torn=last and not text.endswith(b"\n"))
            self._ends.setdefault(path, size)

    def _forget(self, path: Path) -> None:
        """Forget what this process knew of a file that it changes otherwise than by appending."""
        self._ends.pop(path, None)
        self._appended.pop(path, None)


def _ends_a_line(path: Path) -> bool:
    with os.fdopen(files.open_file(path), "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read() == b"\n"


def _torn_tail(path: Path) -> bytes:
    """Return the last line if it has no line feed, else nothing."""
    tail = b""
    with journal_errors(path), os.fdopen(files.open_file(path), "rb") as file:
        start = file.seek(0, os.SEEK_END)
        while start and b"\n" not in tail:
            start = file.seek(max(0, start - _TAIL))
            tail = file.read()
    return tail[tail.rfind(b"\n") + 1 :]


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield (line number from 1, line with its line feed, whether it is the last)."""
    with journal_errors(path), os.fdopen(files.open_file(path), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        for number, line in enumerate(file, start=1):
            size -= len(line)
            yield number, line, size <= 0
            if size <= 0:
                # What comes after that is being written: perhaps the rest of a line whose beginning was just read.
                return
