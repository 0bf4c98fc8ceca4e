from dataclasses import replace
from datetime import timedelta

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import (
    InvalidInputError,
    JournalUnavailableError,
    LearningMemoryError,
    NoActiveGhapError,
    NotFoundError,
)
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Lesson, Revision, RootCause
from learning_memory_server.model.vocabulary import OutcomeStatus, RootCauseCategory, Strategy, Tier
from tests.support import (
    ALICE,
    BOB,
    CAROL,
    CONFIRMED,
    NOON,
    PARTS,
    TickingClock,
    confirm,
    ghap,
    ids,
    numbered,
    reloaded,
    start,
)

AFTER_RESTART = Caller(ALICE.project, "d" * 16)


def test_a_started_entry_is_current_and_on_disk(collector: ObservationCollector, journal: Journal) -> None:
    started = collector.start(ALICE, **PARTS)

    entry = started.entry
    assert started.orphan is None
    assert entry == ghap(id=entry.id, created_at=NOON + timedelta(seconds=1))
    assert entry.id.startswith("ghap_20260301_1200")
    assert collector.still_open.current(ALICE) == entry
    assert journal.open_entries() == [entry]


def test_nothing_is_written_before_anything_starts(collector: ObservationCollector, journal: Journal) -> None:
    assert collector.still_open.current(ALICE) is None
    assert collector.still_open.others(ALICE, elsewhere=False) == []
    assert collector.list_resolved() == []
    assert not journal.path.exists()


def test_a_new_start_orphans_the_first_and_says_so(collector: ObservationCollector, journal: Journal) -> None:
    first = start(collector)
    second = collector.start(ALICE, **PARTS)

    assert second.orphan is not None
    assert second.orphan.id == first.id
    assert collector.still_open.current(ALICE) == second.entry
    assert ids(collector.still_open.others(ALICE, elsewhere=False)) == [first.id]
    assert {entry.id: entry.orphaned for entry in journal.open_entries()} == {first.id: True, second.entry.id: False}


def test_an_orphan_never_becomes_current_by_itself(collector: ObservationCollector, journal: Journal) -> None:
    first = start(collector)
    second = start(collector)
    assert confirm(collector, ghap_id=second.id) == collector.get(second.id)

    for each in (collector, reloaded(journal)):
        assert each.still_open.current(ALICE) is None
        assert ids(each.still_open.others(ALICE, elsewhere=False)) == [first.id]
        with pytest.raises(NoActiveGhapError):
            confirm(each)


def test_only_the_newer_of_two_entries_that_a_crash_left_current_is_current(journal: Journal) -> None:
    older, newer = ghap(id="ghap_1"), ghap(id="ghap_2", created_at=NOON + timedelta(minutes=1))
    journal.save_open(older)
    journal.save_open(newer)
    collector = reloaded(journal)

    assert collector.still_open.current(ALICE) == newer
    confirm(collector, ghap_id=newer.id)

    assert collector.still_open.current(ALICE) is None
    assert ids(collector.still_open.others(ALICE, elsewhere=False)) == [older.id]


def test_naming_an_orphan_adopts_it_once_nothing_is_current(collector: ObservationCollector) -> None:
    first = start(collector)
    second = start(collector)
    collector.update(ALICE, first.id, note="seen while busy")
    assert collector.still_open.current(ALICE) != collector.update(ALICE, first.id, note="again")
    confirm(collector, ghap_id=second.id)

    adopted = collector.update(ALICE, first.id, note="back to it")

    assert collector.still_open.current(ALICE) == adopted
    assert not adopted.orphaned
    assert adopted.notes == ("seen while busy", "again", "back to it")
    assert collector.still_open.others(ALICE, elsewhere=False) == []


def test_each_of_two_callers_of_a_project_has_a_current_entry(collector: ObservationCollector) -> None:
    alices = start(collector, ALICE)
    bobs = start(collector, BOB)

    assert collector.still_open.current(ALICE) == alices
    assert collector.still_open.current(BOB) == bobs
    assert ids(collector.still_open.others(ALICE, elsewhere=False)) == [bobs.id]
    assert ids(collector.still_open.others(BOB, elsewhere=False)) == [alices.id]

    collector.update(BOB, hypothesis="something else altogether")
    confirm(collector, BOB)

    assert collector.still_open.current(ALICE) == alices
    assert collector.still_open.current(BOB) is None


def test_projects_do_not_see_each_other_s_open_entries(collector: ObservationCollector) -> None:
    alices = start(collector, ALICE)
    carols = start(collector, CAROL)
    elsewhere = Caller(CAROL.project, ALICE.session)

    assert collector.still_open.others(ALICE, elsewhere=False) == []
    assert collector.still_open.current(elsewhere) is None
    assert ids(collector.still_open.others(elsewhere, elsewhere=False)) == [carols.id]
    with pytest.raises(NoActiveGhapError) as caught:
        collector.update(elsewhere, note="n")
    assert caught.value.hint is not None
    assert carols.id in caught.value.hint
    assert alices.id not in caught.value.hint


def test_another_caller_s_entry_can_be_changed_by_id_and_stays_theirs_while_one_s_own_is_open(
    collector: ObservationCollector,
) -> None:
    alices, bobs = start(collector, ALICE), start(collector, BOB)

    updated = collector.update(BOB, alices.id, note="from the side")

    assert updated == replace(alices, notes=("from the side",))
    assert collector.still_open.current(ALICE) == updated
    assert collector.still_open.current(BOB) == bobs


