from dataclasses import replace

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.support import ALICE, TickingClock, start

FIRST = replace(ALICE, request="front:1")
AGAIN = replace(FIRST, again=True)


def test_a_call_that_is_sent_again_is_done_once_even_after_a_restart(journal: Journal) -> None:
    entry = start(ObservationCollector(journal, TickingClock()), FIRST)

    restarted = ObservationCollector(journal, TickingClock())
    assert start(restarted, AGAIN) == entry
    assert restarted.still_open.current(ALICE) == entry
    assert restarted.still_open.others(ALICE, elsewhere=False) == []


def test_an_update_and_a_resolution_sent_again_change_nothing_more(collector: ObservationCollector) -> None:
    start(collector, ALICE)
    updated = collector.update(FIRST, note="seen")
    assert collector.update(AGAIN, note="seen") == updated

    end = replace(ALICE, request="front:2")
    resolved = collector.resolve(end, status=OutcomeStatus.CONFIRMED, result="It held")
    again = collector.resolve(replace(end, again=True), status=OutcomeStatus.CONFIRMED, result="It held")
    assert again == resolved
    assert collector.list_resolved() == [resolved]


def test_a_client_that_uses_an_id_twice_means_two_calls(collector: ObservationCollector) -> None:
    first = start(collector, FIRST)
    second = start(collector, FIRST)

    assert first.id != second.id
    assert collector.still_open.current(ALICE) == second
