"""What an archive and a journal hold, in one form, so that they can be compared."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.domain import limits
from learning_memory_server.domain.memory import checked_metadata
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.codec import (
    MALFORMED,
    ghap_to_data,
    memory_from_data,
    memory_to_data,
    value_from_data,
    value_to_data,
)
from learning_memory_server.journal.record import DamagedLineError, JournalRecord
from learning_memory_server.observation.importing import entry_of_record, parse_open

if TYPE_CHECKING:
    from collections.abc import Iterable

    from learning_memory_server.archive.reading import Archive
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.journal.journal import Journal

Key = tuple[str, str]
"""A kind and an id."""
Check = Callable[[JournalRecord], dict[str, Any]]

GHAP: Final = "ghap"
CLUSTERS: Final = "clusters"
_VALUE: Final = "value"
_MEMORY: Final = "memory"
_DERIVED: Final = frozenset({"evidence"})
"""What is found out anew from the rest wherever it is taken in, by the model that is there."""
_ID: Final = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(slots=True)
class Contents:
    """What is kept, without what is forgotten.

    Args:
        entries: The resolved entries by id.
        open: The open entries by id.
        records: The last record of everything else, by its key.
        clusters: The records about clusters, each of which continues those before it.
        forgotten: What is forgotten.
        rejections: What could not be taken, and why.
        changes: What is not taken as it was, and how often.
    """

    entries: dict[str, Ghap] = field(default_factory=dict)
    open: dict[str, Ghap] = field(default_factory=dict)
    records: dict[Key, JournalRecord] = field(default_factory=dict)
    clusters: list[JournalRecord] = field(default_factory=list)
    forgotten: set[Key] = field(default_factory=set)
    rejections: list[str] = field(default_factory=list)
    changes: Counter[str] = field(default_factory=Counter)

    def drop_forgotten(self) -> None:
        """Take out what is forgotten, and open entries that are resolved."""
        gone = {record_id for kind, record_id in self.forgotten if kind == GHAP}
        self.entries = {name: entry for name, entry in self.entries.items() if name not in gone}
        self.open = {
            name: entry for name, entry in self.open.items() if name not in gone and name not in self.entries
        }
        self.records = {key: record for key, record in self.records.items() if key not in self.forgotten}


def contents_of(archive: Archive) -> Contents:
    """Read an archive, with every check that a line from elsewhere gets.

    Args:
        archive: What was verified.

    Raises:
        JournalUnavailableError: If a newer program wrote a line.
    """
    contents = Contents()
    for name, lines in archive.segments():
        for number, line in enumerate(lines, start=1):
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
    """Return what a journal holds; reading only.

    Args:
        journal: The journal.
        entries: Its resolved entries.
        forgotten: The ids of its forgotten entries.
    """
    others = [log.read() for log in (journal.values, journal.memories)]
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
    """Return a record from elsewhere as it may be kept.

    Raises:
        InvalidInputError: If it is not what this program would have written, or of a kind that is not taken.
    """
    if record.kind not in _CHECKS:
        raise InvalidInputError(f"records of the kind {record.kind!r} are not known to this program.")
    try:
        data = _CHECKS[record.kind](record)
    except InvalidInputError:
        raise
    except MALFORMED as error:
        raise InvalidInputError(
            f"{record.id}: is no {record.kind} ({type(error).__name__}: {error})."
        ) from None
    return JournalRecord(record.kind, record.id, record.at, data)


def _take(contents: Contents, record: JournalRecord) -> None:
    if record.is_tombstone:
        if not (_ID.fullmatch(record.id) and len(record.id) <= limits.ID_MAX):
            raise InvalidInputError(f"id: {record.id!r} is not a valid id.")
        contents.forgotten.add((record.kind, record.id))
    elif record.kind == GHAP:
        contents.entries[record.id] = entry_of_record(record, contents.changes)
    elif record.kind in _DERIVED:
        return
    elif record.kind == CLUSTERS:
        contents.clusters.append(checked_record(record))
    else:
        contents.records[record.kind, record.id] = checked_record(record)


def _checked_value(record: JournalRecord) -> dict[str, Any]:
    value = value_from_data(record.data)
    if value.id != record.id or not _ID.fullmatch(value.id) or len(value.id) > limits.ID_MAX:
        raise InvalidInputError(f"id: {record.id!r} is not a valid id of a value.")
    limits.checked_text("text", value.text, limits.VALUE_MAX)
    limits.checked_text("project", value.project, limits.PROJECT_MAX)
    if value.supersedes is not None and not _ID.fullmatch(value.supersedes):
        raise InvalidInputError("supersedes: is not a valid id.")
    if value.supersedes == value.id:
        raise InvalidInputError("supersedes: a value cannot take its own place.")
    if value.created_at.tzinfo is None:
        raise InvalidInputError("created_at: must have an offset from UTC.")
    evidence = value.evidence
    figures = (
        *evidence.centroid,
        evidence.similarity,
        evidence.centroid_distance,
        evidence.threshold,
        *([] if evidence.radius is None else [evidence.radius]),
    )
    if not all(isinstance(figure, float | int) and abs(figure) < float("inf") for figure in figures):
        raise InvalidInputError("evidence: its figures must be finite numbers.")
    if not all(isinstance(name, str) for name in (*evidence.member_ids, evidence.embedding)):
        raise InvalidInputError("evidence: member_ids and embedding must be texts.")
    # It names a call of a front that is gone.
    return {key: part for key, part in value_to_data(value).items() if key != "request"}


def _checked_memory(record: JournalRecord) -> dict[str, Any]:
    memory = memory_from_data(record.data)
    if memory.id != record.id or not _ID.fullmatch(memory.id) or len(memory.id) > limits.ID_MAX:
        raise InvalidInputError(f"id: {record.id!r} is not a valid id of a memory.")
    limits.checked_text("text", memory.text, limits.MEMORY_MAX)
    limits.checked_text("project", memory.project, limits.PROJECT_MAX)
    metadata = checked_metadata(memory.metadata)
    if memory.created_at.tzinfo is None or memory.date.tzinfo is None:
        raise InvalidInputError("created_at, date: both must have an offset from UTC.")
    # Where it is cut is this model's own matter, and no line from elsewhere should say it.
    return memory_to_data(replace(memory, metadata=metadata, request=None, cuts=None))


def _checked_clusters(record: JournalRecord) -> dict[str, Any]:
    data = record.data
    Axis(record.id)
    given = [number for number in data["moved"].values() if number is not None]
    following = data["next_number"]
    if not all(
        isinstance(number, int) and not isinstance(number, bool) and number >= 0
        for number in (following, *given)
    ):
        raise InvalidInputError("next_number, moved: must be whole numbers from 0.")
    if given and following <= max(given):
        raise InvalidInputError(
            f"next_number: {following} is not above {max(given)}, which was given already."
        )
    return data


_CHECKS: Final[dict[str, Check]] = {
    _VALUE: _checked_value,
    _MEMORY: _checked_memory,
    CLUSTERS: _checked_clusters,
}
"""What may be taken from elsewhere besides entries. Each returns the data as it may be kept."""


def comparable(entry: Ghap) -> dict[str, Any]:
    """Return what two copies of an entry must share to be the same."""
    data = ghap_to_data(entry)
    for part in ("requests", "orphaned"):
        data.pop(part, None)
    return data
