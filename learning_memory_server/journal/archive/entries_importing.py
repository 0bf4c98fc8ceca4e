"""Parsing GHAP entries to import: lines of JSON in this journal's format or the predecessor's."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from types import UnionType
from typing import Any, Final, TypeVar, get_args, get_type_hints

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.contents import entry_of_record
from learning_memory_server.journal.checks import is_id
from learning_memory_server.journal.codec import DamagedLineError, JournalRecord
from learning_memory_server.model import limits
from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.entry import Ghap, Resolution
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.model.stored import Stored
from learning_memory_server.redaction.base import shortened_markers, word_set

Category = TypeVar("Category", bound=StrEnum)

_CLOSE: Final = 0.8  # The lowest similarity of an unmistakable misspelling
_PREFIX_FROM: Final = 4
_STATEMENTS: Final = ("goal", "hypothesis", "action", "prediction")
_STORY: Final = word_set(
    "id created_at domain strategy goal hypothesis action prediction history notes confidence first_confidence"
)
_END: Final = word_set("status result resolved_at auto_captured")
_EXPLANATION: Final = word_set("surprise root_cause lesson")
"""The fields of ours that the predecessor had: of an entry, of its outcome, and of the outcome but in the entry."""
_THEIR_NAMES: Final = {"at": "timestamp", "resolved_at": "captured_at"}
_READ_OTHERWISE: Final = word_set("session_id outcome confidence_tier iteration_count")


@dataclass(frozen=True, slots=True)
class Rejection:
    """A line that is not an entry, and why."""

    line_number: int
    reason: str


@dataclass(slots=True)
class ParsedEntries:
    """The content of a file."""

    entries: dict[str, Ghap] = field(default_factory=dict)  # by id, in file order; the last line about an entry counts
    rejections: list[Rejection] = field(default_factory=list)
    repeated: int = 0  # the number of lines superseded by a later one about the same entry
    changes: Counter[str] = field(default_factory=Counter)  # how often a name was mapped or a field dropped
    forgotten: set[str] = field(default_factory=set)
    unnamed: set[str] = field(default_factory=set)  # the ids of the entries without a project

    def assign(self, project: str) -> None:
        """Put the entries without a project under this one."""
        for name in self.unnamed:
            self.entries[name] = replace(self.entries[name], project=project)


def parse_entries(lines: Iterable[bytes], *, project: str) -> ParsedEntries:
    """Read resolved entries from lines in UTF-8; `project` is for lines in the predecessor's format."""
    parsed = ParsedEntries()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        changes: Counter[str] = Counter()
        try:
            found, is_named = _parse(line, project, changes)
        except InvalidInputError as error:
            parsed.rejections.append(Rejection(number, error.message))
            continue
        if isinstance(found, JournalRecord):
            parsed.forgotten.add(found.id)
            continue
        parsed.repeated += found.id in parsed.entries
        parsed.entries[found.id] = found
        (parsed.unnamed.discard if is_named else parsed.unnamed.add)(found.id)
        parsed.changes.update(changes)
    # Last, because a tombstone counts wherever it is in the file.
    for forgotten in parsed.forgotten:
        parsed.entries.pop(forgotten, None)
    parsed.unnamed -= parsed.forgotten
    return parsed


def find_category(kind: type[Category], name: str) -> Category | None:
    """Return the member that `name` means by abbreviation, extension or a slight misspelling, or None."""
    wanted = re.sub(r"[\s_-]+", "-", name.strip().casefold())
    members = {str(member): member for member in kind}
    if wanted in members:
        return members[wanted]
    related = [
        member
        for text, member in members.items()
        if (len(wanted) >= _PREFIX_FROM and text.startswith(wanted)) or wanted.startswith(f"{text}-")
    ]
    if len(related) == 1:
        return related[0]
    close = difflib.get_close_matches(wanted, members, n=1, cutoff=_CLOSE)
    return members[close[0]] if close else None


def _parse(line: bytes, project: str, changes: Counter[str]) -> tuple[Ghap | JournalRecord, bool]:
    """Return the entry of a line, or the line itself if it is a tombstone, and whether it names its project."""
    try:
        body = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InvalidInputError("the line is not UTF-8.") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInputError(f"the line is not JSON ({error}).") from None
    if not isinstance(body, dict):
        raise InvalidInputError("the line is not a JSON object.")
    if "kind" in body or "sum" in body:
        record = _record(line, body)
        is_tombstone = record.kind == "ghap" and record.is_tombstone
        return record if is_tombstone else entry_of_record(record), True
    return _predecessors(body, project, changes), False


def _record(line: bytes, body: dict[str, Any]) -> JournalRecord:
    if "sum" not in body:
        raise InvalidInputError("the journal line has no checksum.")
    try:
        # An editor may have changed the line ending, which the checksum does not cover.
        return JournalRecord.from_line(line.removeprefix(b"\xef\xbb\xbf").strip() + b"\n")
    except DamagedLineError as error:
        raise InvalidInputError(f"the journal line is damaged: {error}.") from None
    except (UnicodeEncodeError, RecursionError):
        # JSON can express values that have no canonical form, and so no checksum.
        raise InvalidInputError("the journal line was not written by a journal.") from None


