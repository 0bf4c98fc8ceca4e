"""Secrets in stored lines and files, which were stored before a pattern was known, and the same without them."""

import hashlib
import json
import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from learning_memory_server.journal.codec import DamagedLineError, JournalRecord, content_of, open_file_of, with_data
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import KINDS
from learning_memory_server.journal.log import journal_errors
from learning_memory_server.redaction.base import Redactor
from learning_memory_server.redaction.gate import RedactedData, redact_data

OPEN_ENTRY: Final = "open entry"
UNREADABLE: Final = "unreadable"
_SHOWN: Final = {"ghap": "entry"}  # What people call a kind, if they use another word

_ABOUT: Final = re.compile(rb'"id":"(?P<id>[\w-]+)","kind":"(?P<kind>\w+)","sum":"[0-9a-f]{64}","v":\d+\}\n$')
"""The end of a line: keys are sorted."""
_TAIL: Final = 400  # Bytes in which that fits, unless an id is longer than any that is imported


@dataclass(frozen=True, slots=True)
class Finding:
    """Secrets of one kind in one place."""

    what: str  # what they are in: an entry, a value, a memory, or something that cannot be read
    id: str  # its id; of something that cannot be read, the file and the line
    field: str
    secret: str
    count: int
    key: tuple[str, str] | None = None  # the kind and the id in the journal; None if neither can be read


@dataclass(frozen=True, slots=True)
class Scanned:
    """A line or a file that was looked at."""

    text: bytes
    findings: tuple[Finding, ...] = ()


class Scanner:
    """Looks for secrets in lines and files. A clean one is read once, however many backups contain it."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._clean: set[bytes] = set()

    def line(self, text: bytes, place: str) -> Scanned:
        """Look at a line of a log; `place` is what to call it if it cannot be read."""
        return self._once(text, lambda: self._line(text, place))

    def open_file(self, text: bytes, place: str) -> Scanned:
        """Look at the file of an open entry; see `line`."""
        return self._once(text, lambda: self._open_file(text, place))

    def redact(self, kind: str, data: Any) -> RedactedData:
        """Return a record's data without its secrets. The program's own fields stay."""
        redacted = redact_data(self._redactor, data, KINDS[kind].own.split() if kind in KINDS else ())
        if kind == "memory" and redacted.kinds and redacted.data.get("text") != data.get("text"):
            redacted.data.pop("cuts", None)  # The chunks of another text
        return redacted

    def _once(self, text: bytes, look: Callable[[], Scanned]) -> Scanned:
        digest = hashlib.blake2b(text, digest_size=16).digest()
        if digest in self._clean:
            return Scanned(text)
        scanned = look()
        if not scanned.findings:
            self._clean.add(digest)
        return scanned

    def _line(self, text: bytes, place: str) -> Scanned:
        whole = text if text.endswith(b"\n") else text + b"\n"
        try:
            record = JournalRecord.from_line(whole)
        except DamagedLineError:
            return self._unreadable(text, place)
        redacted = self.redact(record.kind, json.loads(whole)["data"])
        if not redacted.kinds:
            return Scanned(text)
        what = _SHOWN.get(record.kind, record.kind)
        return Scanned(with_data(whole, redacted.data), self._findings(what, (record.kind, record.id), redacted))

    def _open_file(self, text: bytes, place: str) -> Scanned:
        try:
            data = content_of(text)
        except DamagedLineError:
            data = {}
        if not isinstance(data.get("id"), str):
            return self._unreadable(text, place)
        redacted = self.redact("ghap", data)
        if not redacted.kinds:
            return Scanned(text)
        return Scanned(open_file_of(redacted.data), self._findings(OPEN_ENTRY, ("ghap", data["id"]), redacted))

    def _findings(self, what: str, key: tuple[str, str], redacted: RedactedData) -> tuple[Finding, ...]:
        # An id should not be a secret, but if it is one, it must not be shown.
        name = self._redactor.redact(key[1]).text
        return tuple(
            Finding(what, name, field, secret, count, key)
            for field, kinds in redacted.places.items()
            for secret, count in kinds.items()
        )

    def _unreadable(self, text: bytes, place: str) -> Scanned:
        """Look at bytes that are not what they should be. Nothing but their secrets changes."""
        body = text.removesuffix(b"\n")
        redacted = self._redactor.redact(body.decode("utf-8", "surrogateescape"))
        if not redacted.kinds:
            return Scanned(text)
        changed = redacted.text.encode("utf-8", "surrogateescape") + text[len(body) :]
        key = _key(text)
        return Scanned(
            changed,
            tuple(Finding(UNREADABLE, place, "", secret, count, key) for secret, count in redacted.kinds.items()),
        )


def scan_journal(
    journal: Journal,
    scanner: Scanner,
    report: Callable[[int, int], None],
    only: Container[tuple[str, str]] | None = None,
) -> Iterator[tuple[bytes, Scanned]]:
    """Look for secrets in every open entry and every line of a journal. Yield each text and the findings.

    Args:
        report: Called with the number of bytes so far, and the number in all.
        only: The kinds and ids of the records to look at, besides lines and files that name none; None for all.
    """
    total, done = journal.size(), 0
    for text, look in _texts(journal, scanner):
        key = None if only is None else _key(text)
        if key is None or only is None or key in only:
            yield text, look()
        done += len(text)
        report(done, max(done, total))


def _texts(journal: Journal, scanner: Scanner) -> Iterator[tuple[bytes, Callable[[], Scanned]]]:
    """Yield every open file and every line, with a function that scans it."""
    # Open entries first: one that is resolved in between is then in the log.
    for path in journal.open_files():
        with journal_errors(path):
            try:
                text = path.read_bytes()
            except FileNotFoundError:
                continue
        yield text, partial(scanner.open_file, text, _place(journal, path))
    for path, number, text in journal.raw_lines():
        yield text, partial(scanner.line, text, f"{_place(journal, path)}:{number}")


def _key(text: bytes) -> tuple[str, str] | None:
    """Return the kind and the id that the end of a line names, if it is as this program writes it."""
    about = _ABOUT.search(text[-_TAIL:])
    return (about["kind"].decode(), about["id"].decode("utf-8", "replace")) if about else None


def _place(journal: Journal, path: Path) -> str:
    return path.relative_to(journal.path).as_posix()
