"""The kinds of records; domain objects as JSON data and as lines of the journal, and back. See `journal/README.md`.

Data has the fields of the dataclasses, without those that are empty by default. Parts of unknown names are kept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum
from functools import cache, cached_property
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast, get_args, get_type_hints

import msgspec

from learning_memory_server.errors import JournalUnavailableError, LearningMemoryError
from learning_memory_server.journal import checks
from learning_memory_server.model.advice import Advice
from learning_memory_server.model.answer import Answer
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.project import Naming
from learning_memory_server.model.rule import Rule, RuleCount
from learning_memory_server.model.server import KnownServer
from learning_memory_server.model.stored import WRITTEN, Stored
from learning_memory_server.model.value import ClusterId, Value, Verdict
from learning_memory_server.version import JOURNAL_FORMAT

Data = dict[str, Any]
T = TypeVar("T")

MALFORMED: Final = (KeyError, ValueError, TypeError, AttributeError, RecursionError, LearningMemoryError)
"""What decoding raises for data that describes nothing this program knows."""


@dataclass(frozen=True)
class RecordKind(Generic[T]):
    """A kind of record: how its things are written, and how logs, archives, imports and scans treat them."""

    kind: str  # the name in journal lines
    file: str  # the name of its log
    type: type[T] | None = None  # None for data without a dataclass, which is neither encoded nor decoded here
    check: Callable[[T], T] | None = None  # returns an imported thing as it may be stored; None without imports
    own: str = ""  # the fields that this program fills itself, in which a pattern finds no secret
    noun: str = ""  # the name of a record in reports, where it is another one
    is_monthly: bool = False
    is_archived: bool = True
    names: Mapping[str, str] = field(default_factory=dict)  # other names of fields in the journal
    absent: Data = field(default_factory=dict)  # values of absent parts without a default

    @cached_property
    def fields(self) -> dict[str, str]:
        """The fields of the dataclass, by their names in the journal."""
        kind: Any = self.type
        return {self.names.get(name, name): name for name in _known(kind)[0]}

    def encode(self, thing: T) -> Data:
        """Return a thing as JSON data."""
        stored = cast("Stored", thing)
        parts = {name: part for name, part in _parts_of(stored).items() if name not in self.absent or part}
        data = {**stored.others, **{self.names.get(name, name): part for name, part in parts.items()}}
        return data | {"project": data.pop(WRITTEN)} if WRITTEN in data else data

    def decode(self, data: Data) -> T:
        """Return the thing that data describes."""
        names = self.fields
        parts = _sorted_out(self.type, self.absent | {names[name]: data[name] for name in data if name in names})
        if "cluster_id" in parts:
            # It is a dataclass, too, but stands in the journal as a text.
            parts["cluster_id"] = ClusterId.parse(parts["cluster_id"])
        if "anchors" in parts:
            # Earlier versions wrote digests of lines as the third of four parts.
            parts["anchors"] = [[*each[:2], each[3]] if len(each) == 4 else each for each in parts["anchors"]]
        if not data.keys() <= names.keys():
            parts["others"] = {name: part for name, part in data.items() if name not in names}
        return msgspec.convert(parts, self.type, from_attributes=True)


def without_empty(data: Data) -> Data:
    """Return the data without its absent (None) and empty parts."""
    return {key: value for key, value in data.items() if value not in (None, "", [], {})}


def _parts_of(thing: Stored) -> dict[str, Any]:
    """Return the known parts of a thing as JSON data, without those that are as they are by default."""
    parts = ((each.name, getattr(thing, each.name), each.default) for each in fields(thing))
    return {name: _to_data(part) for name, part, default in parts if name != "others" and (part or part != default)}


def _to_data(part: Any) -> Any:
    if isinstance(part, Stored):
        return {**part.others, **_parts_of(part)}
    if isinstance(part, ClusterId):
        return str(part)
    if isinstance(part, datetime):
        return part.isoformat()
    if isinstance(part, Enum):
        return part.value
    if isinstance(part, tuple):
        return [_to_data(item) for item in part]
    return part


@cache
def _known(kind: Any) -> tuple[set[str], dict[str, type[Stored]]]:
    """Return the names of a dataclass's fields, and the dataclass of each field that has objects."""
    names = {each.name for each in fields(kind)} - {"others"}
    hints = get_type_hints(kind)
    inner = {
        name: each
        for name in names
        for each in (hints[name], *get_args(hints[name]))
        if isinstance(each, type) and issubclass(each, Stored)
    }
    return names, inner


