"""The kinds of records: domain objects as JSON data, and back. See `journal/README.md`.

Data has the fields of the dataclasses, without those that are empty by default. Parts of unknown names are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum
from functools import cache, cached_property
from typing import Any, Final, Generic, TypeVar, cast, get_args, get_type_hints

import msgspec

from learning_memory_server.errors import LearningMemoryError
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

Data = dict[str, Any]
T = TypeVar("T")

_AFTERWARDS: Final = "afterwards"  # The field of what was written when its outcome was known

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
    is_beside: bool = False  # whether it is about other things, which are there without it
    names: Mapping[str, str] = field(default_factory=dict)  # other names of fields in the journal
    absent: Data = field(default_factory=dict)  # values of absent parts without a default
    stand_ins: Data = field(default_factory=dict)  # what earlier versions need in a thing written afterwards

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
        if data.get(_AFTERWARDS):
            data |= self.stand_ins
        return data | {"project": data.pop(WRITTEN)} if WRITTEN in data else data

    def decode(self, data: Data) -> T:
        """Return the thing that data describes."""
        names = self.fields
        if data.get(_AFTERWARDS):
            data = {name: part for name, part in data.items() if name not in self.stand_ins}
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
    "v id agent_session agent created_at domain strategy requests same_as history[].at resolution.status "
    "resolution.resolved_at resolution.root_cause.category resolution.cited",
    noun="entry",
    is_monthly=True,
    stand_ins={
        "domain": "feature",
        "strategy": "check-assumptions",
        **dict.fromkeys(("action", "prediction"), "(written afterwards)"),
    },
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
    is_beside=True,
    names={"stance": "verdict"},
)
ADVICE: Final = RecordKind(
    "advice",
    "advice",
    Advice,
    checks.checked_advice,
    "ghap_id revision channel items[].id items[].kind items[].effect items[].reason created_at",
    noun="advice line",
    is_beside=True,
)
FAILURE: Final = RecordKind(
    "failure",
    "failures",
    Failure,
    checks.checked_failure,
    "id session created_at times agent context advice.id advice.kind advice.effect advice.reason",
    noun="failure line",
    is_beside=True,
    names={"worked": "remedy"},
)
MEMORY: Final = RecordKind(
    "memory",
    "memories",
    Memory,
    checks.checked_memory,
    "id date created_at request cuts replaces",
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
    "project", "projects", Naming, checks.checked_naming, "id created_at name into", noun="project line", is_beside=True
)
ANSWER: Final = RecordKind("answer", "answers", Answer, checks.checked_answer, "id said created_at", is_beside=True)
RULE: Final = RecordKind(
    "rule",
    "rules",
    Rule,
    checks.checked_rule,
    "id state origin.kind created_at changed_at when unattended replaces suggestion evidence",
    is_beside=True,
)
RULE_COUNT: Final = RecordKind(
    "rule_count",
    "rule-counts",
    RuleCount,
    checks.checked_count,
    "id rule session created_at",
    noun="rule count",
    is_beside=True,
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
RETIRED_ANSWERS: Final = "cure_"
"""How the ids of answers begin that an earlier version kept about commands, and that no version reads."""
