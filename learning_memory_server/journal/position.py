"""How far logs were read, in a form that another process can check: what lies before must be the same bytes."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from learning_memory_server.journal.disk import journal_errors
from learning_memory_server.journal.line import DamagedLineError, JournalRecord
from learning_memory_server.journal.log import Log

_READ_AT_ONCE: Final = 1 << 20

_Read = dict[str, tuple[int, Any]]
"""For each file, how many bytes were read, and their hash, which takes more of them."""


class Position:
    """A position in logs that are only appended to: at first their beginning.

    If lines before it are rewritten, its marks agree with no file any more.
    """

    def __init__(self, logs: Sequence[Log]) -> None:
        self._logs = logs
        self._read: _Read = {}

    def marks(self) -> dict[str, tuple[int, str]]:
        """Return what `resume` takes: for each file, how many bytes lie before the position, and their SHA-256."""
        return {name: (size, digest.hexdigest()) for name, (size, digest) in self._read.items()}

    def resume(self, marks: Mapping[str, tuple[int, str]]) -> bool:
        """Go to the position of these marks. If the files do not have exactly that before it, stay and return False."""
        files = dict(self._files())
        read: _Read = {}
        for name, (size, expected) in marks.items():
            if name not in files:
                return False
            digest = hashlib.sha256()
            for part in _parts(files[name], size):
                digest.update(part)
            if digest.hexdigest() != expected:
                return False
            read[name] = size, digest
        self._read = read
        return True

    def advance(self) -> Iterator[JournalRecord]:
        """Go to the end, and return the records of the complete lines on the way there, tombstones included."""
        added: list[bytes] = []
        for name, path in self._files():
            size, digest = self._read.get(name) or (0, hashlib.sha256())
            with journal_errors(path), path.open("rb") as file:
                file.seek(size)
                rest = file.read()
            lines = rest[: rest.rfind(b"\n") + 1]
            digest.update(lines)
            self._read[name] = size + len(lines), digest
            added.append(lines)
        return _records(added)

    def _files(self) -> Iterator[tuple[str, Path]]:
        for log in self._logs:
            for path in log.segments():
                yield f"{path.parent.name}/{path.name}", path


def _parts(path: Path, size: int) -> Iterator[bytes]:
    """Yield the first `size` bytes of a file, or all that it has."""
    with journal_errors(path), path.open("rb") as file:
        while part := file.read(min(size, _READ_AT_ONCE)):
            yield part
            size -= len(part)


def _records(added: Sequence[bytes]) -> Iterator[JournalRecord]:
    for lines in added:
        for line in lines.splitlines(keepends=True):
            with suppress(DamagedLineError):
                yield JournalRecord.from_line(line)
