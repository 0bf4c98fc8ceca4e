"""Resolved entries in time order, by project, and how those of a kind ended."""

import tempfile
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from structlog.contextvars import merge_contextvars
from structlog.testing import capture_logs

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.capture.entries.timeline import Timeline
from learning_memory_server.errors import DiskFullError, NoActiveGhapError, NotFoundError
from learning_memory_server.index.document import Collection, documents_of, point_id
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.caller import MAIN_AGENT, Caller
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, Strategy
from tests.support import (
    ALICE,
    BOB,
    CAROL,
    CONFIRMED,
    NOON,
    TEXTS,
    Parts,
    TickingClock,
    about,
    confirm,
    full_ghap,
    ghap,
    ids,
    numbered,
    reloaded,
    start,
)


def test_a_later_line_supersedes_an_earlier_one(journal: Journal) -> None:
    for result in ("first", "second"):
        entry = numbered(1, resolution=replace(CONFIRMED, result=result))
        journal.entries.append([JournalRecord("ghap", entry.id, NOON, GHAP.encode(entry))])

    assert [entry.outcome.result for entry in reloaded(journal).list_resolved()] == ["second"]


def test_resolved_entries_are_listed_newest_resolution_first(collector: ObservationCollector) -> None:
    first, second, third = (start(collector) for _ in range(3))
    for entry in (second, third, first):
        confirm(collector, ALICE, entry.id)

    assert ids(collector.list_resolved()) == [first.id, third.id, second.id]


def test_imported_entries_are_sorted_by_the_time_of_their_resolution(collector: ObservationCollector) -> None:
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
                5, resolution=replace(CONFIRMED, status=OutcomeStatus.ABANDONED, resolved_at=NOON + timedelta(hours=9))
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
def test_every_filter_restricts(mixed: ObservationCollector, query: EntryQuery, expected: list[int]) -> None:
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
    assert collector.still_open.current(ALICE) == entry


def test_starts_within_one_second_have_different_ids(journal: Journal) -> None:
    collector = ObservationCollector(journal, TickingClock(step=timedelta(0)))

    assert len({start(collector).id for _ in range(20)}) == 20


AGENTS = replace(ALICE, agent=MAIN_AGENT), replace(BOB, agent=MAIN_AGENT)
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["start", "update", "resolve"]), st.sampled_from(AGENTS), st.none() | st.integers(0, 5), TEXTS
    ),
    max_size=12,
)


@given(STEPS)
@pytest.mark.slow
def test_a_new_process_finds_what_any_calls_left(steps: list[tuple[str, Caller, int | None, str]]) -> None:
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
        for caller in AGENTS:
            entry = collector.still_open.current(caller)
            assert (entry.id if entry else None) == current[caller]
            assert again.still_open.current(caller) == entry
            assert again.still_open.others(caller, elsewhere=False) == collector.still_open.others(
                caller, elsewhere=False
            )
            seen = {*ids(again.still_open.others(caller, elsewhere=False)), *([entry.id] if entry else [])}
            assert seen == set(known) - resolved


async def test_an_entry_is_on_each_of_its_axes(parts: Parts) -> None:
    await parts.index.open()
    await parts.learn(full_ghap(), numbered(1))

    counts = await parts.index.counts()
    assert [counts[Collection.of(axis)] for axis in Axis] == [2, 2, 1, 1]
    for axis in Axis:
        (record,) = await parts.store.retrieve(Collection.of(axis), [point_id("ghap", full_ghap().id)])
        assert record.payload["ghap_id"] == full_ghap().id


async def test_an_entry_persisted_twice_is_there_once(parts: Parts) -> None:
    await parts.index.open()
    assert await parts.persister.persist(numbered(1))
    assert await parts.persister.persist(numbered(1))

    assert (await parts.index.counts())[Collection.EXPERIENCES_FULL] == 1


async def test_an_entry_that_cannot_be_indexed_is_pending_and_not_an_error(parts: Parts) -> None:
    await parts.index.open()
    parts.store.down = DiskFullError("full")

    with capture_logs(processors=[merge_contextvars]) as logs:
        assert not await parts.persister.persist(numbered(1))
    assert parts.writer.pending == 2
    assert [(line["event"], line["ghap_id"]) for line in logs] == [("documents.postponed", numbered(1).id)]


async def test_the_source_is_every_resolved_entry_on_every_axis(parts: Parts) -> None:
    entries = [about("pool", 1), full_ghap()]
    parts.collector.add_resolved(entries)

    documents = list(parts.collector.documents())

    assert sorted(documents, key=repr) == sorted(
        (document for entry in entries for document in documents_of(entry)), key=repr
    )


HELD, FAILED = OutcomeStatus.CONFIRMED, OutcomeStatus.FALSIFIED

FIRST, SECOND, THIRD = (
    numbered(n, resolution=replace(CONFIRMED, resolved_at=NOON + timedelta(hours=n))) for n in (1, 2, 3)
)


def test_the_newest_are_those_resolved_last_however_they_came() -> None:
    timeline = Timeline([SECOND])
    timeline.add(THIRD)
    timeline.add(FIRST)
    assert ids(list(timeline)) == ids([FIRST, SECOND, THIRD])
    assert ids(list(timeline.newest())) == ids([THIRD, SECOND, FIRST])


def test_each_project_has_its_own_order() -> None:
    other = replace(THIRD, project="elsewhere")
    timeline = Timeline([FIRST, other])
    timeline.add(SECOND)
    assert ids(list(timeline.newest(FIRST.project))) == ids([SECOND, FIRST])
    assert ids(list(timeline.newest("elsewhere"))) == ids([other])
    assert list(timeline.newest("nowhere")) == []
    assert [timeline.count(), timeline.count(FIRST.project), timeline.count("nowhere")] == [3, 2, 0]


def test_outcomes_are_those_of_the_project_the_domain_and_the_strategy() -> None:
    timeline = Timeline([FIRST, replace(SECOND, resolution=replace(CONFIRMED, status=FAILED))])
    timeline.add(THIRD)
    assert timeline.outcomes(ghap()) == Counter({HELD: 2, FAILED: 1})
    assert not timeline.outcomes(ghap(project="elsewhere"))
    assert not timeline.outcomes(ghap(domain=Domain.SECURITY))
    assert not timeline.outcomes(ghap(strategy=Strategy.ASK_USER))


def test_what_is_taken_out_counts_no_longer() -> None:
    timeline = Timeline([FIRST, SECOND, THIRD])
    timeline.remove(SECOND)
    assert ids(list(timeline.newest(ghap().project))) == ids([THIRD, FIRST])
    assert timeline.outcomes(ghap()) == Counter({HELD: 2})
