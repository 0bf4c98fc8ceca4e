"""What importing an archive would do: the journal's own data stays, and what was forgotten stays forgotten."""

from dataclasses import replace
from datetime import timedelta

import pytest

from learning_memory_server.journal.archive.comparison import Difference, Numbering, compare, numbering_of
from learning_memory_server.journal.archive.contents import Contents
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import RULE
from tests.journal.archive.making import held, value_record, verdict_record
from tests.rules.making import accepted
from tests.support import NOON, full_ghap, ghap, numbered

ONE, TWO, THREE = (JournalRecord("clusters", "full", NOON, {"next_number": n, "moved": {}}) for n in range(3))
ALL = {"entry": 3, "open entry": 1, "value": 1, "verdict": 2}
"""How many of each sort the journal has."""


def test_the_same_journal_changes_nothing(journal: Journal) -> None:
    comparison = compare(held(journal), held(journal))
    assert comparison.changes_nothing
    assert comparison.numbering is Numbering.THERE
    assert comparison.doomed == comparison.never == {}
    assert {name: len(sort.there) for name, sort in comparison.sorts.items()} == ALL


def test_a_failure_from_here_is_no_other_one_because_it_comes_from_an_archive() -> None:
    here, there = (
        JournalRecord("failure", "failure_1", NOON, {"command": "make", **mark}) for mark in ({}, {"imported": True})
    )
    comparison = compare(
        Contents(records={("failure", here.id): there}), Contents(records={("failure", here.id): here})
    )
    assert comparison.sorts["failure"].there == [here.id]


def test_an_empty_journal_gets_everything(journal: Journal) -> None:
    comparison = compare(held(journal), Contents())
    assert not comparison.changes_nothing
    assert comparison.numbering is Numbering.NEW
    assert {name: len(sort.new) for name, sort in comparison.sorts.items()} == ALL
    assert comparison.never == {"ghap": [numbered(2).id]}


def test_each_id_is_listed_once(journal: Journal) -> None:
    theirs, ours = held(journal), held(journal)
    gone, other, new = numbered(1).id, numbered(3).id, numbered(4).id
    del ours.entries[gone], ours.entries[new]
    ours.forgotten.add(("ghap", gone))
    ours.entries[other] = replace(ours.entries[other], goal="another goal")
    ours.records["value", value_record(1).id] = value_record(1, text="other")
    comparison = compare(theirs, ours)
    assert comparison.sorts["entry"] == Difference([new], [], [other], [gone])
    assert comparison.sorts["value"].differing == [value_record(1).id]
    assert comparison.numbering is Numbering.THERE


def test_a_verdict_on_something_forgotten_stays_forgotten(journal: Journal) -> None:
    theirs, ours = held(journal), Contents()
    ours.forgotten = {("ghap", numbered(1).id), ("value", value_record(9).id)}
    other = verdict_record(9, numbered(3).id)
    theirs.records["verdict", other.id] = other
    verdicts = compare(theirs, ours).sorts["verdict"]
    assert set(verdicts.forgotten_here) == {verdict_record(1, numbered(1).id).id, other.id}
    assert len(verdicts.new) == 1


def test_requests_and_orphaning_make_no_difference() -> None:
    theirs = Contents(entries={full_ghap().id: full_ghap()}, records={("value", "v"): value_record(1)})
    ours = Contents(
        entries={full_ghap().id: replace(full_ghap(), requests=("front:1",))},
        records={("value", "v"): value_record(1, request="front:2")},
    )
    assert compare(theirs, ours).changes_nothing
    opened = Contents(open={ghap().id: replace(ghap(), orphaned=True)})
    assert compare(opened, Contents(open={ghap().id: ghap()})).sorts["open entry"].there == [ghap().id]


def test_the_journal_s_own_entry_stays_open_or_resolved() -> None:
    resolved, still_open = Contents(entries={ghap().id: full_ghap()}), Contents(open={ghap().id: ghap()})
    assert compare(resolved, still_open).sorts["entry"].differing == [ghap().id]
    assert compare(still_open, resolved).sorts["open entry"].there == [ghap().id]


def test_deletions_are_split_by_what_the_journal_has() -> None:
    theirs = Contents(forgotten={("ghap", "here"), ("ghap", "never"), ("ghap", "gone"), ("value", "v")})
    ours = Contents(
        entries={"here": full_ghap()}, records={("value", "v"): value_record(1)}, forgotten={("ghap", "gone")}
    )
    comparison = compare(theirs, ours)
    assert comparison.doomed == {"ghap": ["here"], "value": ["v"]}
    assert comparison.never == {"ghap": ["never"]}


@pytest.mark.parametrize(
    ("theirs", "ours", "is_empty", "becomes"),
    [
        ([], [ONE], False, Numbering.NONE),
        ([ONE, TWO], [], True, Numbering.NEW),
        ([ONE, TWO], [ONE], True, Numbering.NEW),
        ([ONE, TWO], [ONE], False, Numbering.SKIPPED),
        ([ONE, TWO], [], False, Numbering.SKIPPED),
        ([ONE, TWO], [TWO], True, Numbering.SKIPPED),
        ([ONE, TWO], [ONE, TWO], False, Numbering.THERE),
        ([ONE, TWO], [ONE, TWO, THREE], False, Numbering.THERE),
    ],
)
def test_cluster_numbers_are_imported_only_if_there_are_none(
    theirs: list[JournalRecord], ours: list[JournalRecord], is_empty: bool, becomes: Numbering
) -> None:
    assert numbering_of(theirs, ours, is_empty=is_empty) is becomes


def test_what_another_person_has_said_is_counted_as_what_is_not_imported() -> None:
    answer = JournalRecord("answer", "shared_0123456789abcdef", NOON, {"project": "shop", "said": "yes"})
    theirs = Contents(records={("answer", answer.id): answer})
    (difference,) = (compare(theirs, Contents(), is_own=False).sorts[kind] for kind in ("answer",))
    assert difference == Difference(of_others=[answer.id])
    assert compare(theirs, Contents()).sorts["answer"] == Difference(new=[answer.id])
    theirs.mark_imported()
    assert compare(theirs, Contents()).changes_nothing


def test_a_rule_that_a_person_here_has_answered_since_is_not_counted_as_new() -> None:
    ours, older = accepted("Never push"), replace(accepted("never push."), changed_at=NOON - timedelta(days=300))
    here, there = (Contents(records={(RULE.kind, each.id): JournalRecord.of(RULE, each)}) for each in (ours, older))
    assert compare(there, here).sorts[RULE.kind] == Difference(there=[older.id])
    newer = replace(older, changed_at=ours.changed_at + timedelta(days=1))
    there = Contents(records={(RULE.kind, newer.id): JournalRecord.of(RULE, newer)})
    assert compare(there, here).sorts[RULE.kind] == Difference(new=[newer.id])
