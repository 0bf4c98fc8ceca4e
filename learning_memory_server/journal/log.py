"""An append-only log of records, in one file or in one file a month."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from learning_memory_server.journal import files
from learning_memory_server.journal.record import DamagedLineError, JournalRecord, refuse_newer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

_VERSION: Final = re.compile(rb',"v":(\d{1,9})\}\n')
"""The end of a line: its keys are sorted, so the version comes last."""


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that could not be read. `torn` is true of an unfinished last line: a crash during a write."""

    path: Path
    line_number: int
    reason: str
    torn: bool


@dataclass(frozen=True, slots=True)
class LogContent:
    """What a log holds: its readable records, oldest first, and the lines that are damaged."""

    records: list[JournalRecord] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)


class Log:
    """Records in `{path}.jsonl`, or in `{path}/YYYY-MM.jsonl` by the month they were written in.

    Reading never changes a file, so it is safe beside a process that writes. Only the process that holds
    the journal's lock may append or `recover`.

    Args:
        path: The log's place, without the ending.
        monthly: Whether to use one file a month.
    """

    def __init__(self, path: Path, *, monthly: bool = False) -> None:
        self._path = path
        self._monthly = monthly

    def append(self, records: Sequence[JournalRecord]) -> None:
        """Write the records and wait for the disk.

        A crash in between leaves the first of them, whole; nobody was told yet that they were written.

        Raises:
            JournalUnavailableError: If they could not be written; then none of them was.
        """
        if records:
            files.append(self._segment(records[0].at), b"".join(record.to_line() for record in records))

    def read(self) -> LogContent:
        """Return everything that can be read.

        Raises:
            JournalUnavailableError: If a file cannot be opened, or a newer program wrote it.
        """
        content = LogContent()
        for path in self.segments():
            for number, line, last in _lines(path):
                try:
                    content.records.append(JournalRecord.from_line(line))
                except DamagedLineError as error:
                    content.damage.append(Damage(path, number, str(error), torn=last))
        return content

    def refuse_newer_format(self) -> None:
        """Look for lines of a newer format, without reading more of a line than its end: each start waits for it.

        Raises:
            JournalUnavailableError: If there is one.
        """
        for path in self.segments():
            with files.journal_errors(path):
                content = path.read_bytes()
            for match in _VERSION.finditer(content):
                refuse_newer(int(match[1]))

    def mentioned(self, kind: str, ids: Iterable[str]) -> set[str]:
        """Return those of the ids that there is a readable line about, found by the form that every line has."""
        sought = [f'"id":{json.dumps(record_id)},"kind":"{kind}"'.encode() for record_id in ids]
        found = set()
        for path in self.segments() if sought else ():
            with files.journal_errors(path):
                content = path.read_bytes()
            for text in sought:
                for match in re.finditer(re.escape(text), content):
                    start = content.rfind(b"\n", 0, match.start()) + 1
                    end = content.find(b"\n", match.end()) + 1
                    with suppress(DamagedLineError):
                        found.add(JournalRecord.from_line(content[start:end]).id)
        return found

    def recover(self, at: datetime) -> list[Path]:
        """Set a torn last line of any segment aside as `*.corrupt-<time>` and return those files.

        Damage elsewhere is left alone: it is no crash's trace, and a person should see it.

        Raises:
            JournalUnavailableError: If a newer program wrote the log; nothing is changed then.
        """
        self.refuse_newer_format()
        set_aside = []
        for path in self.segments():
            torn = _torn_tail(path)
            if torn and _is_whole(torn + b"\n"):
                # Only the line feed is missing: an editor took it, or the crash fell just before it.
                files.append(path, b"\n")
            elif torn:
                aside = path.with_name(f"{path.name}.corrupt-{at:%Y%m%dT%H%M%S%fZ}")
                files.replace(aside, torn)
                with files.journal_errors(path), path.open("r+b") as file:
                    file.truncate(path.stat().st_size - len(torn))
                    file.flush()
                set_aside.append(aside)
        return set_aside

    def segments(self) -> list[Path]:
        """Return the files there are, oldest first."""
        if self._monthly:
            return sorted(self._path.glob("*.jsonl")) if self._path.is_dir() else []
        path = self._path.with_name(self._path.name + ".jsonl")
        return [path] if path.exists() else []

    def _segment(self, at: datetime) -> Path:
        if self._monthly:
            return self._path / f"{at:%Y-%m}.jsonl"
        return self._path.with_name(self._path.name + ".jsonl")


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield (line number from 1, line with its line feed, whether it is the last)."""
    with files.journal_errors(path):
        lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        yield number, line, number == len(lines)


def _is_whole(line: bytes) -> bool:
    try:
        JournalRecord.from_line(line)
    except DamagedLineError:
        return False
    return True


def _torn_tail(path: Path) -> bytes:
    """Return the last line if it is unfinished or unreadable, else nothing."""
    for _, line, last in _lines(path):
        if last and not _is_whole(line):
            return line
    return b""
