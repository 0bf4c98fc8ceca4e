"""What an agent still has in its context, so that it is not shown it again."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from learning_memory_server.advice.sessions import Sessions, SessionState
from learning_memory_server.lessons.errors.watch import CommandWatch
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.rules.pause import PAUSE, RulePause
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import POOL, PROMPT, MeasuredModel, ids_of, learn
from tests.server.agent import at_work
from tests.support import ALICE, BOB, NOON, about

NAME = ALICE.session
"""What the client calls Alice's session at first."""
AFTER_CLEAR = "9" * 16
SUBAGENT = replace(ALICE, agent="a1")


@pytest.fixture
async def services(services: Services) -> Services:
    await learn(services, POOL, about("cache", 2))
    return services


async def is_shown(services: Services, caller: Caller = ALICE, context: str = NAME) -> bool:
    """Return whether a prompt about its matter shows the lesson."""
    return POOL.id in ids_of(await services.advisor.at(replace(PROMPT, context=context), caller))


async def starts(services: Services, source: str, context: str = NAME) -> None:
    await services.advisor.at(Trigger(TriggerKind.SESSION_START, context=context, source=source), ALICE)


async def test_a_lesson_is_shown_once_to_an_agent_and_again_to_others(services: Services) -> None:
    assert await is_shown(services)
    assert not await is_shown(services)
    assert await is_shown(services, SUBAGENT)
    assert not await is_shown(services, SUBAGENT)
    assert await is_shown(services, BOB, BOB.session)


@pytest.mark.parametrize(("source", "again"), [("compact", True), ("startup", True), ("resume", False)])
async def test_it_is_shown_again_once_the_context_was_emptied(services: Services, source: str, again: bool) -> None:
    await starts(services, "startup")
    assert await is_shown(services)
    await starts(services, source)
    assert await is_shown(services) is again
    assert not await is_shown(services)


async def test_a_compaction_empties_nothing_of_a_subagent(services: Services) -> None:
    await starts(services, "startup")
    assert await is_shown(services, SUBAGENT)
    await starts(services, "compact")
    assert not await is_shown(services, SUBAGENT)


async def test_after_clear_the_client_has_another_name_and_the_agent_knows_nothing(services: Services) -> None:
    assert await is_shown(services)
    assert await is_shown(services, context=AFTER_CLEAR)
    assert not await is_shown(services, context=AFTER_CLEAR)
    assert not await is_shown(services, context=NAME)


async def test_a_reply_counts_for_the_name_that_the_client_has_now(services: Services) -> None:
    assert await is_shown(services, context=AFTER_CLEAR)
    (line,) = services.advice_log.all()
    assert (line.session, line.context) == (NAME, AFTER_CLEAR)
    # A call of a tool does not say the client's name.
    assert not await is_shown(services, context="")


async def test_what_was_shown_is_known_to_a_session_that_is_resumed(services: Services) -> None:
    assert await is_shown(services)
    await services.advisor.at(Trigger(TriggerKind.SESSION_END, context=NAME), ALICE)
    await starts(services, "resume")
    assert not await is_shown(services)


async def test_what_was_shown_is_known_after_a_restart(settings: Settings) -> None:
    for is_first in (True, False):
        async with at_work(settings, load=MeasuredModel) as services:
            services.room.has_deadline = False
            if is_first:
                await learn(services, POOL, about("cache", 2))
            assert await is_shown(services) is is_first


def test_the_state_of_a_session_is_dropped_at_its_end(tmp_path: Path) -> None:
    sessions = Sessions(RedactionGate(), RulePause(tmp_path / PAUSE))
    state = sessions.hear(ALICE, AFTER_CLEAR)
    state.loaded.add(POOL.id)
    assert sessions.hear(ALICE, "") is state
    assert sessions.hear(ALICE, NAME) is not state
    sessions.end(state)
    assert sessions.hear(ALICE, AFTER_CLEAR).loaded == set()


def test_a_subagent_takes_the_first_task_of_its_kind_and_no_others() -> None:
    state = SessionState(NAME, CommandWatch(RedactionGate()))
    for kind, task in (("Plan", "one"), ("Explore", "two"), ("Explore", "three")):
        state.add_task(kind, task)
    assert [state.take_task("Explore") for _ in range(3)] == ["two", "three", ""]
    assert state.tasks == [("Plan", "one")]
    for number in range(40):
        state.add_task("Plan", str(number))
    assert len(state.tasks) == 16


def test_rules_stay_off_for_their_time_when_the_server_starts_again(tmp_path: Path) -> None:
    path, later = tmp_path / PAUSE, NOON + timedelta(hours=1)
    Sessions(RedactionGate(), RulePause(path)).rules_off(later)
    again = Sessions(RedactionGate(), RulePause(path))
    assert again.hear(ALICE, NAME).rules_off_until == later
    again.rules_off(NOON)
    assert Sessions(RedactionGate(), RulePause(path)).hear(ALICE, NAME).rules_off_until == NOON


def test_rules_stay_off_in_a_running_session_to_its_end_when_the_server_starts_again(tmp_path: Path) -> None:
    path = tmp_path / PAUSE
    first = Sessions(RedactionGate(), RulePause(path))
    first.hear(ALICE, NAME)
    first.rules_off(None)
    first.close()
    again = Sessions(RedactionGate(), RulePause(path))
    assert again.hear(ALICE, NAME).rules_off_until
    assert again.hear(ALICE, AFTER_CLEAR).rules_off_until is None
    again.end(again.hear(ALICE, NAME))
    assert Sessions(RedactionGate(), RulePause(path)).hear(ALICE, NAME).rules_off_until is None


def test_a_damaged_pause_is_none_and_one_that_cannot_be_kept_holds_until_the_server_ends(tmp_path: Path) -> None:
    path = tmp_path / PAUSE
    path.write_text('{"sessions": 3}', "utf-8")
    assert RulePause(path).until(NAME) is None
    path.unlink()
    path.mkdir()
    pause = RulePause(path)
    pause.begin(NOON, [])
    assert pause.until(NAME) == NOON
