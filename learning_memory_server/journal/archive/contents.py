"""The contents of an archive or a journal, in one form so that they can be compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.entries_importing import entry_of_record, parse_open
from learning_memory_server.journal.codec import (
    MALFORMED,
    advice_from_data,
    advice_to_data,
    failure_from_data,
    failure_to_data,
    memory_from_data,
    memory_to_data,
    value_from_data,
    value_to_data,
    verdict_from_data,
    verdict_to_data,
)
from learning_memory_server.journal.entry_codec import ghap_to_data
from learning_memory_server.journal.line import DamagedLineError, JournalRecord
from learning_memory_server.model import limits
from learning_memory_server.model.memory import checked_metadata
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.redaction.base import shortened_markers

if TYPE_CHECKING:
    from learning_memory_server.journal.archive.reading import Archive
    from learning_memory_server.journal.journal import Journal
    from learning_memory_server.model.entry import Ghap

Key = tuple[str, str]
"""A kind and an id."""
Check = Callable[[JournalRecord], dict[str, Any]]

GHAP: Final = "ghap"
CLUSTERS: Final = "clusters"
_VALUE: Final = "value"
_VERDICT: Final = "verdict"
_ADVICE: Final = "advice"
_FAILURE: Final = "failure"
_MEMORY: Final = "memory"
_UNUSED: Final = frozenset({"evidence", "server"})
"""Kinds that are not imported: one of earlier versions that nothing reads any more, and one about another folder."""
_REJECTIONS_MAX: Final = 10_000
"""Lines that are rejected one by one; each costs a sentence in memory, and a million lines fit into a megabyte."""
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")
_NAMED_MAX: Final = 50
"""Names in an error; this program writes fewer."""
_FAILURE_ID: Final = re.compile(r"failure_[0-9a-f]{16}_[0-9a-f]{12}")
_SCORE_MAX: Final = 10
"""The highest score of advice: present ones are below 1.2."""
_NUMBER_MAX: Final = 100_000_000
"""Of a cluster: far more than there can be, and short enough for an id that a tool accepts."""


@dataclass(slots=True)
class Contents:
    """Everything in an archive or a journal, without what is forgotten.

    Args:
        entries: The resolved entries by id.
        open: The open entries by id.
        records: The last record of everything else, by its key.
        clusters: The records about clusters; each continues the ones before it.
        forgotten: The keys of what is forgotten.
        rejections: What could not be read, and why.
        changes: What was changed in reading, and how often.
    """

    entries: dict[str, Ghap] = field(default_factory=dict)
    open: dict[str, Ghap] = field(default_factory=dict)
    records: dict[Key, JournalRecord] = field(default_factory=dict)
    clusters: list[JournalRecord] = field(default_factory=list)
    forgotten: set[Key] = field(default_factory=set)
    rejections: list[str] = field(default_factory=list)
    changes: Counter[str] = field(default_factory=Counter)

    def drop_forgotten(self) -> None:
        """Remove what is forgotten, and open entries that are resolved."""
        gone = {record_id for kind, record_id in self.forgotten if kind == GHAP}
        self.entries = {name: entry for name, entry in self.entries.items() if name not in gone}
        self.open = {
            name: entry for name, entry in self.open.items() if name not in gone and name not in self.entries
        }
        self.records = {key: record for key, record in self.records.items() if key not in self.forgotten}


def contents_of(archive: Archive) -> Contents:
    """Read an archive, with every check that imported lines get.

    Args:
        archive: A verified archive.

    Raises:
        InvalidInputError: If thousands of lines cannot be used.
        JournalUnavailableError: If a newer program wrote a line.
    """
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
    """Return the contents of a journal, without changing it.

    Args:
        journal: The journal.
        entries: Its resolved entries.
        forgotten: The ids of its forgotten entries.
    """
    logs = (journal.values, journal.verdicts, journal.advice, journal.failures, journal.memories)
    others = [log.read() for log in logs]
    contents = Contents(
        entries={entry.id: entry for entry in entries},
        open={entry.id: entry for entry in journal.open_entries()},
        records={(record.kind, record.id): record for log in others for record in log.records},
        clusters=journal.clusters.read().records,
        forgotten={(GHAP, ghap_id) for ghap_id in forgotten}.union(*(log.forgotten for log in others)),
    )
    contents.drop_forgotten()
    return contents


def checked_record(record: JournalRecord) -> JournalRecord:
    """Return an imported record in the form that may be stored.

    Raises:
        InvalidInputError: If this program would not have written it, or does not import its kind.
    """
    if record.kind not in _CHECKS:
        raise InvalidInputError(f"this program does not know records of the kind {record.kind!r}.")
    try:
        data = _CHECKS[record.kind](record)
    except InvalidInputError:
        raise
    except MALFORMED as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else f"{type(error).__name__}: {error}"
        raise InvalidInputError(f"{record.id}: is not data of the kind {record.kind!r} ({reason}).") from None
    return JournalRecord(record.kind, record.id, record.at, data)


def _take(contents: Contents, record: JournalRecord) -> None:
    if record.is_tombstone:
        if not _is_id(record.id):
            raise InvalidInputError(f"id: {record.id!r} is not a valid id.")
        contents.forgotten.add((record.kind, record.id))
    elif record.kind == GHAP:
        contents.entries[record.id] = entry_of_record(record, contents.changes)
    elif record.kind in _UNUSED:
        return
    elif record.kind == CLUSTERS:
        contents.clusters.append(checked_record(record))
    else:
        checked = checked_record(record)
        if record.kind == _FAILURE:
            # No session of this machine saw it, as far as anybody knows here.
            checked = replace(checked, data={**checked.data, "imported": True})
        contents.records[record.kind, record.id] = checked


def _is_id(text: str) -> bool:
    return _ID.fullmatch(text) is not None and len(text) <= limits.ID_MAX


def _checked_value(record: JournalRecord) -> dict[str, Any]:
    value = value_from_data(record.data)
    if value.id != record.id or not _is_id(value.id):
        raise InvalidInputError(f"id: {record.id!r} is not a valid id of a value.")
    limits.checked_text("text", value.text, limits.VALUE_MAX, shortened_markers)
    limits.checked_text("project", value.project, limits.PROJECT_MAX, shortened_markers)
    if value.supersedes is not None and not _is_id(value.supersedes):
        raise InvalidInputError("supersedes: is not a valid id.")
    if value.supersedes == value.id:
        raise InvalidInputError("supersedes: a value cannot supersede itself.")
    if value.created_at.tzinfo is None:
        raise InvalidInputError("created_at: must have an offset from UTC.")
    evidence = value.evidence
    metrics = (
        *evidence.centroid,
        evidence.similarity,
        evidence.centroid_distance,
        evidence.threshold,
    )
    if not all(isinstance(metric, float | int) and abs(metric) < float("inf") for metric in metrics):
        raise InvalidInputError("evidence: its metrics must be finite numbers.")
    if not all(isinstance(name, str) for name in (*evidence.member_ids, evidence.embedding)):
        raise InvalidInputError("evidence: member_ids and embedding must be texts.")
    # `request` names a call of a front that has ended.
    return {key: part for key, part in value_to_data(value).items() if key != "request"}


def _checked_verdict(record: JournalRecord) -> dict[str, Any]:
    verdict = verdict_from_data(record.data)
    for name, given in (("value_id", verdict.value_id), ("ghap_id", verdict.ghap_id)):
        if not _is_id(given):
            raise InvalidInputError(f"{name}: {given!r} is not a valid id.")
    if verdict.id != record.id:
        raise InvalidInputError(f"id: {record.id!r} is not the id of a verdict on this value and entry.")
    limits.checked_text("project", verdict.project, limits.PROJECT_MAX, shortened_markers)
    if verdict.created_at.tzinfo is None:
        raise InvalidInputError("created_at: must have an offset from UTC.")
    return verdict_to_data(replace(verdict, requests=()))


def _checked_advice(record: JournalRecord) -> dict[str, Any]:
    advice = advice_from_data(record.data)
    for name, given in (("ghap_id", advice.ghap_id), *(("items", item.id) for item in advice.items)):
        if not (_ID.fullmatch(given) and len(given) <= limits.ID_MAX):
            raise InvalidInputError(f"{name}: {given!r} is not a valid id.")
    if advice.id != record.id:
        raise InvalidInputError(f"id: {record.id!r} is not the id of advice on this entry and iteration.")
    limits.checked_text("project", advice.project, limits.PROJECT_MAX)
    if advice.created_at.tzinfo is None:
        raise InvalidInputError("created_at: must have an offset from UTC.")
    numbers = (advice.revision, advice.probability)
    if any(isinstance(number, bool) for number in numbers) or not isinstance(advice.revision, int):
        raise InvalidInputError("revision: must be a whole number.")
    if not (isinstance(advice.withheld, bool) and advice.revision >= 1 and 0 <= advice.probability <= 1):
        raise InvalidInputError("revision, withheld, probability: are not what this program writes.")
    scores = [item.score for item in advice.items if item.score is not None]
    if not all(_is_within(score, -_SCORE_MAX, _SCORE_MAX) for score in scores):
        raise InvalidInputError(f"score: must be a number from -{_SCORE_MAX} to {_SCORE_MAX}.")
    return advice_to_data(advice)


def _is_within(given: object, least: float, most: float) -> bool:
    """Return whether this is a number from least to most. True is a number in Python; here it is not."""
    return isinstance(given, float | int) and not isinstance(given, bool) and least <= given <= most


def _checked_failure(record: JournalRecord) -> dict[str, Any]:
    failure = failure_from_data(record.data)
    if failure.id != record.id or not _FAILURE_ID.fullmatch(failure.id):
        raise InvalidInputError(f"id: {record.id!r} is not a valid id of a failure.")
    if failure.shown is not None and not _FAILURE_ID.fullmatch(failure.shown):
        raise InvalidInputError("shown: is not a valid id of a failure.")
    limits.checked_text("project", failure.project, limits.PROJECT_MAX, shortened_markers)
    limits.checked_text("session", failure.session, limits.ID_MAX)
    limits.checked_text("signature", failure.signature, limits.SIGNATURE_MAX, shortened_markers)
    for command in (failure.command, *([failure.remedy] if failure.remedy is not None else ())):
        limits.checked_text("command, remedy", command, limits.COMMAND_MAX, shortened_markers)
    if failure.created_at.tzinfo is None:
        raise InvalidInputError("created_at: must have an offset from UTC.")
    if isinstance(failure.times, bool) or not isinstance(failure.times, int) or failure.times < 1:
        raise InvalidInputError("times: must be a whole number above 0.")
    if not (isinstance(failure.imported, bool) and len(failure.named) <= _NAMED_MAX):
        raise InvalidInputError("imported, named: are not what this program writes.")
    for name in failure.named:
        limits.checked_text("named", name, limits.ID_MAX)
    if failure.support is not None and not _is_within(failure.support, 0, 1):
        raise InvalidInputError("support: must be a number from 0 to 1.")
    return failure_to_data(failure)


def _checked_memory(record: JournalRecord) -> dict[str, Any]:
    memory = memory_from_data(record.data)
    if memory.id != record.id or not _is_id(memory.id):
        raise InvalidInputError(f"id: {record.id!r} is not a valid id of a memory.")
    limits.checked_text("text", memory.text, limits.MEMORY_MAX, shortened_markers)
    limits.checked_text("project", memory.project, limits.PROJECT_MAX, shortened_markers)
    metadata = checked_metadata(memory.metadata, shortened_markers)
    if memory.created_at.tzinfo is None or memory.date.tzinfo is None:
        raise InvalidInputError("created_at, date: both must have an offset from UTC.")
    # The chunks depend on the model of this store, so they are not imported.
    return memory_to_data(replace(memory, metadata=metadata, request=None, chunking=None))


def _checked_clusters(record: JournalRecord) -> dict[str, Any]:
    data = record.data
    Axis(record.id)
    given = [number for number in data["moved"].values() if number is not None]
    following = data["next_number"]
    if not all(
        isinstance(number, int) and not isinstance(number, bool) and 0 <= number <= _NUMBER_MAX
        for number in (following, *given)
    ):
        raise InvalidInputError(f"next_number, moved: must be whole numbers from 0 to {_NUMBER_MAX:,}.")
    if given and following <= max(given):
        raise InvalidInputError(
            f"next_number: {following} is not above {max(given)}, which is taken already."
        )
    return data


_CHECKS: Final[dict[str, Check]] = {
    _VALUE: _checked_value,
    _VERDICT: _checked_verdict,
    _ADVICE: _checked_advice,
    _FAILURE: _checked_failure,
    _MEMORY: _checked_memory,
    CLUSTERS: _checked_clusters,
}
"""What may be imported besides entries. Each check returns the data in the form that may be stored."""


def is_forgotten(record: JournalRecord, forgotten: AbstractSet[Key]) -> bool:
    """Return whether a record, or the entry or the value that it is about, is forgotten."""
    if (record.kind, record.id) in forgotten:
        return True
    if record.kind in _UNUSED:
        return (GHAP, record.id) in forgotten
    if record.kind == _ADVICE:
        shown = {item["id"] for item in record.data["items"]} | {record.data["ghap_id"]}
        return any((kind, name) in forgotten for kind in (GHAP, _VALUE) for name in shown)
    about = ((_VALUE, record.data.get("value_id")), (GHAP, record.data.get("ghap_id")))
    return record.kind == _VERDICT and any(key in forgotten for key in about)


def comparable(entry: Ghap) -> dict[str, Any]:
    """Return the data that two copies of an entry have in common if they are the same."""
    data = ghap_to_data(entry)
    for part in ("requests", "orphaned", "agent"):
        data.pop(part, None)
    return data
