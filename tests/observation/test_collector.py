from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.ghap import Lesson, RootCause
from learning_memory_server.domain.vocabulary import (
    Domain,
    OutcomeStatus,
    RootCauseCategory,
    Strategy,
    Tier,
)
from learning_memory_server.errors import (
    InvalidInputError,
    JournalUnavailableError,
    LearningMemoryError,
    NoActiveGhapError,
    NotFoundError,
)
from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.collector import EntryQuery, ObservationCollector
from tests.support import (
    ALICE,
    BOB,
    CAROL,
    CONFIRMED,
    NOON,
    TEXTS,
    TickingClock,
    confirm,
    ghap,
    numbered,
    start,
)

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap

AFTER_RESTART = Caller(ALICE.project, "d" * 16)


def reloaded(journal: Journal) -> ObservationCollector:
    """What a new process makes of the journal."""
    journal.recover(NOON)
    return ObservationCollector(Journal(journal.path), TickingClock())


def ids(entries: list[Ghap]) -> list[str]:
    return [entry.id for entry in entries]


def test_a_started_entry_is_current_and_on_the_disk(
    collector: ObservationCollector, journal: Journal
) -> None:
    started = collector.start(
        ALICE,
        domain=Domain.PERFORMANCE,
        strategy=Strategy.DIVIDE_AND_CONQUER,
        goal="g",
        hypothesis="h",
        action="a",
        prediction="p",
    )

    entry = started.entry
    assert started.orphan is None
    assert (entry.project, entry.agent_session) == (ALICE.project, ALICE.session)
    assert (entry.domain, entry.strategy) == (Domain.PERFORMANCE, Strategy.DIVIDE_AND_CONQUER)
    assert (entry.goal, entry.hypothesis, entry.action, entry.prediction) == ("g", "h", "a", "p")
    assert entry.id.startswith("ghap_20260301_1200")
    assert collector.find_current(ALICE) == entry
    assert journal.open_entries() == [entry]


def test_nothing_is_written_before_something_is_started(
    collector: ObservationCollector, journal: Journal
) -> None:
    assert collector.find_current(ALICE) is None
    assert collector.list_orphans(ALICE) == []
    assert collector.list_resolved() == []
    assert not journal.path.exists()


def test_a_second_start_orphans_the_first_and_says_so(
    collector: ObservationCollector, journal: Journal
) -> None:
    first = start(collector)
    second = collector.start(
        ALICE,
        domain=Domain.TESTING,
        strategy=Strategy.ASK_USER,
        goal="g",
        hypothesis="h",
        action="a",
        prediction="p",
    )

    assert second.orphan is not None
    assert second.orphan.id == first.id
    assert collector.find_current(ALICE) == second.entry
    assert ids(collector.list_orphans(ALICE)) == [first.id]
    assert {entry.id: entry.orphaned for entry in journal.open_entries()} == {
        first.id: True,
        second.entry.id: False,
    }


def test_an_orphan_never_becomes_current_by_itself(collector: ObservationCollector, journal: Journal) -> None:
    first = start(collector)
    second = start(collector)
    assert confirm(collector).id == second.id

    for each in (collector, reloaded(journal)):
        assert each.find_current(ALICE) is None
        assert ids(each.list_orphans(ALICE)) == [first.id]
        with pytest.raises(NoActiveGhapError):
            confirm(each)


def test_of_two_entries_that_a_crash_left_current_only_the_newer_is(journal: Journal) -> None:
    older, newer = ghap(id="ghap_1"), ghap(id="ghap_2", created_at=NOON + timedelta(minutes=1))
    journal.save_open(older)
    journal.save_open(newer)
    collector = reloaded(journal)

    assert collector.find_current(ALICE) == newer
    confirm(collector)

    assert collector.find_current(ALICE) is None
    assert ids(collector.list_orphans(ALICE)) == [older.id]


