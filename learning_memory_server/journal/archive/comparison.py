"""What importing an archive would do, without doing it."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from learning_memory_server.journal.archive.contents import Contents, as_imported, is_forgotten
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import GHAP, RULE
from learning_memory_server.model.entry import Ghap


class Numbering(StrEnum):
    """What happens to the cluster numbers of an archive."""

    NONE = "none"
    NEW = "new"
    THERE = "there"
    SKIPPED = "skipped"


@dataclass(slots=True)
class Difference:
    """The comparison of one sort of things, by id. Differing and forgotten ones stay as they are here."""

    new: list[str] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    forgotten_here: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Comparison:
    """An archive against a journal."""

    sorts: dict[str, Difference]  # the differences, by the name: `entry`, `open entry`, `value` and so on
    numbering: Numbering
    doomed: dict[str, list[str]]  # ids, by kind, of what is in the journal and was forgotten in the archive
    never: dict[str, list[str]]  # ids, by kind, that were forgotten there and are unknown here

    @property
    def changes_nothing(self) -> bool:
        """Whether everything that is not forgotten is already in the journal."""
        return self.numbering is not Numbering.NEW and not any(sort.new for sort in self.sorts.values())


def compare(theirs: Contents, ours: Contents) -> Comparison:
    """Compare the contents of an archive and a journal."""
    sorts = {"entry": Difference(), "open entry": Difference()}
    gone = {record_id for kind, record_id in ours.forgotten if kind == GHAP.kind}
    for ghap_id, entry in theirs.entries.items():
        here = ours.entries.get(ghap_id) or ours.open.get(ghap_id)
        _sort(sorts["entry"], ghap_id, _same(entry, here), known=here is not None, gone=ghap_id in gone)
    for ghap_id, entry in theirs.open.items():
        here = ours.open.get(ghap_id)
        same = ghap_id in ours.entries or _same(entry, here)
        known = here is not None or ghap_id in ours.entries
        _sort(sorts["open entry"], ghap_id, same, known=known, gone=ghap_id in gone)
    for key, record in theirs.records.items():
        found = ours.records.get(key)
        # A rule of another store is kept as a suggestion.
        is_suggested = found is not None and record.kind == RULE.kind and bool(found.data.get("imported"))
        kept = as_imported(record) if is_suggested else record
        same = found is not None and _content(found.data) == _content(kept.data)
        difference = sorts.setdefault(record.kind, Difference())
        _sort(difference, record.id, same, known=found is not None, gone=is_forgotten(record, ours.forgotten))
    present = {(GHAP.kind, ghap_id) for ghap_id in (*ours.entries, *ours.open)} | ours.records.keys()
    return Comparison(
        sorts,
        numbering_of(theirs.clusters, ours.clusters, is_empty=not (ours.entries or gone)),
        _by_kind(theirs.forgotten & present),
        _by_kind(theirs.forgotten - present - ours.forgotten),
    )


def numbering_of(theirs: list[JournalRecord], ours: list[JournalRecord], *, is_empty: bool) -> Numbering:
    """Return what happens to an archive's cluster numbers: two histories cannot be merged.

    After an interrupted import, `ours` are the first few of `theirs`. `is_empty` is whether the journal never had an
    entry.
    """
    if not theirs:
        return Numbering.NONE
    if ours[: len(theirs)] == theirs:
        return Numbering.THERE
    return Numbering.NEW if is_empty and theirs[: len(ours)] == ours else Numbering.SKIPPED


def _sort(difference: Difference, name: str, same: bool, *, known: bool, gone: bool) -> None:
    if gone:
        difference.forgotten_here.append(name)
    elif not known:
        difference.new.append(name)
    elif same:
        difference.there.append(name)
    else:
        difference.differing.append(name)


def _same(theirs: Ghap, ours: Ghap | None) -> bool:
    return ours is not None and _content(GHAP.encode(theirs)) == _content(GHAP.encode(ours))


def _content(data: Mapping[str, Any]) -> Mapping[str, Any]:
    # The call that made it, the chunks of a memory, whose an entry was, and whether it was imported, may differ.
    besides = {"request", "requests", "cuts", "imported", "orphaned", "agent"}
    return {key: part for key, part in data.items() if key not in besides}


def _by_kind(keys: set[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for kind, record_id in sorted(keys):
        found[kind].append(record_id)
    return dict(found)
