"""The contents of an archive or a journal, in one form so that they can be compared.

An imported record must be like what this program, or a later one, would write, so that it may be stored.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any, Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.reading import Archive
from learning_memory_server.journal.codec import (
    ADVICE,
    FAILURE,
    GHAP,
    MALFORMED,
    MEMORY,
    VALUE,
    VERDICT,
    Codec,
    DamagedLineError,
    JournalRecord,
    content_of,
)
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Advice
from learning_memory_server.model.caller import session_hash
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.memory import Memory, checked_metadata
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.stored import WRITTEN
from learning_memory_server.model.value import Value, Verdict
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.redaction.base import shortened_markers

CLUSTERS: Final = "clusters"
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_HASH: Final = re.compile(r"[0-9a-f]{16}")
_NAMED_MAX: Final = 50
"""Names in an error; this program writes fewer."""
_FAILURE_ID: Final = re.compile(r"failure_[0-9a-f]{16}_[0-9a-f]{12}")
_SCORE_MAX: Final = 10
"""The highest score of advice: present ones are below 1.2."""
_NUMBER_MAX: Final = 100_000_000
"""Of a cluster: far more than there can be, and short enough for an id that a tool accepts."""
_TEXTS: Final = {
    **dict.fromkeys(("goal", "hypothesis", "action", "prediction"), limits.STATEMENT_MAX),
    **dict.fromkeys(("result", "description", "notes"), limits.NARRATIVE_MAX),
    "agent_session": limits.ID_MAX,
    "command": limits.RUN_COMMAND_MAX,
}
"""The limits of texts of an entry that must not be empty. Others may be, and have the limit of `notes`."""


def checked_record(record: JournalRecord) -> JournalRecord:
    """Return an imported record in the form that may be stored; refuse what this program would not have written."""
    if record.kind == CLUSTERS:
        with _named(record):
            _check_clusters(record)
        return record
    thing = checked_thing(record)
    return replace(record, data=_CHECKS[record.kind][0].encode(thing))


def checked_thing(record: JournalRecord) -> Any:
    """Return what an imported record that is not about clusters describes; see `checked_record`.

    An open entry is an orphan.
    """
    if record.kind not in _CHECKS:
        raise InvalidInputError(f"this program does not know records of the kind {record.kind!r}.")
    codec, check = _CHECKS[record.kind]
    with _named(record):
        thing = codec.decode(record.data)
        if thing.id != record.id:
            raise InvalidInputError(f"id: {record.id!r} is not the id of this {record.kind}.")
        if WRITTEN in thing.others:
            raise InvalidInputError(f"{WRITTEN}: is not for files.")
        limits.checked_text("project", thing.project, limits.PROJECT_MAX, shortened_markers)
        if thing.created_at.tzinfo is None:
            raise InvalidInputError("created_at: must have an offset from UTC.")
        others = [part for name, part in _leaves("", thing) if name == "others"]
        if (size := sum(len(json.dumps(part)) for part in others if part)) > limits.METADATA_MAX:
            names = ", ".join(sorted({name for part in others for name in part})[:3])
            raise InvalidInputError(f"{names}: {size:,} bytes of JSON, the limit is {limits.METADATA_MAX:,}.")
        return check(thing)


@contextmanager
def _named(record: JournalRecord) -> Iterator[None]:
    try:
        yield
    except InvalidInputError:
        raise
    except MALFORMED as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise InvalidInputError(f"{record.id}: is not data of the kind {record.kind!r} ({reason}).") from None


def entry_of_record(record: JournalRecord) -> Ghap:
    """Return the resolved entry in a journal line; refuse anything else; see `checked_record`."""
    if record.kind != GHAP.kind:
        raise InvalidInputError(f"the journal line is about {record.kind!r}, not a GHAP entry.")
    entry: Ghap = checked_thing(record)
    if entry.resolution is None:
        raise InvalidInputError("the entry is still open; only resolved ones can be imported.")
    return entry


def parse_open(text: bytes) -> Ghap:
    """Return the open entry in a file of a journal's `open` folder, as an orphan; refuse anything else."""
    try:
        data = content_of(text)
    except DamagedLineError as error:
        raise InvalidInputError(f"the open entry is damaged: {error}.") from None
    entry: Ghap = checked_thing(JournalRecord(GHAP.kind, str(data.get("id")), utc_now(), data))
    if entry.resolution is not None:
        raise InvalidInputError("the open entry is resolved.")
    return entry


def is_id(text: str) -> bool:
    """Return whether a text can be an id."""
    return _ID.fullmatch(text) is not None and len(text) <= limits.ID_MAX


def _check_ids(**ids: str) -> None:
    for name, given in ids.items():
        if not is_id(given):
            raise InvalidInputError(f"{name}: {given!r} is not a valid id.")