def test_naming_an_orphan_adopts_it_once_nothing_is_current(collector: ObservationCollector) -> None:
    first = start(collector)
    start(collector)
    collector.update(ALICE, first.id, note="seen while busy")
    assert collector.find_current(ALICE) != collector.update(ALICE, first.id, note="again")
    confirm(collector)

    adopted = collector.update(ALICE, first.id, note="back to it")

    assert collector.find_current(ALICE) == adopted
    assert not adopted.orphaned
    assert adopted.notes == ("seen while busy", "again", "back to it")
    assert collector.list_orphans(ALICE) == []


def test_two_callers_of_a_project_have_a_current_entry_each(collector: ObservationCollector) -> None:
    alices = start(collector, ALICE)
    bobs = start(collector, BOB)

    assert collector.find_current(ALICE) == alices
    assert collector.find_current(BOB) == bobs
    assert ids(collector.list_orphans(ALICE)) == [bobs.id]
    assert ids(collector.list_orphans(BOB)) == [alices.id]

    collector.update(BOB, hypothesis="something else altogether")
    confirm(collector, BOB)

    assert collector.find_current(ALICE) == alices
    assert collector.find_current(BOB) is None


def test_projects_do_not_see_each_other_s_open_entries(collector: ObservationCollector) -> None:
    alices = start(collector, ALICE)
    carols = start(collector, CAROL)
    elsewhere = Caller(CAROL.project, ALICE.session)

    assert collector.list_orphans(ALICE) == []
    assert collector.find_current(elsewhere) is None
    assert ids(collector.list_orphans(elsewhere)) == [carols.id]
    with pytest.raises(NoActiveGhapError) as caught:
        collector.update(elsewhere, note="n")
    assert caught.value.hint is not None
    assert carols.id in caught.value.hint
    assert alices.id not in caught.value.hint


def test_another_s_entry_is_changed_by_name_and_stays_theirs_while_one_is_busy(
    collector: ObservationCollector,
) -> None:
    alices, bobs = start(collector, ALICE), start(collector, BOB)

    updated = collector.update(BOB, alices.id, note="from the side")

    assert updated == replace(alices, notes=("from the side",))
    assert collector.find_current(ALICE) == updated
    assert collector.find_current(BOB) == bobs


def test_after_a_restart_the_entry_is_adopted_by_name(
    collector: ObservationCollector, journal: Journal
) -> None:
    entry = start(collector)
    again = reloaded(journal)
    assert again.find_current(AFTER_RESTART) is None
    assert ids(again.list_orphans(AFTER_RESTART)) == [entry.id]

    adopted = again.update(AFTER_RESTART, entry.id, note="resumed")

    assert again.find_current(AFTER_RESTART) == adopted
    assert adopted.agent_session == AFTER_RESTART.session
    assert reloaded(journal).find_current(AFTER_RESTART) == adopted


def test_orphans_come_newest_first(collector: ObservationCollector) -> None:
    entries = [start(collector) for _ in range(4)]

    assert ids(collector.list_orphans(ALICE)) == ids(entries[2::-1])
    assert ids(collector.list_orphans(BOB)) == ids(entries[::-1])


def test_orphans_are_ordered_alike_after_the_clock_was_set_back(journal: Journal) -> None:
    collector = ObservationCollector(journal, TickingClock(step=-timedelta(hours=1)))
    for _ in range(3):
        start(collector)

    live = ids(collector.list_orphans(BOB))

    assert live == ids(reloaded(journal).list_orphans(BOB))


def test_without_a_current_entry_the_hint_names_the_open_ones(collector: ObservationCollector) -> None:
    with pytest.raises(NoActiveGhapError) as nothing_open:
        collector.update(ALICE, note="n")
    assert nothing_open.value.hint == "Call start_ghap first."

    bobs = start(collector, BOB)
    with pytest.raises(NoActiveGhapError) as caught:
        confirm(collector, ALICE)
    assert caught.value.hint is not None
    assert bobs.id in caught.value.hint
    assert "ghap_id" in caught.value.hint


