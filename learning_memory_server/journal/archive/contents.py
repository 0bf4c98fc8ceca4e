"""The contents of an archive or a journal in one form, to compare them, as this program would write them."""

import json
from collections.abc import Iterable, Iterator, Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal import kinds
from learning_memory_server.journal.archive.reading import JOURNAL, OPEN, Archive
from learning_memory_server.journal.checks import check_clusters, is_id, leaves
from learning_memory_server.journal.codec import DamagedLineError, JournalRecord, content_of
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import MALFORMED
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.stored import WRITTEN
from learning_memory_server.redaction.base import shortened_markers


def checked_record(record: JournalRecord) -> JournalRecord:
    """Return an imported record in the form that may be stored; refuse what this program would not have written."""
    if record.kind == kinds.CLUSTERS.kind:
        with _named(record):
            check_clusters(record.id, record.data)
        return record
    thing = checked_thing(record)
    return replace(record, data=kinds.KINDS[record.kind].encode(thing))


def checked_thing(record: JournalRecord) -> Any:
    """Return the checked thing of a record that is not about clusters. An open entry is an orphan."""
    kind = kinds.KINDS.get(record.kind)
    if kind is None or kind.check is None:
        raise InvalidInputError(f"this program does not know records of the kind {record.kind!r}.")
    with _named(record):
        thing = kind.decode(record.data)
        if thing.id != record.id:
            raise InvalidInputError(f"id: {record.id!r} is not the id of this {record.kind}.")
        if WRITTEN in thing.others:
            raise InvalidInputError(f"{WRITTEN}: is not for files.")
        limits.checked_text("project", thing.project, limits.PROJECT_MAX, shortened_markers)
        if thing.created_at.tzinfo is None:
            raise InvalidInputError("created_at: must have an offset from UTC.")
        others = [part for name, part in leaves("", thing) if name == "others"]
        if (size := sum(len(json.dumps(part)) for part in others if part)) > limits.METADATA_MAX:
            names = ", ".join(sorted({name for part in others for name in part})[:3])
            raise InvalidInputError(f"{names}: {size:,} bytes of JSON, the limit is {limits.METADATA_MAX:,}.")
        return kind.check(thing)


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
    if record.kind != kinds.GHAP.kind:
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
    entry: Ghap = checked_thing(JournalRecord(kinds.GHAP.kind, str(data.get("id")), utc_now(), data))
    if entry.resolution is not None:
        raise InvalidInputError("the open entry is resolved.")
    return entry


Key = tuple[str, str]  # A kind and an id

_REJECTIONS_MAX: Final = 10_000  # Lines that are rejected one by one; each costs a sentence in memory


PERSONAL: Final = frozenset({kinds.ANSWER.kind, kinds.PROJECT.kind, kinds.RULE_COUNT.kind})
"""The kinds of records that say what one person wants; another person's are not imported."""


@dataclass(slots=True)
class Contents:
    """Everything in an archive or a journal, without what is forgotten; `rejections` are sentences.

    `clusters` continue each other; of everything else `records` has the last, by its key.
    """

    entries: dict[str, Ghap] = field(default_factory=dict)
    open: dict[str, Ghap] = field(default_factory=dict)
    records: dict[Key, JournalRecord] = field(default_factory=dict)
    clusters: list[JournalRecord] = field(default_factory=list)
    forgotten: set[Key] = field(default_factory=set)
    rejections: list[str] = field(default_factory=list)

    def drop_forgotten(self) -> None:
        """Remove what is forgotten, and open entries that are resolved."""
        gone = {record_id for kind, record_id in self.forgotten if kind == kinds.GHAP.kind}
        self.entries = {name: entry for name, entry in self.entries.items() if name not in gone}
        self.open = {name: entry for name, entry in self.open.items() if name not in gone and name not in self.entries}
        self.records = {key: record for key, record in self.records.items() if key not in self.forgotten}

    def mark_imported(self) -> None:
        """Mark everything as what no session of this store has experienced; its user has said nothing."""
        self.entries = {name: _as_imported_entry(entry) for name, entry in self.entries.items()}
        self.open = {name: replace(entry, imported=True) for name, entry in self.open.items()}
        self.records = {key: as_imported(record) for key, record in self.records.items() if record.kind not in PERSONAL}


def _as_imported_entry(entry: Ghap) -> Ghap:
    """Return an entry of another store, without the words of the person there."""
    return replace(entry, imported=True, resolution=replace(entry.outcome, words=""))


def as_imported(record: JournalRecord) -> JournalRecord:
    """Return a checked record as it is kept of another store: of a rule, a suggestion."""
    marked = replace(record, data={**record.data, "imported": True})
    return checked_record(marked) if record.kind == kinds.RULE.kind else marked


def contents_of(archive: Archive) -> Contents:
    """Read an archive, with every check that imported lines get; refuse one with thousands of unusable lines."""
    contents, still_open = Contents(), dict[str, bytes]()
    for file, lines in archive.files():
        name = file.removeprefix(JOURNAL)
        if name.startswith(OPEN):
            still_open[name] = b"".join(lines)
            continue
        for number, line in enumerate(lines if name != file else (), start=1):
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
    for name, text in still_open.items():
        try:
            entry = parse_open(text)
            contents.open[entry.id] = entry
        except InvalidInputError as error:
            contents.rejections.append(f"{name}: {error.message}")
    contents.drop_forgotten()
    return contents


def contents_here(journal: Journal, entries: Iterable[Ghap], forgotten: Iterable[str]) -> Contents:
    """Return the contents of a journal, without changing it."""
    others = [journal.logs[each.file].read() for each in kinds.KINDS.values() if each.check and each is not kinds.GHAP]
    contents = Contents(
        entries={entry.id: entry for entry in entries},
        open={entry.id: entry for entry in journal.open_entries()},
        records={(record.kind, record.id): record for log in others for record in log.records},
        clusters=journal.clusters.read().records,
        forgotten={(kinds.GHAP.kind, ghap_id) for ghap_id in forgotten}.union(*(log.forgotten for log in others)),
    )
    contents.drop_forgotten()
    return contents


def _take(contents: Contents, record: JournalRecord) -> None:
    if record.is_tombstone:
        if not is_id(record.id):
            raise InvalidInputError(f"id: {record.id!r} is not a valid id.")
        contents.forgotten.add((record.kind, record.id))
    elif record.kind == kinds.GHAP.kind:
        contents.entries[record.id] = entry_of_record(record)
    elif record.kind == kinds.CLUSTERS.kind:
        contents.clusters.append(checked_record(record))
    elif record.kind not in kinds.KINDS or kinds.KINDS[record.kind].is_archived:
        contents.records[record.kind, record.id] = checked_record(record)


def is_forgotten(record: JournalRecord, forgotten: AbstractSet[Key]) -> bool:
    """Return whether a record, or the entry, the value or the rule that it is about, is forgotten."""
    if (record.kind, record.id) in forgotten:
        return True
    if record.kind == kinds.RULE_COUNT.kind:
        return (kinds.RULE.kind, record.data.get("rule")) in forgotten
    if record.kind == kinds.ADVICE.kind:
        shown = {item["id"] for item in record.data["items"]} | {record.data.get("ghap_id")}
        return any((kind, name) in forgotten for kind in (kinds.GHAP.kind, kinds.VALUE.kind) for name in shown)
    about = ((kinds.VALUE.kind, record.data.get("value_id")), (kinds.GHAP.kind, record.data.get("ghap_id")))
    return record.kind == kinds.VERDICT.kind and any(key in forgotten for key in about)
