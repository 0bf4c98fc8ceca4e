"""A forgotten value is gone; a value whose evidence was forgotten stays."""

from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Forgetting
from learning_memory_server.lessons.values.log import ValueLog
from learning_memory_server.model.value import Value
from learning_memory_server.model.vocabulary import Axis, Stance
from tests.advice.parts import MeasuredModel
from tests.lessons.values import parts as making
from tests.lessons.values.parts import FULL_0, FULL_1, GOOD, POOL, open_values, values_over
from tests.support import ALICE, CAROL, NOON, TOPICS, numbered


def value(name: str, *members: str, project: str = ALICE.project) -> Value:
    return replace(making.value(name, project=project, member_ids=members), request=f"request {name}")


@pytest.fixture
def log(journal: Journal) -> ValueLog:
    log = ValueLog(journal.values)
    for each in (value("a", "ghap_1", "ghap_2"), value("b", "ghap_2"), value("c", project=CAROL.project)):
        log.add(each)
    return log


def test_a_forgotten_value_is_in_no_read_and_stays_forgotten(log: ValueLog, journal: Journal) -> None:
    a, b, _ = log.all()

    assert log.look_up(["b", "a", "z"]) == Forgetting((b, a), (), ("z",))
    assert len(log.all()) == 3
    assert log.forget(["b", "a", "z"], NOON) == Forgetting((b, a), (), ("z",))

    journal.recover(NOON)
    for reader in (log, ValueLog(Journal(journal.path).values)):
        assert [each.id for each in reader.all()] == ["c"]
        assert [each.id for each in reader.current(Axis.FULL)] == ["c"]
        assert [document.text for document in reader.documents()] == ["text c"]
        assert reader.find_by_request("request a") is None
        assert reader.look_up(["a", "b"]) == Forgetting((), ("a", "b"), ())


def test_forgetting_a_value_twice_writes_one_line(log: ValueLog, journal: Journal) -> None:
    log.forget(["a"], NOON)
    before = (journal.path / "values.jsonl").read_bytes()

    assert log.forget(["a"], NOON).before == ("a",)
    assert ValueLog(journal.values).forget(["a"], NOON).before == ("a",)
    assert (journal.path / "values.jsonl").read_bytes() == before


def test_a_purge_removes_a_values_text_and_keeps_it_forgotten(log: ValueLog, journal: Journal) -> None:
    log.forget(["a"], NOON)

    journal.purge()

    assert b"text a" not in (journal.path / "values.jsonl").read_bytes()
    again = ValueLog(journal.values)
    assert [each.id for each in again.all()] == ["b", "c"]
    assert again.look_up(["a"]).before == ("a",)


def test_a_value_outlives_its_evidence(log: ValueLog, journal: Journal, collector: ObservationCollector) -> None:
    entry = numbered(1)
    log.add(value("d", entry.id, "ghap_2"))
    collector.add_resolved([entry])

    collector.forget([entry.id], NOON)
    journal.purge()

    (kept,) = ValueLog(journal.values).citing([entry.id])
    assert kept == value("d", entry.id, "ghap_2")
    assert [each.id for each in log.citing(["ghap_2", "ghap_9"])] == ["a", "b", "d"]
    assert log.citing([]) == []


UNRELATED = "lasagne"


async def test_the_values_that_match_a_question_come_along(tmp_path: Path) -> None:
    async with open_values(tmp_path, load=MeasuredModel) as (values, parts):
        pool = (await values.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing
        cache = (await values.store(ALICE, TOPICS["cache"], FULL_1, Axis.FULL)).standing
        found = values_over(parts)
        assert [each.value for each in await found.matching(GOOD)] == [pool.value]
        assert [each.value for each in await found.matching(TOPICS["cache"])] == [cache.value]
        assert await found.matching(UNRELATED) == []
        assert await found.matching(GOOD, "elsewhere") == []


async def test_a_contested_value_does_not_come_along(tmp_path: Path) -> None:
    async with open_values(tmp_path, load=MeasuredModel) as (values, parts):
        stored = (await values.store(ALICE, GOOD, FULL_0, Axis.FULL)).standing
        assert await values_over(parts).matching(GOOD)
        for entry in POOL[:3]:
            values_over(parts).judge(ALICE, stored.value.id, entry.id, Stance.CONTRADICTS)
        assert await values_over(parts).matching(GOOD) == []


async def test_no_value_comes_along_if_no_threshold_was_measured(tmp_path: Path) -> None:
    async with open_values(tmp_path) as (values, parts):
        await values.store(ALICE, GOOD, FULL_0, Axis.FULL)
        assert await values_over(parts).matching(GOOD) == []