def test_an_unknown_id_is_not_found(collector: ObservationCollector) -> None:
    start(collector)
    with pytest.raises(NotFoundError, match="There is no entry ghap_x") as updating:
        collector.update(ALICE, "ghap_x", note="n")
    with pytest.raises(NotFoundError, match="There is no entry ghap_x") as resolving:
        confirm(collector, ALICE, "ghap_x")
    for caught in (updating, resolving):
        assert caught.value.hint == "Call get_active_ghap to see the open entries."


def test_a_resolved_entry_stays_as_it_is(collector: ObservationCollector, journal: Journal) -> None:
    entry = confirm(collector, ALICE, start(collector).id)
    for each in (collector, reloaded(journal)):
        with pytest.raises(NotFoundError, match=f"{entry.id} is resolved already .confirmed.") as caught:
            confirm(each, ALICE, entry.id)
        assert caught.value.hint
        with pytest.raises(NotFoundError, match="resolved already"):
            each.update(ALICE, entry.id, note="too late")
        assert each.list_resolved() == [entry]


def test_an_update_is_on_the_disk(collector: ObservationCollector, journal: Journal) -> None:
    entry = start(collector)

    updated = collector.update(
        ALICE, hypothesis="a new one", strategy=Strategy.ASK_USER, note="caf\u00e9\n\u2028"
    )

    assert (updated.hypothesis, updated.strategy, updated.notes) == (
        "a new one",
        Strategy.ASK_USER,
        ("caf\u00e9\n\u2028",),
    )
    assert updated.history[0].hypothesis == entry.hypothesis
    assert updated.iteration_count == 2
    assert reloaded(journal).find_current(ALICE) == updated


def test_a_resolution_is_kept_whole_and_moves_from_open_to_entries(
    collector: ObservationCollector, journal: Journal
) -> None:
    started = start(collector)

    entry = collector.resolve(
        ALICE,
        status=OutcomeStatus.FALSIFIED,
        result="It stayed slow.",
        surprise="The pool was idle.",
        root_cause=RootCause(RootCauseCategory.WRONG_SCOPE, "The client waited."),
        lesson=Lesson("Tracing the request", "Start at the client"),
    )

    assert replace(entry, resolution=None) == started
    assert entry.outcome.resolved_at == started.created_at + timedelta(seconds=1)
    assert entry.tier is Tier.GOLD
    assert list((journal.path / "open").iterdir()) == []
    assert reloaded(journal).list_resolved() == [entry]
    assert reloaded(journal).find_current(ALICE) is None


def test_falsified_without_its_explanation_leaves_the_entry_open(collector: ObservationCollector) -> None:
    entry = start(collector)

    with pytest.raises(InvalidInputError, match="surprise and root_cause: required"):
        collector.resolve(ALICE, status=OutcomeStatus.FALSIFIED, result="No.")

    assert collector.find_current(ALICE) == entry
    assert collector.list_resolved() == []


def test_a_resolved_orphan_is_an_orphan_no_more(collector: ObservationCollector, journal: Journal) -> None:
    first = start(collector)
    second = start(collector)

    assert not confirm(collector, BOB, first.id).orphaned
    assert not reloaded(journal).list_resolved()[0].orphaned
    assert collector.find_current(ALICE) == second


def test_a_resolution_that_cannot_be_written_leaves_the_entry_open(
    collector: ObservationCollector, journal: Journal
) -> None:
    entry = start(collector)
    (journal.path / "entries").write_text("in the way")

    with pytest.raises(JournalUnavailableError):
        confirm(collector)
    assert collector.find_current(ALICE) == entry
    assert collector.list_resolved() == []

    (journal.path / "entries").unlink()
    assert confirm(collector).id == entry.id
    assert ids(reloaded(journal).list_resolved()) == [entry.id]