def _checked_entry(entry: Ghap) -> Ghap:
    _check_ids(id=entry.id)
    for name, part in _leaves("", entry):
        if isinstance(part, str) and (part or name in _TEXTS):
            limits.checked_text(name, part, _TEXTS.get(name, limits.NARRATIVE_MAX), shortened_markers)
        elif isinstance(part, datetime) and part.tzinfo is None:
            raise InvalidInputError(f"{name}: must have an offset from UTC.")
        elif isinstance(part, float) and not 0 <= part <= 1:
            raise InvalidInputError(f"{name}: must be a number from 0 to 1.")
    if entry.resolution:
        entry.resolution.require_explanation()
    # `requests` names calls of fronts that have ended. Anything but a hash of a session is hashed.
    session = entry.agent_session
    return replace(
        entry,
        agent_session=session if _HASH.fullmatch(session) else session_hash(session),
        agent="",
        requests=(),
        orphaned=entry.resolution is None,
    )


def _leaves(name: str, part: Any) -> Iterator[tuple[str, Any]]:
    """Yield every text, number and time in a thing, and what it has under unknown names, with the name of its field."""
    if is_dataclass(part):
        for each in fields(part):
            yield from _leaves(each.name, getattr(part, each.name))
    elif isinstance(part, tuple):
        for each in part:
            yield from _leaves(name, each)
    elif not isinstance(part, Enum):
        yield name, part


def _checked_value(value: Value) -> Value:
    _check_ids(id=value.id, supersedes=value.supersedes or value.id)
    limits.checked_text("text", value.text, limits.VALUE_MAX, shortened_markers)
    if value.supersedes == value.id:
        raise InvalidInputError("supersedes: a value cannot supersede itself.")
    evidence = value.evidence
    if not all(
        map(math.isfinite, (*evidence.centroid, evidence.similarity, evidence.centroid_distance, evidence.threshold))
    ):
        raise InvalidInputError("evidence: its metrics must be finite numbers.")
    # `request` names a call of a front that has ended.
    return replace(value, request=None)


def _checked_verdict(verdict: Verdict) -> Verdict:
    _check_ids(value_id=verdict.value_id, ghap_id=verdict.ghap_id)
    return replace(verdict, requests=())


def _checked_advice(advice: Advice) -> Advice:
    for given in (advice.ghap_id, *(item.id for item in advice.items)):
        _check_ids(items=given)
    if not (advice.revision >= 1 and 0 <= advice.probability <= 1):
        raise InvalidInputError("revision, probability: are not what this program writes.")
    if not all(-_SCORE_MAX <= item.score <= _SCORE_MAX for item in advice.items if item.score is not None):
        raise InvalidInputError(f"score: must be a number from -{_SCORE_MAX} to {_SCORE_MAX}.")
    return advice


def _checked_failure(failure: Failure) -> Failure:
    for name in (failure.id, failure.shown or failure.id):
        if not _FAILURE_ID.fullmatch(name):
            raise InvalidInputError(f"id, shown: {name!r} is not a valid id of a failure.")
    limits.checked_text("session", failure.session, limits.ID_MAX)
    limits.checked_text("signature", failure.signature, limits.SIGNATURE_MAX, shortened_markers)
    for command in (failure.command, *([failure.remedy] if failure.remedy is not None else ())):
        limits.checked_text("command, remedy", command, limits.COMMAND_MAX, shortened_markers)
    if failure.times < 1:
        raise InvalidInputError("times: must be a whole number above 0.")
    if len(failure.named) > _NAMED_MAX:
        raise InvalidInputError(f"named: has more than {_NAMED_MAX} names.")
    for name in failure.named:
        limits.checked_text("named", name, limits.ID_MAX)
    if failure.support is not None and not 0 <= failure.support <= 1:
        raise InvalidInputError("support: must be a number from 0 to 1.")
    return failure


def _checked_memory(memory: Memory) -> Memory:
    _check_ids(id=memory.id)
    limits.checked_text("text", memory.text, limits.MEMORY_MAX, shortened_markers)
    metadata = checked_metadata(memory.metadata, shortened_markers)
    if memory.date.tzinfo is None:
        raise InvalidInputError("date: must have an offset from UTC.")
    # The chunks depend on the model of this store, so they are not imported.
    return replace(memory, metadata=metadata, request=None, chunking=None)


def _check_clusters(record: JournalRecord) -> None:
    Axis(record.id)
    given = [number for number in record.data["moved"].values() if number is not None]
    following = record.data["next_number"]
    if not all(
        isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _NUMBER_MAX
        for number in (following, *given)
    ):
        raise InvalidInputError(f"next_number, moved: must be whole numbers from 0 to {_NUMBER_MAX:,}.")
    if given and following <= max(given):
        raise InvalidInputError(f"next_number: {following} is not above {max(given)}, which is taken already.")


_CHECKS: Final[dict[str, tuple[Codec[Any], Callable[[Any], Any]]]] = {
    GHAP.kind: (GHAP, _checked_entry),
    VALUE.kind: (VALUE, _checked_value),
    VERDICT.kind: (VERDICT, _checked_verdict),
    ADVICE.kind: (ADVICE, _checked_advice),
    FAILURE.kind: (FAILURE, _checked_failure),
    MEMORY.kind: (MEMORY, _checked_memory),
}
"""What may be imported besides clusters. A check returns the thing in the form that may be stored."""


