"""Records as lines of the journal, and open entries as files, with their checksums. See `journal/README.md`."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final, TypeVar

import msgspec

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal.kinds import MALFORMED, RecordKind
from learning_memory_server.version import JOURNAL_FORMAT

T = TypeVar("T")


def refuse_another(version: int) -> None:
    """Refuse a format that this program does not read."""
    if version != JOURNAL_FORMAT:
        raise JournalUnavailableError(
            f"The journal has entries of format {version}; this program reads format {JOURNAL_FORMAT}.",
            hint="Update learning-memory-server, or use the version that wrote them; nothing was changed.",
        )


TOMBSTONE: Final[Mapping[str, Any]] = {"forgotten": True}  # Marks an id as forgotten, whatever other lines say

VERSION: Final = re.compile(rb',"v":([1-9]\d{0,8})\}\n')  # The end of a line: keys are sorted, the version is last


def is_tombstone(data: object) -> bool:
    """Return whether this is a tombstone's data."""
    return isinstance(data, dict) and data.get("forgotten") is True


_FIELDS: Final = ("kind", "id", "at", "data", "sum")  # The fields of every line, except its version

_SUM: Final = b',"sum":"'
END: Final = b',"v":%d}' % JOURNAL_FORMAT  # The end of a line in the present format, without its line feed
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

    kind: str  # a key of `KINDS`
    # The id of the thing described. A later line of the same kind and id supersedes this one, except that lines about
    # clusters add up.
    id: str
    at: datetime  # when the line was written, in UTC
    data: dict[str, Any]  # the description in JSON types, or a tombstone's data

    @classmethod
    def of(cls, codec: RecordKind[Any], thing: Any, at: datetime | None = None) -> JournalRecord:
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
        """Return the record in a whole line; `DamagedLineError`, or `JournalUnavailableError` for another format."""
        # In a line that is as it was written, the checksum covers the bytes without it. Writing these again to check it
        # takes four times as long, and a start reads every line.
        before, _, after = line.rpartition(_SUM)
        if after[_DIGITS:] == b'"%s\n' % END and after[:_DIGITS] == _sha256(before + END).encode():
            with suppress(msgspec.MsgspecError, ValueError):
                found = _FIELDS_OF.decode(line)
                return cls(found.kind, found.id, datetime.fromisoformat(found.at), found.data)
        return cls._from_any_form(line)

    @classmethod
    def find(cls, line: bytes) -> JournalRecord | None:
        """Return the record in a line, None if it is damaged or has none; see `from_line`."""
        with suppress(DamagedLineError):
            return cls.from_line(line)
        return None

    @classmethod
    def _from_any_form(cls, line: bytes) -> JournalRecord:
        if not line.endswith(b"\n"):
            raise DamagedLineError("the line was not finished")
        body = _parsed(line)
        if missing := [f"`{name}`" for name in _FIELDS if name not in body]:
            raise DamagedLineError(f"it has no {', '.join(missing)}")
        _verify(body, body.pop("sum"))
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
    # With an indent, the standard library encodes in Python, which takes longer than writing the file.
    written = json.dumps({**content, "sum": digest(content)}, ensure_ascii=False).encode()
    return msgspec.json.format(written, indent=1)


def content_of(text: bytes) -> dict[str, Any]:
    """Return the data in an open entry's file. A person who edits one removes its checksum. Raises as `from_line`."""
    content = _parsed(text)
    stated = content.pop("sum", None)
    if stated is not None:
        _verify(content, stated)
    del content["v"]
    return content


def _parsed(text: bytes) -> dict[str, Any]:
    """Return the JSON object in a text, which says that it is of the present format."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DamagedLineError("it is not JSON") from error
    if not isinstance(content, dict):
        raise DamagedLineError("it is not a JSON object")
    version = content.get("v")
    # True is an int in Python; here it is not a version.
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise DamagedLineError("it has no version (`v`)")
    refuse_another(version)
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
