"""What importing an archive would do, without doing it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Final

from learning_memory_server.journal.archive.contents import PERSONAL, Contents, as_imported, is_forgotten
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import GHAP, RULE
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.rule import Rule

_NEVER: Final = datetime.min.replace(tzinfo=UTC)


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
    of_others: list[str] = field(default_factory=list)  # what another person has said, which is not imported


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


def compare(theirs: Contents, ours: Contents, *, is_own: bool = True) -> Comparison:
    """Compare the contents of an archive and a journal; `is_own` is whether both are one person's."""
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
    rules = (record for record in ours.records.values() if record.kind == RULE.kind)
    answered = newest_answers(record.decoded(RULE.decode) for record in rules)
    for key, record in theirs.records.items():
        found = ours.records.get(key)
        # A rule of another store is kept as a suggestion.
        is_suggested = found is not None and record.kind == RULE.kind and bool(found.data.get("imported"))
        kept = as_imported(record) if is_suggested else record
        same = found is not None and _content(found.data) == _content(kept.data)
        difference = sorts.setdefault(record.kind, Difference())
        is_gone = is_forgotten(record, ours.forgotten)
        if not is_own and record.kind in PERSONAL and found is None and not is_gone:
            difference.of_others.append(record.id)
            continue
        # What a person has said newer here stands under another id
        same = same or (is_own and found is None and _is_answered(record, answered))
        _sort(difference, record.id, same, known=found is not None or same, gone=is_gone)
    present = {(GHAP.kind, ghap_id) for ghap_id in (*ours.entries, *ours.open)} | ours.records.keys()
    return Comparison(
        sorts,
        numbering_of(theirs.clusters, ours.clusters, is_empty=not (ours.entries or gone)),
        _by_kind(theirs.forgotten & present),
        _by_kind(theirs.forgotten - present - ours.forgotten),
    )


def newest_answers(rules: Iterable[Rule]) -> dict[tuple[object, ...], datetime]:
    """Return when a person here has answered each matter last."""
    said: dict[tuple[object, ...], datetime] = {}
    for each in rules:
        if not each.imported:
            said[_matter(each)] = max(as_seen(each.changed_at), said.get(_matter(each), _NEVER))
    return said


def is_answered(rule: Rule, answered: Mapping[tuple[object, ...], datetime]) -> bool:
    """Return whether a person here has answered the matter of a rule after that rule."""
    return not rule.imported and answered.get(_matter(rule), _NEVER) > as_seen(rule.changed_at)


def _is_answered(record: JournalRecord, answered: Mapping[tuple[object, ...], datetime]) -> bool:
    return record.kind == RULE.kind and is_answered(record.decoded(RULE.decode), answered)


def _matter(rule: Rule) -> tuple[object, ...]:
    place = ("" if rule.is_everywhere else rule.project, rule.folder, rule.is_everywhere)
    return (*place, rule.text.casefold().rstrip(".!"))


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