Key = tuple[str, str]
"""A kind and an id."""

_OF_ANOTHER_FOLDER: Final = frozenset({"server", "trial", "project"})
"""Kinds that are not imported: where another storage folder has points, what its sessions were told, and which projects
its owner says are one."""
_REJECTIONS_MAX: Final = 10_000
"""Lines that are rejected one by one; each costs a sentence in memory, and a million lines fit into a megabyte."""


@dataclass(slots=True)
class Contents:
    """Everything in an archive or a journal, without what is forgotten.

    `clusters` continue each other; of everything else `records` has the last, by its key. `rejections` say what could
    not be read, and why.
    """

    entries: dict[str, Ghap] = field(default_factory=dict)
    open: dict[str, Ghap] = field(default_factory=dict)
    records: dict[Key, JournalRecord] = field(default_factory=dict)
    clusters: list[JournalRecord] = field(default_factory=list)
    forgotten: set[Key] = field(default_factory=set)
    rejections: list[str] = field(default_factory=list)

    def drop_forgotten(self) -> None:
        """Remove what is forgotten, and open entries that are resolved."""
        gone = {record_id for kind, record_id in self.forgotten if kind == GHAP.kind}
        self.entries = {name: entry for name, entry in self.entries.items() if name not in gone}
        self.open = {name: entry for name, entry in self.open.items() if name not in gone and name not in self.entries}
        self.records = {key: record for key, record in self.records.items() if key not in self.forgotten}

    def mark_imported(self) -> None:
        """Mark everything as what no session of this store has experienced."""
        self.entries = {name: replace(entry, imported=True) for name, entry in self.entries.items()}
        self.open = {name: replace(entry, imported=True) for name, entry in self.open.items()}
        self.records = {
            key: replace(record, data={**record.data, "imported": True}) for key, record in self.records.items()
        }


def contents_of(archive: Archive) -> Contents:
    """Read an archive, with every check that imported lines get; refuse one with thousands of unusable lines."""
    contents = Contents()
    for name, lines in archive.segments():
        for number, line in enumerate(lines, start=1):
            if len(contents.rejections) == _REJECTIONS_MAX:
                raise InvalidInputError(
                    f"The archive is refused: more than {_REJECTIONS_MAX:,} of its lines are not a journal's."
                )
            try:
                record = JournalRecord.from_line(line)
                _take(contents, record)
            except DamagedLineError as error:
                contents.rejections.append(f"{name}:{number}: {error}")
            except InvalidInputError as error:
                contents.rejections.append(f"{name}:{number}: {error.message}")
    for name, text in archive.open_files():
        try:
            entry = parse_open(text)
            contents.open[entry.id] = entry
        except InvalidInputError as error:
            contents.rejections.append(f"{name}: {error.message}")
    contents.drop_forgotten()
    return contents


def contents_here(journal: Journal, entries: Iterable[Ghap], forgotten: Iterable[str]) -> Contents:
    """Return the contents of a journal, without changing it."""
    logs = (journal.values, journal.verdicts, journal.advice, journal.failures, journal.memories)
    others = [log.read() for log in logs]
    contents = Contents(
        entries={entry.id: entry for entry in entries},
        open={entry.id: entry for entry in journal.open_entries()},
        records={(record.kind, record.id): record for log in others for record in log.records},
        clusters=journal.clusters.read().records,
        forgotten={(GHAP.kind, ghap_id) for ghap_id in forgotten}.union(*(log.forgotten for log in others)),
    )
    contents.drop_forgotten()
    return contents


def _take(contents: Contents, record: JournalRecord) -> None:
    if record.is_tombstone:
        if not is_id(record.id):
            raise InvalidInputError(f"id: {record.id!r} is not a valid id.")
        contents.forgotten.add((record.kind, record.id))
    elif record.kind == GHAP.kind:
        contents.entries[record.id] = entry_of_record(record)
    elif record.kind in _OF_ANOTHER_FOLDER:
        return
    elif record.kind == CLUSTERS:
        contents.clusters.append(checked_record(record))
    else:
        contents.records[record.kind, record.id] = checked_record(record)


def is_forgotten(record: JournalRecord, forgotten: AbstractSet[Key]) -> bool:
    """Return whether a record, or the entry or the value that it is about, is forgotten."""
    if (record.kind, record.id) in forgotten:
        return True
    if record.kind == ADVICE.kind:
        shown = {item["id"] for item in record.data["items"]} | {record.data["ghap_id"]}
        return any((kind, name) in forgotten for kind in (GHAP.kind, VALUE.kind) for name in shown)
    about = ((VALUE.kind, record.data.get("value_id")), (GHAP.kind, record.data.get("ghap_id")))
    return record.kind == VERDICT.kind and any(key in forgotten for key in about)


def comparable(entry: Ghap) -> dict[str, Any]:
    """Return the data that two copies of an entry have in common if they are the same."""
    data = GHAP.encode(entry)
    for part in ("requests", "orphaned", "agent", "imported"):
        data.pop(part, None)
    return data
