"""The contents of an archive or a journal, in one form so that they can be compared."""

from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.archive.checking import CLUSTERS, checked_record, entry_of_record, is_id, parse_open
from learning_memory_server.journal.archive.reading import Archive
from learning_memory_server.journal.codec import ADVICE, FAILURE, GHAP, VALUE, VERDICT
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.line import DamagedLineError, JournalRecord
from learning_memory_server.model.entry import Ghap

Key = tuple[str, str]
"""A kind and an id."""

_OF_ANOTHER_FOLDER: Final = frozenset({"server", "trial"})
"""Kinds that are not imported: where another storage folder has points, and what its sessions were told."""
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
        checked = checked_record(record)
        if record.kind == FAILURE.kind:
            # As far as is known, no session of this machine saw it.
            checked = replace(checked, data={**checked.data, "imported": True})
        contents.records[record.kind, record.id] = checked


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
    for part in ("requests", "orphaned", "agent"):
        data.pop(part, None)
    return data
