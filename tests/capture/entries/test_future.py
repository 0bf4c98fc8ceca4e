"""An entry that is dated in the future leads no list for longer than it is new here."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.capture.entries.timeline import Timeline
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.lessons.clusters.clusters import Outcomes
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.moment import utc_now
from tests.support import ALICE, CONFIRMED, confirm, numbered, start

# A process remembers when it saw a time of the future first.
pytestmark = pytest.mark.usefixtures("restored_process")

FUTURES = [datetime(2031, 1, 1, tzinfo=UTC), datetime.max.replace(tzinfo=UTC), utc_now() + timedelta(days=1)]


def dated(number: int, at: datetime) -> Ghap:
    return numbered(number, created_at=at, resolution=replace(CONFIRMED, resolved_at=at))


Listed = Callable[[ObservationCollector], Sequence[Ghap]]
LISTS: dict[str, Listed] = {
    "all": lambda collector: collector.list_resolved(),
    "of a project": lambda collector: collector.list_resolved(EntryQuery(project=numbered(1).project)),
    "narrower": lambda collector: collector.list_resolved(EntryQuery(outcome=CONFIRMED.status)),
    "of a context": lambda collector: list(collector.timeline.newest(numbered(1).project)),
    "made again": lambda collector: list(Timeline(collector.timeline).newest()),
}


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("at", FUTURES)
def test_what_is_resolved_now_comes_before_what_is_dated_in_the_future(name: str, at: datetime, tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    collector = ObservationCollector(journal, utc_now)
    collector.add_resolved([dated(1, at), numbered(2)])
    assert [entry.id for entry in LISTS[name](collector)] == [numbered(1).id, numbered(2).id]
    start(collector)
    entry = confirm(collector)
    found = LISTS[name](collector)
    assert [each.id for each in found] == [entry.id, numbered(1).id, numbered(2).id]
    assert found[1].outcome.resolved_at == at
    collector.forget([numbered(1).id], utc_now())
    assert [each.id for each in LISTS[name](collector)] == [entry.id, numbered(2).id]


def test_an_open_entry_that_is_dated_in_the_future_is_not_the_newest_for_ever(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    for number, at in enumerate(FUTURES):
        journal.save_open(replace(numbered(number), created_at=at, resolution=None, orphaned=True))
    first = ObservationCollector(journal, utc_now)
    seen = [entry.id for entry in first.still_open.others(ALICE, elsewhere=False)]
    later = replace(numbered(9), created_at=utc_now(), resolution=None, orphaned=True)
    journal.save_open(later)
    again = ObservationCollector(journal, utc_now)
    assert [entry.id for entry in again.still_open.others(ALICE, elsewhere=False)] == [later.id, *seen]


def test_a_cluster_is_recent_for_a_month_after_an_entry_of_the_future_was_seen() -> None:
    outcomes = Outcomes.of([dated(1, FUTURES[0]), numbered(2)])
    now = utc_now()
    assert outcomes.recent(now) == 1
    assert outcomes.recent(now + timedelta(days=31)) == 0
    assert outcomes.times[-1] == FUTURES[0]


def test_a_failure_that_is_dated_in_the_future_is_not_the_last_of_its_error_for_ever(tmp_path: Path) -> None:
    failures = FailureLog(Journal(tmp_path).failures)
    future = Failure("failure_1_0", "shop", "a session", "error: it failed", "make", FUTURES[0])
    failures.add(future)
    assert failures.errors() == [[future]]
    present = replace(future, id="failure_1_1", created_at=utc_now())
    failures.add(present)
    assert failures.errors() == [[future, present]]