def _predecessors(body: dict[str, Any], project: str, changes: Counter[str]) -> Ghap:
    if body.get("outcome") in (None, {}):
        raise InvalidInputError("outcome: missing; only resolved entries can be imported.")
    story = _fields(Ghap, _STORY, "", body, changes)
    if not is_id(story["id"]):
        raise InvalidInputError(f"id: {story['id']!r} has characters other than letters, digits, - and _.")
    session = _value(str | None, "session_id", body.get("session_id"), changes)
    end = _fields(Resolution, _END, "outcome", body["outcome"], changes)
    explanation = _fields(Resolution, _EXPLANATION, "", body, changes)
    resolution = Resolution(**end, **explanation)
    resolution.require_explanation()
    entry = Ghap(project=project, agent_session=session_hash(session or "unknown"), resolution=resolution, **story)
    # Both follow from the rest here; a reader should know if the file said something else.
    for name, derived in (("confidence_tier", entry.tier.value), ("iteration_count", entry.iteration_count)):
        if body.get(name) not in (None, derived):
            changes[f"{name} {body[name]!r} was recomputed as {derived}"] += 1
    _note_left_out("", body, [*_STORY, *_EXPLANATION, *_READ_OTHERWISE], changes)
    _note_left_out("outcome", body["outcome"], _END, changes)
    return entry


def _fields(
    kind: type[Stored], wanted: Collection[str], place: str, data: object, changes: Counter[str]
) -> dict[str, Any]:
    """Return those fields of a dataclass that are wanted, read from the object at a `place` in a line."""
    if not isinstance(data, dict):
        raise InvalidInputError(f"{place}: must be an object, not {type(data).__name__}.")
    hints = get_type_hints(kind)
    named = [(each.name, _THEIR_NAMES.get(each.name, each.name)) for each in fields(kind) if each.name in wanted]
    return {name: _value(hints[name], _join(place, their), data.get(their), changes) for name, their in named}


def _value(hint: Any, name: str, value: Any, changes: Counter[str]) -> Any:
    """Return the value of a field of this type; `changes` gets a note of each conversion."""
    of, *others = get_args(hint) or (hint,)
    if isinstance(hint, UnionType):
        is_empty = value == {} if issubclass(of, Stored) else of is str and isinstance(value, str) and not value.strip()
        return None if value is None or is_empty else _value(of, name, value, changes)
    if others:
        if not isinstance(value, list | None):
            raise InvalidInputError(f"{name}: must be a list, not {type(value).__name__}.")
        return tuple(_value(of, f"{name}[{index}]", item, changes) for index, item in enumerate(value or ()))
    if issubclass(hint, Stored):
        wanted = [each.name for each in fields(hint) if each.name != "others"]
        parts = _fields(hint, wanted, name, value, changes)
        _note_left_out(name, value, wanted, changes)
        return hint(**parts)
    if hint is bool:
        if not isinstance(value, bool | None):
            raise InvalidInputError(f"{name}: must be true or false, not {type(value).__name__}.")
        return bool(value)
    if hint is float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InvalidInputError(f"{name}: must be a number from 0 to 1.")
        return value
    return _written(hint, name, value, changes)


def _written(hint: type, name: str, value: object, changes: Counter[str]) -> datetime | StrEnum | str:
    """Return what a text says: a time, a member of a vocabulary, or itself."""
    if value is None:
        raise InvalidInputError(f"{name}: missing.")
    last = name.rpartition(".")[2]
    limit = limits.STATEMENT_MAX if last in _STATEMENTS else limits.NARRATIVE_MAX
    limit = limit if hint is str and name != "id" else limits.ID_MAX
    text = limits.checked_text(name, value, limit, shortened_markers)
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON can escape half a character, which no UTF-8 file can contain.
        raise InvalidInputError(
            f"{name}: contains an unpaired surrogate (such as half an emoji), which is not valid Unicode."
        ) from None
    if hint is datetime:
        return parse_moment(name, text)
    if not issubclass(hint, StrEnum):
        return text
    found = find_category(hint, text)
    if found is None:
        raise InvalidInputError(f"{name}: {text!r} is not one of {', '.join(hint)}.")
    if text != found:
        changes[f"{name} {text!r} is read as {found}"] += 1
    return found


def _note_left_out(place: str, data: dict[str, Any], wanted: Collection[str], changes: Counter[str]) -> None:
    """Note each field of an object that is not empty and was not read."""
    read = {_THEIR_NAMES.get(name, name) for name in wanted}
    for name, value in data.items():
        if name not in read and value not in (None, "", [], {}):
            # Without list positions, so that the same field of many items is one line.
            shown = re.sub(r"\[\d+\]", "[]", _join(place, name))
            changes[f"{shown} is not kept"] += 1


def _join(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name
