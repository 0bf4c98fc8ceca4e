"""One line of a journal file.

A line is a JSON object `{"at", "data", "id", "kind", "sum", "v"}` with sorted keys and no spaces, in UTF-8.
`sum` is the SHA-256 of the line's canonical JSON without `sum`, so that damage is seen, not believed.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from learning_memory_server.errors import JournalUnavailableError, LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable

    T = TypeVar("T")

FORMAT_VERSION: Final = 1


class DamagedLineError(ValueError):
    """A line that is not what was written."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """What a line says.

    Args:
        kind: What `data` describes: ghap, value, clusters.
        id: The id of the thing described; a later line with the same kind and id supersedes it.
        at: When the line was written, in UTC.
        data: The description, in JSON types.
    """

    kind: str
    id: str
    at: datetime
    data: dict[str, Any]

    def to_line(self) -> bytes:
        """Return the line, with its line feed."""
        body = {
            "v": FORMAT_VERSION,
            "kind": self.kind,
            "id": self.id,
            "at": self.at.isoformat(),
            "data": self.data,
        }
        return _canonical({**body, "sum": _digest(body)}) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> JournalRecord:
        """Return the record that `line`, which ends with a line feed, holds.

        Raises:
            DamagedLineError: If the line is torn, edited or no record.
            JournalUnavailableError: If a newer program wrote it.
        """
        if not line.endswith(b"\n"):
            raise DamagedLineError("the line was not finished")
        try:
            body = json.loads(line)
            version = body["v"]
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DamagedLineError(str(error)) from error
        if isinstance(version, int):
            refuse_newer(version)
        try:
            stated = body.pop("sum")
            actual = _digest(body)
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise DamagedLineError(str(error)) from error
        if stated != actual:
            raise DamagedLineError("the checksum does not match")
        try:
            return cls(body["kind"], body["id"], datetime.fromisoformat(body["at"]), body["data"])
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedLineError(str(error)) from error

    def decoded(self, decode: Callable[[dict[str, Any]], T]) -> T:
        """Return what `data` describes.

        Raises:
            JournalUnavailableError: If it describes nothing that this program knows, though it is undamaged.
        """
        try:
            return decode(self.data)
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            RecursionError,
            LearningMemoryError,
        ) as error:
            raise JournalUnavailableError(
                f"The journal's line about {self.id} is undamaged, but means nothing to this program ({type(error).__name__}).",
                hint="It may come from a newer learning-memory-server: update this one; nothing was changed.",
            ) from error


def refuse_newer(version: int) -> None:
    """Refuse a format that this program does not know.

    Raises:
        JournalUnavailableError: If the version is above `FORMAT_VERSION`.
    """
    if version > FORMAT_VERSION:
        raise JournalUnavailableError(
            f"The journal has entries of format {version}; this program reads up to {FORMAT_VERSION}.",
            hint="Update learning-memory-server; nothing was changed.",
        )


def _canonical(body: dict[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _digest(body: dict[str, Any]) -> str:
    return hashlib.sha256(_canonical(body)).hexdigest()