def _sorted_out(kind: Any, data: Any) -> Any:
    """Return data with unknown names under `others`, in each object of it."""
    if isinstance(data, list):
        return [_sorted_out(kind, item) for item in data]
    if not isinstance(data, dict):
        return data
    names, inner = _known(kind)
    if data.keys() <= names:
        parts = {**data} if inner else data
    else:
        parts = {name: part for name, part in data.items() if name in names}
        parts["others"] = {name: part for name, part in data.items() if name not in names}
    for name, kind_of_part in inner.items():
        if name in parts:
            parts[name] = _sorted_out(kind_of_part, parts[name])
    return parts


GHAP: Final = RecordKind(
    "ghap",
    "entries",
    Ghap,
    checks.checked_entry,
    "v id agent_session agent created_at domain strategy requests history[].at resolution.status "
    "resolution.resolved_at resolution.root_cause.category resolution.cited",
    noun="entry",
    is_monthly=True,
)
VALUE: Final = RecordKind(
    "value", "values", Value, checks.checked_value, "id cluster_id created_at request supersedes evidence"
)
VERDICT: Final = RecordKind(
    "verdict",
    "verdicts",
    Verdict,
    checks.checked_verdict,
    "value_id ghap_id verdict created_at requests",
    names={"stance": "verdict"},
)
ADVICE: Final = RecordKind(
    "advice",
    "advice",
    Advice,
    checks.checked_advice,
    "ghap_id revision channel items[].id items[].kind items[].effect items[].reason created_at",
    noun="advice line",
)
FAILURE: Final = RecordKind(
    "failure",
    "failures",
    Failure,
    checks.checked_failure,
    "id session created_at times agent context advice.id advice.kind advice.effect advice.reason",
    noun="failure line",
    names={"worked": "remedy"},
)
MEMORY: Final = RecordKind(
    "memory",
    "memories",
    Memory,
    checks.checked_memory,
    "id date created_at request cuts",
    is_monthly=True,
    # Where its chunks are is written so that a start need not chunk it again.
    names={"chunking": "cuts"},
    absent={"metadata": {}},
)
CLUSTERS: Final = RecordKind[Any]("clusters", "clusters", noun="cluster change")
SERVER: Final = RecordKind(
    "server",
    "servers",
    KnownServer,
    own="urls owner left",
    noun="server line",
    is_archived=False,
    names={"is_left": "left"},
)
PROJECT: Final = RecordKind(
    "project", "projects", Naming, checks.checked_naming, "id created_at name into", noun="project line"
)
ANSWER: Final = RecordKind("answer", "answers", Answer, checks.checked_answer, "id said created_at")
RULE: Final = RecordKind(
    "rule",
    "rules",
    Rule,
    checks.checked_rule,
    "id state origin.kind created_at changed_at when unattended replaces suggestion",
)
RULE_COUNT: Final = RecordKind(
    "rule_count", "rule-counts", RuleCount, checks.checked_count, "id rule session created_at", noun="rule count"
)
KINDS: Final[Mapping[str, RecordKind[Any]]] = {
    each.kind: each
    for each in (
        *(GHAP, VALUE, VERDICT, ADVICE, FAILURE, MEMORY, CLUSTERS, SERVER, PROJECT, ANSWER),
        *(RULE, RULE_COUNT),
    )
}
"""Every kind of record. The journal has an attribute for the log of each."""

RETIRED: Final = ("trials",)
"""The names of logs that earlier versions wrote, and that no version reads. A purge removes their files."""


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