def test_after_a_restart_an_id_adopts_the_entry(collector: ObservationCollector, journal: Journal) -> None:
    entry = start(collector)
    again = reloaded(journal)
    assert again.still_open.current(AFTER_RESTART) is None
    assert ids(again.still_open.others(AFTER_RESTART, elsewhere=False)) == [entry.id]

    adopted = again.update(AFTER_RESTART, entry.id, note="resumed")

    assert again.still_open.current(AFTER_RESTART) == adopted
    assert adopted.agent_session == AFTER_RESTART.session
    assert reloaded(journal).still_open.current(AFTER_RESTART) == adopted


def test_orphans_come_newest_first(collector: ObservationCollector) -> None:
    entries = [start(collector) for _ in range(4)]

    assert ids(collector.still_open.others(ALICE, elsewhere=False)) == ids(entries[2::-1])
    assert ids(collector.still_open.others(BOB, elsewhere=False)) == ids(entries[::-1])


def test_the_order_of_orphans_survives_a_clock_that_was_set_back(journal: Journal) -> None:
    collector = ObservationCollector(journal, TickingClock(step=-timedelta(hours=1)))
    for _ in range(3):
        start(collector)

    live = ids(collector.still_open.others(BOB, elsewhere=False))

    assert live == ids(reloaded(journal).still_open.others(BOB, elsewhere=False))


def test_without_a_current_entry_the_hint_names_the_open_ones(collector: ObservationCollector) -> None:
    with pytest.raises(NoActiveGhapError) as nothing_open:
        collector.update(ALICE, note="n")
    assert (
        nothing_open.value.hint == "Call start_ghap first. After the fact, give resolve_ghap a goal and a hypothesis."
    )

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


def test_a_resolved_entry_cannot_be_changed(collector: ObservationCollector, journal: Journal) -> None:
    entry = confirm(collector, ALICE, start(collector).id)
    for each in (collector, reloaded(journal)):
        with pytest.raises(NotFoundError, match=f"{entry.id} is already resolved .confirmed.") as caught:
            confirm(each, ALICE, entry.id)
        assert caught.value.hint
        with pytest.raises(NotFoundError, match="already resolved"):
            each.update(ALICE, entry.id, note="too late")
        assert each.list_resolved() == [entry]


def test_an_update_is_on_the_disk(collector: ObservationCollector, journal: Journal) -> None:
    entry = start(collector)

    updated = collector.update(ALICE, hypothesis="a new one", strategy=Strategy.ASK_USER, note="caf\u00e9\n\u2028")

    before = Revision(entry.created_at + timedelta(seconds=1), entry.hypothesis, entry.action, entry.prediction)
    changed = replace(entry, hypothesis="a new one", strategy=Strategy.ASK_USER, notes=("caf\u00e9\n\u2028",))
    assert updated == replace(changed, history=(before,))
    assert reloaded(journal).still_open.current(ALICE) == updated


def test_a_resolution_is_kept_completely_and_moves_from_open_to_entries(
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
    assert reloaded(journal).still_open.current(ALICE) is None


def test_falsified_without_its_explanation_leaves_the_entry_open(collector: ObservationCollector) -> None:
    entry = start(collector)

    with pytest.raises(InvalidInputError, match="surprise and root_cause: required"):
        collector.resolve(ALICE, status=OutcomeStatus.FALSIFIED, result="No.")

    assert collector.still_open.current(ALICE) == entry
    assert collector.list_resolved() == []


def test_a_resolved_orphan_is_no_longer_an_orphan(collector: ObservationCollector, journal: Journal) -> None:
    first = start(collector)
    second = start(collector)

    assert not confirm(collector, BOB, first.id).orphaned
    assert not reloaded(journal).list_resolved()[0].orphaned
    assert collector.still_open.current(ALICE) == second


def test_a_resolution_that_cannot_be_written_leaves_the_entry_open(
    collector: ObservationCollector, journal: Journal
) -> None:
    entry = start(collector)
    (journal.path / "entries").write_text("in the way")

    with pytest.raises(JournalUnavailableError):
        confirm(collector)
    assert collector.still_open.current(ALICE) == entry
    assert collector.list_resolved() == []

    (journal.path / "entries").unlink()
    assert confirm(collector).id == entry.id
    assert ids(reloaded(journal).list_resolved()) == [entry.id]


def test_a_start_that_is_not_written_is_no_start(collector: ObservationCollector, journal: Journal) -> None:
    first = start(collector)
    (journal.path / "open").rename(journal.path / "moved")
    (journal.path / "open").write_text("in the way")

    with pytest.raises(JournalUnavailableError):
        start(collector)
    with pytest.raises(JournalUnavailableError):
        collector.update(ALICE, note="lost")

    assert collector.still_open.current(ALICE) == first
    assert collector.still_open.others(ALICE, elsewhere=False) == []


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
    assert reloaded(journal).still_open.current(ALICE) is None
    assert not file.exists()


def test_an_open_file_of_a_resolved_entry_is_not_open_before_recovery(journal: Journal) -> None:
    resolved = ghap(resolution=CONFIRMED)
    journal.save_open(ghap())
    journal.entries.append([JournalRecord("ghap", resolved.id, NOON, GHAP.encode(resolved))])

    collector = ObservationCollector(Journal(journal.path), TickingClock())

    assert collector.still_open.current(ALICE) is None
    assert collector.list_resolved() == [resolved]


def test_an_entry_that_cannot_be_understood_raises_nothing_but_expected_errors(journal: Journal) -> None:
    unknown = GHAP.encode(numbered(1)) | {"domain": "cooking"}
    journal.entries.append([JournalRecord("ghap", numbered(1).id, NOON, unknown), JournalRecord.of(GHAP, numbered(2))])

    try:
        listed = ids(reloaded(journal).list_resolved())
    except LearningMemoryError:
        return
    assert listed == [numbered(2).id]
