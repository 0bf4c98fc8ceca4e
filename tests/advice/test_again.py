"""An entry came again although shown if its session had had the lesson, and its agent says that both are the same."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.advice.again import came_again
from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import FailureLog
from learning_memory_server.model.advice import Advice, AdviceKind, Item, Reason, TriggerKind
from learning_memory_server.model.entry import Ghap
from tests.server.dashboard.making import entry
from tests.support import ALICE, NOON

FIRST = entry(0)


@pytest.fixture
def log(tmp_path: Path) -> AdviceLog:
    journal = Journal(tmp_path)
    return AdviceLog(journal.advice, FailureLog(journal.failures))


def again(number: int, **changes: object) -> Ghap:
    return replace(entry(number), agent_session=ALICE.session, same_as=FIRST.id, **changes)  # type: ignore[arg-type]


def shown(log: AdviceLog, at: int, reason: Reason = Reason.SIMILAR, session: str = ALICE.session) -> None:
    """Show the first entry to a session at an hour of the first day."""
    item = Item(FIRST.id, AdviceKind.EXPERIENCE, reason=reason)
    log.record(Advice(TriggerKind.PROMPT, (item,), "acme/shop", NOON + timedelta(hours=at), session=session))


def test_it_came_again_if_its_lesson_had_been_shown_to_that_session(log: AdviceLog) -> None:
    shown(log, 1)
    others = [again(1), again(2)]
    assert came_again([FIRST, *reversed(others)], log) == [(FIRST, [each.id for each in others])]


@pytest.mark.parametrize("why", ["never shown", "shown later", "to another session", "when it was open", "split"])
def test_else_it_only_came_again(log: AdviceLog, why: str) -> None:
    if why != "never shown":
        shown(
            log,
            40 if why == "shown later" else 1,
            Reason.OPEN if why == "when it was open" else Reason.SIMILAR,
            "another" if why == "to another session" else ALICE.session,
        )
    assert came_again([FIRST, again(1, split=why == "split")], log) == []


def test_one_that_is_the_same_as_a_forgotten_entry_says_nothing(log: AdviceLog) -> None:
    shown(log, 1)
    assert came_again([again(1)], log) == []
