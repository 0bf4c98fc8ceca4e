"""The one way by which an agent is shown something: what is shown at each trigger, and what the log has then."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from learning_memory_server.advice import budget, text
from learning_memory_server.advice.budget import Budget
from learning_memory_server.advice.candidates import Shown
from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.advice.scorer import bar_at_start
from learning_memory_server.lessons.values.log import document_of
from learning_memory_server.model.advice import AdviceKind, Reason, TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Met
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import POOL, PROMPT, MeasuredModel, at_start, fails, ids_of, journal_of, learn, started
from tests.lessons.values.parts import value
from tests.services import opened
from tests.support import ALICE, BOB, CAROL, NOON, TOPICS, about, confirm

PRESS = "bin/press feed --in data/may.csv"
MISMATCH = "press: error: feed schema mismatch at column 3"
TIED = replace(
    about("types", 5), errors=(Met("press: error: feed schema mismatch at column <n>", "press", is_tied=True),)
)


@pytest.fixture
async def services(services: Services) -> Services:
    await learn(services, POOL, about("cache", 2))
    return services


async def test_what_a_reply_shows_is_one_line_with_its_entry_its_iteration_and_its_score(services: Services) -> None:
    entry = started(services)
    shown = await at_start(services, entry)
    assert ids_of(shown) == [POOL.id]
    (line,) = services.advice_log.all()
    assert (line.ghap_id, line.revision, line.channel) == (entry.id, 1, TriggerKind.ENTRY_START)
    assert (line.session, line.project) == (ALICE.session, ALICE.project)
    (item,) = line.items
    assert (item.id, item.kind, item.reason) == (POOL.id, AdviceKind.EXPERIENCE, Reason.SIMILAR)
    assert item.score is not None
    assert item.score > bar_at_start(2)


async def test_a_call_that_is_made_again_is_answered_from_the_log(services: Services) -> None:
    entry = started(services)
    shown = await at_start(services, entry)
    await learn(services, about("pool", 3))
    assert ids_of(await at_start(services, entry)) == ids_of(shown) == [POOL.id]
    services.collector.forget([POOL.id], NOON)
    assert await at_start(services, entry) == Shown()
    assert len(services.advice_log.all()) == 1


async def test_a_new_hypothesis_is_shown_what_the_old_one_was_not(services: Services) -> None:
    await at_start(services, started(services))
    changed = services.collector.update(ALICE, hypothesis=f"{TOPICS['pool']} after all")
    update = Trigger(TriggerKind.ENTRY_UPDATE, entry=changed)
    assert await services.advisor.at(update, ALICE) == Shown()
    await learn(services, about("pool", 3))
    assert ids_of(await services.advisor.at(update, ALICE)) == [about("pool", 3).id]
    assert [each.revision for each in services.advice_log.all()] == [1, 2]


async def test_a_value_takes_the_room_that_lessons_leave(services: Services) -> None:
    services.value_log.add(good := value(TOPICS["pool"], project=ALICE.project))
    await services.writer.write([document_of(good)])
    assert ids_of(await at_start(services, started(services))) == [POOL.id, good.id]
    await learn(services, replace(about("pool", 3), agent_session=CAROL.session))
    shown = await at_start(services, started(services, caller=BOB), BOB)
    assert [each.kind for each in shown.candidates] == [AdviceKind.EXPERIENCE] * 2


async def test_a_prompt_is_answered_with_one_lesson_and_another_project_with_none(services: Services) -> None:
    await learn(services, about("pool", 3))
    shown = await services.advisor.at(PROMPT, ALICE)
    assert ids_of(shown) == [POOL.id]
    assert shown.text.startswith(f"{text.OPENING} This may help with the task: ")
    assert await services.advisor.at(PROMPT, CAROL) == Shown()


@pytest.mark.parametrize("prompt", ["", "go on", "fix the pool", "draw the owl in the meadow at midnight"])
async def test_where_nothing_is_shown_nothing_is_written(services: Services, prompt: str) -> None:
    before = journal_of(services)
    assert await services.advisor.at(replace(PROMPT, text=prompt), ALICE) == Shown()
    assert await at_start(services, started(services, "types")) == Shown()
    assert {name: content for name, content in journal_of(services).items() if name in before} == before
    assert services.advice_log.all() == []


def lines_of(services: Services) -> int:
    return sum(content.count(b"\n") for name, content in journal_of(services).items() if name.endswith(".jsonl"))


async def test_a_failing_command_is_one_append_that_says_what_was_shown_at_it(services: Services) -> None:
    await learn(services, TIED)
    before = lines_of(services)
    shown = await services.advisor.at(fails(PRESS, MISMATCH), BOB)
    assert ids_of(shown) == [TIED.id]
    assert lines_of(services) == before + 1
    (failure,) = services.failure_log.all()
    assert failure.advice is not None
    assert (failure.advice.id, failure.advice.reason) == (TIED.id, Reason.ERROR)
    assert services.advice_log.all() == []


@pytest.mark.parametrize(
    ("trigger", "lines"),
    [
        (PROMPT, 1),
        (Trigger(TriggerKind.SUBAGENT_START, text=PROMPT.text), 0),  # Its task is not known
        (Trigger(TriggerKind.SESSION_START), 1),
        (Trigger(TriggerKind.SESSION_END), 0),
        (Trigger(TriggerKind.STOP), 1),
        (Trigger(TriggerKind.SUBAGENT_STOP), 1),
        (Trigger(TriggerKind.LOADED), 0),
        (Trigger(TriggerKind.SUBAGENT_TASK, text=PROMPT.text), 0),
        (Trigger(TriggerKind.COMMAND, command="ls", output="a"), 0),
        (fails("make", f"error: {TOPICS['pool']}"), 1),
        (Trigger(TriggerKind.FILE, file="a.py"), 0),
    ],
)
async def test_no_trigger_is_more_than_one_append(services: Services, trigger: Trigger, lines: int) -> None:
    if trigger.kind is not TriggerKind.PROMPT:
        started(services, "types")  # Starts and ends show that it is open
    before = lines_of(services)
    await services.advisor.at(trigger, ALICE)
    assert lines_of(services) == before + lines


async def test_the_log_is_not_rewritten_when_an_entry_is_resolved(services: Services) -> None:
    entry = started(services)
    await at_start(services, entry)
    (before,) = (content for name, content in journal_of(services).items() if name.endswith("advice.jsonl"))
    confirm(services.collector, ghap_id=entry.id)
    (after,) = (content for name, content in journal_of(services).items() if name.endswith("advice.jsonl"))
    assert after == before


async def test_what_was_shown_at_a_prompt_is_not_shown_again_at_the_start_of_an_entry(services: Services) -> None:
    assert ids_of(await services.advisor.at(PROMPT, ALICE)) == [POOL.id]
    assert ids_of(await at_start(services, started(services))) == []


class FullDisk:
    """A disk on which nothing more can be written."""

    def append(self, path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device", str(path), content[:0])


def fill(services: Services) -> None:
    for log in (services.advice_log.log, services.failure_log.log):
        log._disk = FullDisk()  # type: ignore[assignment]


async def test_what_cannot_be_recorded_is_not_shown_and_fails_nothing(services: Services) -> None:
    entry = started(services)
    await learn(services, TIED)
    fill(services)
    with capture_logs() as logs:
        assert await at_start(services, entry) == Shown()
        assert await services.advisor.at(PROMPT, BOB) == Shown()
        assert await services.advisor.at(fails(PRESS, MISMATCH), BOB) == Shown()
    assert [each["event"] for each in logs if each["log_level"] == "warning"] == ["advice.failed"] * 3
    assert services.advice_log.shown_to(ALICE.session, "main") == []


async def begin(services: Services, caller: Caller) -> None:
    """Let a session have its first prompt, at which it is shown nothing but what is open."""
    await services.advisor.at(Trigger(TriggerKind.PROMPT, text="go on"), caller)


async def test_what_is_late_is_not_shown(services: Services, monkeypatch: pytest.MonkeyPatch) -> None:
    await begin(services, BOB)
    services.room.has_deadline = True
    for kind in budget.BUDGETS:
        monkeypatch.setitem(budget.BUDGETS, kind, Budget(seconds=0.0))
    with capture_logs() as logs:
        assert await at_start(services, started(services)) == Shown()
        assert await services.advisor.at(PROMPT, BOB) == Shown()
    assert [each["reason"] for each in logs if each["event"] == "advice.skipped"] == ["TimeoutError"] * 2


async def test_an_index_that_fails_or_is_closed_shows_nothing_and_fails_nothing(services: Services) -> None:
    await begin(services, BOB)
    await services.index.close()
    with capture_logs() as logs:
        assert (await at_start(services, started(services))).candidates == ()
        assert await services.advisor.at(replace(PROMPT, text=f"{PROMPT.text} now"), BOB) == Shown()
    assert {each["event"] for each in logs} == {"advice.skipped"}


async def test_a_reply_says_that_nothing_was_searched_while_the_index_is_not_ready(settings: Settings) -> None:
    async with opened(settings, load=MeasuredModel) as services:
        assert await at_start(services, started(services, "types")) == Shown()  # There is nothing to search
        services.collector.add_resolved([POOL])
        entry = started(services, caller=BOB)
        assert await at_start(services, entry, BOB) == Shown(notice=text.NOT_READY)
        await begin(services, ALICE)
        assert await services.advisor.at(PROMPT, ALICE) == Shown()


async def test_a_defect_is_logged_and_fails_nothing(services: Services) -> None:
    broken = Trigger(TriggerKind.ENTRY_START, entry="no entry")  # type: ignore[arg-type]
    with capture_logs() as logs:
        assert await services.advisor.at(broken, ALICE) == Shown()
    assert [(each["event"], each["log_level"]) for each in logs] == [("advice.failed", "error")]


async def test_a_folder_that_may_be_of_another_project_is_shown_nothing_but_why(services: Services) -> None:
    stranger = replace(ALICE, is_told=False)
    await services.advisor.at(fails("make", "error: no"), stranger)
    started(services)
    begins = await services.advisor.at(Trigger(TriggerKind.SESSION_START), stranger)
    assert begins.text == text.UNCONFIRMED
    assert await services.advisor.at(PROMPT, stranger) == Shown()
    assert await services.advisor.at(Trigger(TriggerKind.STOP), stranger) == Shown()
    assert services.advice_log.all() == []


async def test_a_failing_command_that_is_said_twice_counts_once(services: Services) -> None:
    await learn(services, TIED)
    failing = replace(fails(PRESS, MISMATCH), key="toolu_1")
    first, second = await asyncio.gather(*(services.advisor.at(failing, BOB) for _ in range(2)))
    assert ids_of(first) == ids_of(second) == [TIED.id]
    (failure,) = services.failure_log.all()
    assert not failure.again
    await services.advisor.at(replace(failing, key="toolu_2"), BOB)
    (failure,) = services.failure_log.all()
    assert failure.again


async def test_what_a_subagent_is_shown_at_an_error_is_its_own_also_after_a_restart(services: Services) -> None:
    await learn(services, TIED)
    subagent = replace(BOB, agent="sub1")
    for caller in (BOB, subagent):
        assert ids_of(await services.advisor.at(fails(PRESS, MISMATCH), caller)) == [TIED.id]
    assert [each.again for each in services.failure_log.all()] == [False, False]
    log = AdviceLog(services.journal.advice, services.failure_log)
    for agent in ("main", "sub1"):
        assert [each.id for each in log.shown_to(BOB.session, agent)] == [TIED.id]


async def test_the_time_of_advice_stays_when_the_error_comes_again(services: Services) -> None:
    await learn(services, TIED)
    await services.advisor.at(fails(PRESS, MISMATCH), BOB)
    (shown,) = services.failure_log.all()
    assert await services.advisor.at(fails(PRESS, MISMATCH), BOB) == Shown()
    (later,) = services.failure_log.all()
    assert (later.again, later.created_at) == (True, shown.created_at)
