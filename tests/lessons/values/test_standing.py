from dataclasses import replace
from datetime import UTC, datetime

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.values.log import Standing, ValueLog, VerdictLog, ordered, weigh_all
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.value import Support, ValueOrder
from learning_memory_server.model.vocabulary import Stance
from tests.lessons.values.parts import value
from tests.support import ALICE, NOON, numbered

ENTRIES = [numbered(number) for number in range(6)]
YES, NO, NEITHER = Stance.SUPPORTS, Stance.CONTRADICTS, Stance.NEITHER


def test_only_verdicts_on_entries_here_count(journal: Journal, collector: ObservationCollector) -> None:
    values, verdicts = ValueLog(journal.values), VerdictLog(journal.verdicts)
    judged, other = value("judged", member_ids=tuple(entry.id for entry in ENTRIES)), value("other")
    values.add(judged, other)
    collector.add_resolved(ENTRIES)
    stances = dict(zip((entry.id for entry in ENTRIES), (YES, NO, NEITHER, YES, YES), strict=False))
    verdicts.record(ALICE, judged, NOON, {**stances, "ghap_elsewhere": NO})
    collector.forget([ENTRIES[4].id], NOON)

    found, unattested = weigh_all([judged, other], values, verdicts, collector)

    assert found == Standing(judged, (ENTRIES[0].id, ENTRIES[3].id), (ENTRIES[1].id,))
    assert found.support == Support(2, 1)
    assert found.is_in_force
    assert unattested == Standing(other)
    assert unattested.is_in_force


def test_a_contested_or_superseded_value_is_not_in_force() -> None:
    assert not Standing(value("v"), ("a",), ("b",)).is_in_force
    assert not Standing(value("v"), ("a",), superseded_by="w").is_in_force
    assert Standing(value("v"), ("a", "b"), ("c",)).is_in_force


def test_values_are_ordered_by_support_cluster_size_or_age() -> None:
    large = Standing(value("large", size=9, minutes=1), tuple("a"), tuple("b"))
    strong = Standing(value("strong", size=3, minutes=2), tuple("abcdef"))
    weak = Standing(value("weak", size=3, minutes=3), tuple("abc"))
    equal = Standing(value("equal", size=3, minutes=4), tuple("def"))
    silent = Standing(value("silent", size=4, minutes=0))

    def names(by: ValueOrder) -> list[str]:
        return [each.value.id for each in ordered([strong, silent, large, equal, weak], by)]

    assert names(ValueOrder.CLUSTER_SIZE) == ["large", "silent", "equal", "weak", "strong"]
    assert names(ValueOrder.SUPPORT) == ["strong", "equal", "weak", "silent", "large"]
    assert names(ValueOrder.NEWEST) == ["equal", "weak", "strong", "large", "silent"]


@pytest.mark.usefixtures("restored_process")
def test_a_value_that_is_dated_in_the_future_is_not_the_newest_for_ever() -> None:
    future = Standing(replace(value("future"), created_at=datetime(2031, 5, 1, tzinfo=UTC)))
    assert ordered([future], ValueOrder.NEWEST) == [future]
    present = Standing(replace(value("present"), created_at=utc_now()))
    assert ordered([future, present], ValueOrder.NEWEST) == [present, future]
