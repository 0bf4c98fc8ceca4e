"""An append-only log of records, in one file or in one file a month."""

from __future__ import annotations

import json
import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from learning_memory_server.journal import files
from learning_memory_server.journal.content import Damage, Line, LogContent, Purge
from learning_memory_server.journal.formats import CURRENT
from learning_memory_server.journal.record import DamagedLineError, JournalRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime
    from pathlib import Path

    from learning_memory_server.journal.files import Disk
    from learning_memory_server.journal.formats import Format

_VERSION: Final = re.compile(rb',"v":(\d{1,9})\}\n')
"""The end of a line: its keys are sorted, so the version comes last."""

SET_ASIDE: Final = ".corrupt-"
"""What stands in the name of a file of set-aside bytes, between the log's name and the time."""


class Log:
    """Records in `{path}.jsonl`, or in `{path}/YYYY-MM.jsonl` by the month they were written in.

    Reading never changes a file, so it is safe beside a process that writes. Only the process that holds
    the journal's lock may append or `recover`.

    Args:
        path: The log's place, without the ending.
        monthly: Whether to use one file a month.
        form: The version that is written, and brought forward to in reading.
        disk: What writes.
    """

    def __init__(
        self, path: Path, *, monthly: bool = False, form: Format = CURRENT, disk: Disk = files
    ) -> None:
        self._path = path
        self._monthly = monthly
        self._form = form
        self._disk = disk

    def append(self, records: Sequence[JournalRecord]) -> None:
        """Write the records and wait for the disk.

        A crash in between leaves the first of them, whole; nobody was told yet that they were written.

        Raises:
            JournalUnavailableError: If they could not be written; then none of them was.
        """
        if records:
            lines = b"".join(record.to_line(self._form) for record in records)
            self._disk.append(self._segment(records[0].at), lines)

    def forget(self, kind: str, ids: Iterable[str], at: datetime) -> None:
        """Write down that the ids of a kind are forgotten. That is final: no later line brings one back.

        Raises:
            JournalUnavailableError: If it could not be written; then nothing is forgotten.
        """
        self.append([JournalRecord.tombstone(kind, record_id, at) for record_id in ids])

    def read(self) -> LogContent:
        """Return everything that can be read and is not forgotten.

        A tombstone counts wherever it stands: a clock that was set back, or a copy that was put together from
        several, must not bring anything back.

        Raises:
            JournalUnavailableError: If a file cannot be opened, or a newer program wrote it.
        """
        return LogContent.of(self._parsed())

    def refuse_newer_format(self) -> None:
        """Look for lines of a newer format, without reading more of a line than its end: each start waits for it.

        Raises:
            JournalUnavailableError: If there is one.
        """
        for path in self.segments():
            with files.journal_errors(path):
                content = path.read_bytes()
            for match in _VERSION.finditer(content):
                self._form.refuse_newer(int(match[1]))

    def mentioned(self, kind: str, ids: Iterable[str]) -> set[str]:
        """Return those of the ids that there is a readable line about, a tombstone included.

        They are found by the form that every line has, which is quicker than reading all lines.
        """
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
                        found.add(JournalRecord.from_line(content[start:end], self._form).id)
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
            torn = self._torn_tail(path)
            if torn and self._is_whole(torn + b"\n"):
                # Only the line feed is missing: an editor took it, or the crash fell just before it.
                self._disk.append(path, b"\n")
            elif torn:
                aside = path.with_name(f"{path.name}{SET_ASIDE}{at:%Y%m%dT%H%M%S%fZ}")
                self._disk.replace(aside, torn)
                with files.journal_errors(path):
                    size = path.stat().st_size
                self._disk.truncate(path, size - len(torn))
                set_aside.append(aside)
        return set_aside

    def purge(self) -> Purge:
        """Rewrite the files without the lines of what is forgotten.

        Tombstones stay, and so do damaged lines, byte for byte. Each file is replaced as a whole, so a crash
        leaves every one as it was or purged, and purging again does the rest. Nothing may be appended meanwhile.

        Raises:
            JournalUnavailableError: If a file could not be replaced; it is as it was then.
        """
        lines = list(self._parsed())
        content = LogContent.of(lines)
        if not content.forgotten:
            return Purge()
        kept: dict[Path, list[bytes]] = {}
        removed: Counter[Path] = Counter()
        for line in lines:
            said = line.record
            if said and not said.is_tombstone and (said.kind, said.id) in content.forgotten:
                removed[line.path] += 1
            else:
                kept.setdefault(line.path, []).append(line.text)
        for path in removed:
            self._disk.replace(path, b"".join(kept.get(path, ())))
        doubtful = {damage.path for damage in content.damage}.union(self.set_aside_files())
        return Purge(dict(removed), sorted(doubtful))

    def set_aside_files(self) -> list[Path]:
        """Return the files that `recover` has put torn lines into."""
        folder, name = (self._path, "*") if self._monthly else (self._path.parent, self._path.name)
        return files.matching(folder, f"{name}.jsonl{SET_ASIDE}*")

    def segments(self) -> list[Path]:
        """Return the files there are, oldest first.

        Raises:
            JournalUnavailableError: If their folder cannot be read.
        """
        if self._monthly:
            return files.matching(self._path, "*.jsonl")
        return files.matching(self._path.parent, f"{self._path.name}.jsonl")

    def _segment(self, at: datetime) -> Path:
        if self._monthly:
            return self._path / f"{at:%Y-%m}.jsonl"
        return self._path.with_name(self._path.name + ".jsonl")

    def _parsed(self) -> Iterator[Line]:
        for path in self.segments():
            for number, text, last in _lines(path):
                try:
                    yield Line(path, text, JournalRecord.from_line(text, self._form))
                except DamagedLineError as error:
                    yield Line(path, text, None, Damage(path, number, str(error), torn=last))

    def _is_whole(self, line: bytes) -> bool:
        try:
            JournalRecord.from_line(line, self._form)
        except DamagedLineError:
            return False
        return True

    def _torn_tail(self, path: Path) -> bytes:
        """Return the last line if it is unfinished or unreadable, else nothing."""
        for _, line, last in _lines(path):
            if last and not self._is_whole(line):
                return line
        return b""


def _lines(path: Path) -> Iterator[tuple[int, bytes, bool]]:
    """Yield (line number from 1, line with its line feed, whether it is the last)."""
    with files.journal_errors(path):
        lines = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(lines, start=1):
        yield number, line, number == len(lines)