def test_a_start_that_cannot_be_written_has_not_happened(
    collector: ObservationCollector, journal: Journal
) -> None:
    first = start(collector)
    (journal.path / "open").rename(journal.path / "moved")
    (journal.path / "open").write_text("in the way")

    with pytest.raises(JournalUnavailableError):
        start(collector)
    with pytest.raises(JournalUnavailableError):
        collector.update(ALICE, note="lost")

    assert collector.find_current(ALICE) == first
    assert collector.list_orphans(ALICE) == []


def test_a_resolution_succeeds_though_the_open_file_cannot_be_removed(
    collector: ObservationCollector, journal: Journal
) -> None:
    entry = start(collector)
    file = journal.path / "open" / f"{entry.id}.json"
    content = file.read_bytes()
    file.unlink()
    file.mkdir()

    assert confirm(collector).id == entry.id

    file.rmdir()
    file.write_bytes(content)
    assert reloaded(journal).find_current(ALICE) is None
    assert not file.exists()


def test_an_open_file_of_a_resolved_entry_is_not_open_before_recovery(journal: Journal) -> None:
    resolved = ghap(resolution=CONFIRMED)
    journal.save_open(ghap())
    journal.entries.append([JournalRecord("ghap", resolved.id, NOON, ghap_to_data(resolved))])

    collector = ObservationCollector(Journal(journal.path), TickingClock())

    assert collector.find_current(ALICE) is None
    assert collector.list_resolved() == [resolved]


def test_one_entry_that_cannot_be_understood_is_an_anticipated_failure_at_most(journal: Journal) -> None:
    for entry in (numbered(1), numbered(2)):
        data = ghap_to_data(entry)
        if entry == numbered(1):
            data["domain"] = "cooking"
        journal.entries.append([JournalRecord("ghap", entry.id, NOON, data)])

    try:
        listed = ids(reloaded(journal).list_resolved())
    except LearningMemoryError:
        return
    assert listed == [numbered(2).id]


def test_a_later_line_supersedes_an_earlier_one(journal: Journal) -> None:
    for result in ("first", "second"):
        entry = numbered(1, resolution=replace(CONFIRMED, result=result))
        journal.entries.append([JournalRecord("ghap", entry.id, NOON, ghap_to_data(entry))])

    assert [entry.outcome.result for entry in reloaded(journal).list_resolved()] == ["second"]


def test_resolved_entries_are_listed_newest_resolution_first(collector: ObservationCollector) -> None:
    first, second, third = (start(collector) for _ in range(3))
    for entry in (second, third, first):
        confirm(collector, ALICE, entry.id)

    assert ids(collector.list_resolved()) == [first.id, third.id, second.id]


def test_imported_entries_are_sorted_in_by_the_time_of_their_resolution(
    collector: ObservationCollector,
) -> None:
    own = confirm(collector, ALICE, start(collector).id)
    old, new = numbered(-60), numbered(60)

    collector.add_resolved([new, old])

    assert collector.list_resolved() == [new, own, old]


def test_equal_times_are_ordered_by_id(collector: ObservationCollector) -> None:
    entries = [numbered(n, resolution=CONFIRMED) for n in (2, 3, 1)]
    collector.add_resolved(entries)

    assert collector.list_resolved() == [entries[1], entries[0], entries[2]]


