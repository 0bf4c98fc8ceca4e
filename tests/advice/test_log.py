"""The log of what agents were shown: what it answers, and how it forgets."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from learning_memory_server.advice.log import AdviceLog, at_error, without_advice
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import ADVICE
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.model.advice import Advice, AdviceKind, Item, Reason, TriggerKind
from learning_memory_server.model.failure import Failure, failure_id
from tests.support import ALICE, NOON

ITEM: Final = Item("ghap_1", AdviceKind.EXPERIENCE, reason=Reason.SIMILAR)
LINE: Final = Advice(TriggerKind.PROMPT, (ITEM,), ALICE.project, NOON, session=ALICE.session)
FAILURE: Final = Failure(
    failure_id(ALICE.project, "KeyError: <name>", ALICE.session, "make"),
    ALICE.project,
    ALICE.session,
    "KeyError: <name>",
    "make",
    NOON,
    advice=replace(ITEM, reason=Reason.ERROR),
)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def log_of(journal: Journal) -> AdviceLog:
    """Return what a new process reads."""
    return AdviceLog(journal.advice, FailureLog(journal.failures))


@pytest.fixture
def log(journal: Journal) -> AdviceLog:
    return log_of(journal)


def names(found: list[Item]) -> list[str]:
    return [each.id for each in found]


def test_what_was_shown_at_triggers_and_at_errors_is_found_now_and_by_the_next_process(
    journal: Journal, log: AdviceLog
) -> None:
    assert log.shown_to(ALICE.session, "main") == []
    log.record(LINE)
    log.record_failure(FAILURE, [replace(ITEM, id="ghap_2")], FAILURE.session)
    for each in (log, log_of(journal)):
        assert names(each.shown_to(ALICE.session, "main")) == ["ghap_1", "ghap_2"]
        assert (each.times_shown("ghap_1"), each.times_shown("ghap_2"), each.times_shown("ghap_3")) == (1, 1, 0)


@pytest.mark.parametrize(
    ("about", "asked", "is_found"),
    [
        ({}, {}, True),
        ({}, {"agent": "a1"}, False),
        ({"agent": "a1"}, {}, False),
        ({"agent": "a1"}, {"agent": "a1"}, True),
        ({"context": "c" * 16}, {}, False),
        ({"context": "c" * 16}, {"context": "c" * 16}, True),
        ({}, {"since": NOON}, True),
        ({}, {"since": NOON + timedelta(seconds=1)}, False),
        ({"imported": True}, {}, False),
    ],
)
def test_it_knows_what_an_agent_has_in_its_context(
    log: AdviceLog, about: dict[str, Any], asked: dict[str, Any], is_found: bool
) -> None:
    log.record(replace(LINE, **about))
    assert bool(log.shown_to(**{"context": ALICE.session, "agent": "main", **asked})) is is_found


def test_an_entry_that_was_shown_as_open_does_not_count_as_a_lesson_that_was_shown(log: AdviceLog) -> None:
    log.record(replace(LINE, items=(replace(ITEM, kind=AdviceKind.ENTRY, reason=Reason.OPEN),)))
    assert log.times_shown(ITEM.id) == 0


def test_a_trigger_with_a_key_has_one_id_and_others_each_their_own() -> None:
    later = NOON + timedelta(seconds=1)
    keyed = replace(LINE, key="toolu_1")
    assert keyed.id == replace(keyed, created_at=later, items=()).id
    assert LINE.id != replace(LINE, created_at=later).id
    others = [{"key": "toolu_2"}, {"session": "b" * 16}, {"agent": "a1"}, {"context": "c" * 16}]
    assert len({keyed.id, *(replace(keyed, **each).id for each in others)}) == 5  # type: ignore[arg-type]


def test_a_line_of_an_earlier_version_keeps_its_id() -> None:
    old = Advice(TriggerKind.ENTRY_START, (ITEM,), ALICE.project, NOON, ghap_id="ghap_9", revision=1)
    assert old.id == replace(old, created_at=NOON + timedelta(days=1)).id != replace(old, revision=2).id


def test_it_is_forgotten_with_what_it_shows_and_with_the_entry_that_it_was_shown_for(
    journal: Journal, log: AdviceLog
) -> None:
    log.record(replace(LINE, ghap_id="ghap_9"))
    assert log.about({"ghap_1"}) == log.about({"ghap_9"}) == [each.id for each in log.all()]
    assert log.about({"ghap_2"}) == []
    log.forget(log.about({"ghap_1"}), NOON)
    for each in (log, log_of(journal)):
        assert list(each.everything()) == []
        assert each.shown_to(ALICE.session, "main") == []


def test_a_failure_loses_what_it_shows_and_stays() -> None:
    assert without_advice(FAILURE, {"ghap_1"}) == replace(FAILURE, advice=None)
    assert without_advice(FAILURE, {"ghap_2"}) is None
    assert without_advice(replace(FAILURE, advice=None), {"ghap_1"}) is None


def test_what_was_shown_at_an_error_reads_as_any_other_line(log: AdviceLog) -> None:
    log.record_failure(FAILURE, [replace(ITEM, reason=Reason.ERROR)], FAILURE.context)
    (line,) = log.everything()
    assert line == at_error(FAILURE)
    assert (line.channel, line.items, line.session) == (TriggerKind.ERROR, (FAILURE.advice,), ALICE.session)
    assert log.all() == []
    assert at_error(replace(FAILURE, advice=None)) is None


def test_what_an_earlier_version_withheld_was_never_shown_and_is_forgotten_with_its_entry(
    journal: Journal, log: AdviceLog
) -> None:
    withheld = {"withheld": True, "probability": 0.5}
    line = Advice(TriggerKind.ENTRY_START, (ITEM,), ALICE.project, NOON, ghap_id="ghap_9", revision=1, others=withheld)
    journal.advice.append([JournalRecord.of(ADVICE, line)])
    assert list(log.everything()) == []
    assert log.times_shown(ITEM.id) == 0
    log.forget(log.about({"ghap_9"}), NOON)
    assert journal.advice.read().records == []


def test_lines_are_imported_except_about_what_is_forgotten_here(log: AdviceLog) -> None:
    lines = [replace(LINE, ghap_id=f"ghap_{number}", session="", imported=True) for number in (7, 8, 9)]
    lines[2] = replace(lines[2], items=(replace(ITEM, id="ghap_6"),))
    assert [each.ghap_id for each in log.import_new(lines, {"ghap_7", "ghap_6"})] == ["ghap_8"]
