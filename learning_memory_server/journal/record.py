"""One line of a journal file.

A line is a JSON object `{"at", "data", "id", "kind", "sum", "v"}` with sorted keys and no spaces, in UTF-8.
`sum` is the SHA-256 of the line's canonical JSON without `sum`, so that damage is seen, not believed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import MALFORMED
from learning_memory_server.journal.formats import CURRENT, TOMBSTONE, is_tombstone, is_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from learning_memory_server.journal.formats import Format

    T = TypeVar("T")


class DamagedLineError(ValueError):
    """A line that is not what was written."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """What a line says.

    Args:
        kind: What `data` describes: ghap, value, memory, evidence, or clusters.
        id: The id of the thing described. A later line with the same kind and id supersedes it, or, about clusters,
            continues it.
        at: When the line was written, in UTC.
        data: The description, in JSON types; or that the thing is forgotten.
    """

    kind: str
    id: str
    at: datetime
    data: dict[str, Any]

    @classmethod
    def tombstone(cls, kind: str, record_id: str, at: datetime) -> JournalRecord:
        """Return the record which says that what has this kind and id is forgotten."""
        return cls(kind, record_id, at, dict(TOMBSTONE))

    @property
    def is_tombstone(self) -> bool:
        """Whether it says that its thing is forgotten, and nothing else."""
        return is_tombstone(self.data)

    def to_line(self, form: Format = CURRENT) -> bytes:
        """Return the line, with its line feed."""
        body = {
            "v": form.version,
            "kind": self.kind,
            "id": self.id,
            "at": self.at.isoformat(),
            "data": self.data,
        }
        return _canonical({**body, "sum": _digest(body)}) + b"\n"

    @classmethod
    def from_line(cls, line: bytes, form: Format = CURRENT) -> JournalRecord:
        """Return the record that `line`, which ends with a line feed, holds; its data as `form` has it.

        Raises:
            DamagedLineError: If the line is torn, edited or no record.
            JournalUnavailableError: If a newer program wrote it, or its data cannot be brought forward.
        """
        if not line.endswith(b"\n"):
            raise DamagedLineError("the line was not finished")
        try:
            body = json.loads(line)
            version = body["v"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DamagedLineError(str(error)) from error
        if not is_version(version):
            raise DamagedLineError("it has no version")
        form.refuse_newer(version)
        try:
            stated = body.pop("sum")
            actual = _digest(body)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise DamagedLineError(str(error)) from error
        if stated != actual:
            raise DamagedLineError("the checksum does not match")
        try:
            kind, record_id, at = body["kind"], body["id"], datetime.fromisoformat(body["at"])
            data = body["data"]
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedLineError(str(error)) from error
        if not (isinstance(kind, str) and isinstance(record_id, str)):
            raise DamagedLineError("its kind or its id is no text")
        return cls(kind, record_id, at, _understood(record_id, lambda: form.upgraded(kind, data, version)))

    def decoded(self, decode: Callable[[dict[str, Any]], T]) -> T:
        """Return what `data` describes.

        Raises:
            JournalUnavailableError: If it describes nothing that this program knows, though it is undamaged.
        """
        return _understood(self.id, lambda: decode(self.data))


def _understood(record_id: str, read: Callable[[], T]) -> T:
    try:
        return read()
    except MALFORMED as error:
        raise JournalUnavailableError(
            f"The journal's line about {record_id} is undamaged, but means nothing to this program "
            f"({type(error).__name__}).",
            hint="It may come from a newer learning-memory-server: update this one; nothing was changed.",
        ) from error


def _canonical(body: dict[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(body)).hexdigest()