@pytest.fixture
def mixed(collector: ObservationCollector) -> ObservationCollector:
    collector.add_resolved(
        [
            numbered(1),
            numbered(2, domain=Domain.SECURITY),
            numbered(3, strategy=Strategy.ASK_USER),
            numbered(4, project=CAROL.project),
            numbered(
                5,
                resolution=replace(
                    CONFIRMED, status=OutcomeStatus.ABANDONED, resolved_at=NOON + timedelta(hours=9)
                ),
            ),
        ]
    )
    start(collector)
    return collector


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (EntryQuery(), [5, 4, 3, 2, 1]),
        (EntryQuery(domain=Domain.SECURITY), [2]),
        (EntryQuery(domain=Domain.DEBUGGING), [5, 4, 3, 1]),
        (EntryQuery(strategy=Strategy.ASK_USER), [3]),
        (EntryQuery(project=CAROL.project), [4]),
        (EntryQuery(outcome=OutcomeStatus.ABANDONED), [5]),
        (EntryQuery(outcome=OutcomeStatus.FALSIFIED), []),
        (EntryQuery(domain=Domain.SECURITY, project=CAROL.project), []),
        (EntryQuery(since=NOON + timedelta(minutes=3, seconds=30)), [5, 4, 3]),
        (EntryQuery(since=NOON + timedelta(minutes=3, seconds=30, microseconds=1)), [5, 4]),
        (EntryQuery(since=NOON + timedelta(hours=9)), [5]),
    ],
)
def test_every_filter_restricts_the_list(
    mixed: ObservationCollector, query: EntryQuery, expected: list[int]
) -> None:
    assert ids(mixed.list_resolved(query)) == [numbered(n).id for n in expected]


def test_adding_twice_adds_once(collector: ObservationCollector, journal: Journal) -> None:
    assert collector.add_resolved([numbered(1), numbered(2), numbered(1)]) == [numbered(1), numbered(2)]
    before = journal.size()

    assert collector.add_resolved([numbered(2), numbered(1)]) == []
    assert collector.add_resolved([]) == []

    assert journal.size() == before
    again = reloaded(journal)
    assert again.add_resolved([numbered(1), numbered(3)]) == [numbered(3)]
    assert len(again.list_resolved()) == 3


def test_an_open_entry_is_not_replaced_by_an_imported_one(collector: ObservationCollector) -> None:
    entry = start(collector)

    assert collector.add_resolved([replace(entry, resolution=CONFIRMED)]) == []
    assert collector.find_current(ALICE) == entry


def test_starts_within_one_second_have_ids_of_their_own(journal: Journal) -> None:
    collector = ObservationCollector(journal, TickingClock(step=timedelta(0)))

    assert len({start(collector).id for _ in range(20)}) == 20


CALLERS = st.sampled_from([ALICE, BOB])
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["start", "update", "resolve"]),
        CALLERS,
        st.none() | st.integers(0, 5),
        TEXTS,
    ),
    max_size=12,
)


@given(STEPS)
def test_a_new_process_finds_the_state_that_any_calls_left(
    steps: list[tuple[str, Caller, int | None, str]],
) -> None:
    with tempfile.TemporaryDirectory() as directory:
        journal = Journal(Path(directory) / "journal")
        collector = ObservationCollector(journal, TickingClock())
        known: list[str] = []
        resolved: set[str] = set()
        current: dict[Caller, str | None] = defaultdict(lambda: None)
        for kind, caller, chosen, text in steps:
            named = known[chosen % len(known)] if chosen is not None and known else None
            target = named or current[caller]
            if kind == "start":
                current[caller] = start(collector, caller, goal=text).id
                known.append(str(current[caller]))
            elif target is None:
                with pytest.raises(NoActiveGhapError):
                    confirm(collector, caller)
            elif target in resolved:
                with pytest.raises(NotFoundError):
                    confirm(collector, caller, target)
            elif kind == "update":
                collector.update(caller, named, hypothesis=text, note=text)
                if current[caller] is None:
                    current.update({other: None for other, held in current.items() if held == target})
                    current[caller] = target
            else:
                confirm(collector, caller, named)
                resolved.add(target)
                current.update({other: None for other, held in current.items() if held == target})

        again = reloaded(journal)
        assert again.list_resolved() == collector.list_resolved()
        assert {entry.id for entry in again.list_resolved()} == resolved
        for caller in (ALICE, BOB):
            entry = collector.find_current(caller)
            assert (entry.id if entry else None) == current[caller]
            assert again.find_current(caller) == entry
            assert again.list_orphans(caller) == collector.list_orphans(caller)
            seen = {*ids(again.list_orphans(caller)), *([entry.id] if entry else [])}
            assert seen == set(known) - resolved
