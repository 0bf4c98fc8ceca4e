"""One line of a journal file, and the file of an open entry.

A line is a JSON object `{"at", "data", "id", "kind", "sum", "v"}` with sorted keys and no spaces, in UTF-8.
`sum`, the checksum, is the SHA-256 of the line's canonical JSON without `sum`, so that damage is detected.
The file of an open entry is its data as one JSON object, with the version and such a checksum.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.codec import MALFORMED, Codec
from learning_memory_server.journal.formats import (
    TOMBSTONE,
    UNNAMED,
    is_tombstone,
    is_version,
    refuse_earlier,
    refuse_newer,
)
from learning_memory_server.version import JOURNAL_FORMAT

T = TypeVar("T")

_FIELDS: Final = ("kind", "id", "at", "data", "sum")
"""What every line has besides its version."""


_SUM: Final = b',"sum":"'
END: Final = b',"v":%d}' % JOURNAL_FORMAT
"""The end of a line in the present format, without its line feed."""
_DIGITS: Final = hashlib.sha256().digest_size * 2


class _Fields(msgspec.Struct):
    kind: str
    id: str
    at: str
    data: Any


_FIELDS_OF: Final = msgspec.json.Decoder(_Fields)


class DamagedLineError(ValueError):
    """A line is not as it was written."""


@dataclass(frozen=True, slots=True)
class JournalRecord:
    """What one line says."""

    kind: str  # what `data` describes: ghap, value, verdict, advice, failure, memory, clusters or server
    # The id of the thing described. A later line of the same kind and id supersedes this one, except that lines about
    # clusters add up.
    id: str
    at: datetime  # when the line was written, in UTC
    data: dict[str, Any]  # the description in JSON types, or a tombstone's data

    @classmethod
    def of(cls, codec: Codec[Any], thing: Any, at: datetime | None = None) -> JournalRecord:  # noqa: ANN401
        """Return the record of a thing, written at a time that is by default its own."""
        return cls(codec.kind, thing.id, at or thing.created_at, codec.encode(thing))

    @classmethod
    def tombstone(
        cls, kind: str, record_id: str, at: datetime, details: Mapping[str, Any] = MappingProxyType({})
    ) -> JournalRecord:
        """Return the record that marks the thing of this kind and id as forgotten, with any details."""
        return cls(kind, record_id, at, {**TOMBSTONE, **details})

    @property
    def is_tombstone(self) -> bool:
        """Whether it marks the thing as forgotten."""
        return is_tombstone(self.data)

    def to_fields(self) -> dict[str, Any]:
        """Return the record as an object in JSON types."""
        return {"kind": self.kind, "id": self.id, "at": self.at.isoformat(), "data": self.data}

    def to_line(self) -> bytes:
        """Return the line, with its line feed."""
        body = {"v": JOURNAL_FORMAT, **self.to_fields()}
        return _canonical({**body, "sum": digest(body)}) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> JournalRecord:
        """Return the record in `line`, which ends with a line feed.

        Raises:
            DamagedLineError: If the line is torn, edited or not a record.
            JournalUnavailableError: If it is undamaged, and in another format, or a newer program wrote it.
        """
        # In a line that is as it was written, the checksum covers the bytes without it. Writing these again to check it
        # takes four times as long, and a start reads every line.
        before, _, after = line.rpartition(_SUM)
        if after[_DIGITS:] == b'"%s\n' % END and after[:_DIGITS] == _sha256(before + END).encode():
            with suppress(msgspec.MsgspecError, ValueError):
                found = _FIELDS_OF.decode(line)
                return cls(found.kind, found.id, datetime.fromisoformat(found.at), found.data)
        return cls._from_any_form(line)

    @classmethod
    def _from_any_form(cls, line: bytes) -> JournalRecord:
        if not line.endswith(b"\n"):
            raise DamagedLineError("the line was not finished")
        body = _parsed(line)
        version = body.get("v")
        if not is_version(version):
            raise DamagedLineError("it has no version (`v`)")
        refuse_newer(version)
        if missing := [f"`{name}`" for name in _FIELDS if name not in body]:
            raise DamagedLineError(f"it has no {', '.join(missing)}")
        _verify(body, body.pop("sum"))
        refuse_earlier(version)
        kind, record_id, data = body["kind"], body["id"], body["data"]
        try:
            at = datetime.fromisoformat(body["at"])
        except (TypeError, ValueError) as error:
            raise DamagedLineError("its time (`at`) is not an ISO 8601 datetime") from error
        if not (isinstance(kind, str) and isinstance(record_id, str)):
            raise DamagedLineError("its kind or its id is not text")
        return cls(kind, record_id, at, data)

    def decoded(self, decode: Callable[[dict[str, Any]], T]) -> T:
        """Return what `data` describes; refuse what this program does not know, although the line is undamaged."""
        try:
            return decode(self.data)
        except MALFORMED as error:
            raise JournalUnavailableError(
                f"The journal's line about {self.id} is undamaged, but this program does not understand it "
                f"({type(error).__name__}).",
                hint="It may come from a newer learning-memory-server: update this one; nothing was changed.",
            ) from error


def with_data(line: bytes, data: dict[str, Any]) -> bytes:
    """Return a readable line with its data replaced, in the same version of the format."""
    body = json.loads(line) | {"data": data}
    del body["sum"]
    return _canonical({**body, "sum": digest(body)}) + b"\n"


def open_file_of(data: dict[str, Any]) -> bytes:
    """Return the content of an open entry's file."""
    content = {"v": JOURNAL_FORMAT, **data}
    return json.dumps({**content, "sum": digest(content)}, ensure_ascii=False, indent=1).encode()


def content_of(text: bytes) -> dict[str, Any]:
    """Return the data in an open entry's file. A person who edits one removes its checksum. Raises as `from_line`."""
    content = _parsed(text)
    version = content.get("v", UNNAMED if "goal" in content else None)
    if not is_version(version):
        raise DamagedLineError("it has no version (`v`)")
    refuse_newer(version)
    stated = content.pop("sum", None)
    if stated is not None:
        _verify(content, stated)
    refuse_earlier(version)
    del content["v"]
    return content


def _parsed(text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedLineError("it is not JSON") from error
    if not isinstance(content, dict):
        raise DamagedLineError("it is not a JSON object")
    return content


def _verify(content: dict[str, Any], stated: object) -> None:
    try:
        actual = digest(content)
    except ValueError as error:
        raise DamagedLineError("it is not valid Unicode") from error
    if stated != actual:
        raise DamagedLineError("the checksum does not match")


def _canonical(body: dict[str, Any]) -> bytes:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def digest(body: dict[str, Any]) -> str:
    """Return the SHA-256 of the object's canonical JSON, in hexadecimal."""
    return _sha256(_canonical(body))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
