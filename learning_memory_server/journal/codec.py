"""Domain objects as JSON data and back, by the fields of their dataclasses.

Parts that are empty by default are left out while they are empty. Times are ISO 8601 with an offset. What is read must
have the dataclass's types; parts of unknown names are kept. A line of the journal, with its checksum, is in `line.py`.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import Enum
from functools import cache, cached_property
from typing import Any, Final, Generic, TypeVar, cast, get_args, get_type_hints

import msgspec

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.model.advice import Advice, Trial
from learning_memory_server.model.cluster import ClusterId
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.stored import Stored
from learning_memory_server.model.value import Value
from learning_memory_server.model.verdict import Verdict

Data = dict[str, Any]
T = TypeVar("T")

MALFORMED: Final = (KeyError, ValueError, TypeError, AttributeError, RecursionError, LearningMemoryError)
"""What decoding raises for data that describes nothing this program knows."""


@dataclass(frozen=True)
class Codec(Generic[T]):
    """How things of one kind are written in the journal."""

    kind: str  # the kind, as journal lines name it
    type: type[T]
    # Returns the names of the calls that wrote a thing; see `Caller.request`.
    requests: Callable[[T], Collection[str | None]] = lambda _thing: ()
    # The names that fields have in the journal, where they differ.
    names: Mapping[str, str] = field(default_factory=dict)
    # What absent parts stand for, where the dataclass has no default.
    absent: Data = field(default_factory=dict)

    @cached_property
    def fields(self) -> dict[str, str]:
        """The fields of the dataclass, by their names in the journal."""
        kind: Any = self.type
        return {self.names.get(name, name): name for name in _known(kind)[0]}

    def encode(self, thing: T) -> Data:
        """Return a thing as JSON data."""
        stored = cast("Stored", thing)
        parts = _parts_of(stored)
        return {**stored.others, **lean({self.names.get(name, name): part for name, part in parts.items()})}

    def decode(self, data: Data) -> T:
        """Return the thing that data describes."""
        names = self.fields
        parts = _sorted_out(self.type, self.absent | {names[name]: data[name] for name in data if name in names})
        if "cluster_id" in parts:
            # It is a dataclass, too, but stands in the journal as a text.
            parts["cluster_id"] = ClusterId.parse(parts["cluster_id"])
        if not data.keys() <= names.keys():
            parts["others"] = {name: part for name, part in data.items() if name not in names}
        return msgspec.convert(parts, self.type, from_attributes=True)


def lean(data: Data) -> Data:
    """Return the data without its absent (None) and empty parts."""
    return {key: value for key, value in data.items() if value not in (None, "", [], {})}


def _parts_of(thing: Stored) -> Data:
    """Return the known parts of a thing as JSON data, without those that are as they are by default."""
    parts = ((each.name, getattr(thing, each.name), each.default) for each in fields(thing))
    return {name: _to_data(part) for name, part, default in parts if name != "others" and (part or part != default)}


def _to_data(part: Any) -> Any:  # noqa: ANN401 - JSON
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
def _known(kind: Any) -> tuple[set[str], dict[str, type[Stored]]]:  # noqa: ANN401 - a dataclass
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


def _sorted_out(kind: Any, data: Any) -> Any:  # noqa: ANN401 - JSON
    """Return data with what has unknown names under `others`, in each object of it."""
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


GHAP: Final = Codec("ghap", Ghap, lambda entry: entry.requests)
VALUE: Final = Codec("value", Value, lambda value: (value.request,), {"is_earlier": "earlier"})
VERDICT: Final = Codec("verdict", Verdict, lambda verdict: verdict.requests, {"stance": "verdict"})
ADVICE: Final = Codec("advice", Advice)
TRIAL: Final = Codec("trial", Trial)
FAILURE: Final = Codec("failure", Failure)
# Where its chunks are is written so that a start need not chunk it again.
MEMORY: Final = Codec("memory", Memory, lambda memory: (memory.request,), {"chunking": "cuts"}, {"metadata": {}})
