"""What taking in an archive would do, found out without doing it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from learning_memory_server.archive.contents import GHAP, comparable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from learning_memory_server.archive.contents import Contents
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.journal.record import JournalRecord


class Numbering(StrEnum):
    """What becomes of the numbers that clusters have in an archive."""

    NONE = "none"
    NEW = "new"
    THERE = "there"
    SKIPPED = "skipped"


@dataclass(slots=True)
class Difference:
    """How the things of one sort compare.

    Args:
        new: What is there only.
        there: What is in both, and the same.
        differing: Ids that mean something else here; ours stays.
        forgotten_here: Ids that were forgotten here; they stay so.
    """

    new: list[str] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    forgotten_here: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Comparison:
    """An archive against a journal.

    Args:
        sorts: The differences, by the name of what is compared: `entry`, `open entry`, `value` and so on.
        numbering: What becomes of the clusters' numbers.
        doomed: What is here and was forgotten there.
        never: What was forgotten there and is unknown here, by kind; it never comes back.
    """

    sorts: dict[str, Difference]
    numbering: Numbering
    doomed: dict[str, list[str]]
    never: dict[str, list[str]]

    @property
    def changes_nothing(self) -> bool:
        """Whether everything is here already, but for what is forgotten."""
        return self.numbering is not Numbering.NEW and not any(sort.new for sort in self.sorts.values())


def compare(theirs: Contents, ours: Contents) -> Comparison:
    """Compare what would be taken in with what is here."""
    sorts = {"entry": Difference(), "open entry": Difference()}
    gone = {record_id for kind, record_id in ours.forgotten if kind == GHAP}
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
        same = found is not None and _content(found) == _content(record)
        difference = sorts.setdefault(record.kind, Difference())
        _sort(difference, record.id, same, known=found is not None, gone=key in ours.forgotten)
    present = {(GHAP, ghap_id) for ghap_id in (*ours.entries, *ours.open)} | ours.records.keys()
    return Comparison(
        sorts,
        numbering_of(theirs.clusters, ours.clusters, is_empty=not (ours.entries or gone)),
        _by_kind(theirs.forgotten & present),
        _by_kind(theirs.forgotten - present - ours.forgotten),
    )


def numbering_of(theirs: list[JournalRecord], ours: list[JournalRecord], *, is_empty: bool) -> Numbering:
    """Tell what becomes of the numbers of an archive's clusters.

    They are taken where nothing has a number yet; two histories of numbers cannot be made one.

    Args:
        theirs: The records about clusters there.
        ours: Those here. The first of theirs, if it was interrupted before.
        is_empty: Whether no entry was ever here.
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
    return ours is not None and comparable(theirs) == comparable(ours)


def _content(record: JournalRecord) -> Mapping[str, Any]:
    # Which call made it, and where a memory is cut, may differ.
    return {key: part for key, part in record.data.items() if key not in {"request", "cuts"}}


def _by_kind(keys: set[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for kind, record_id in sorted(keys):
        found[kind].append(record_id)
    return dict(found)
