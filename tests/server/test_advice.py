"""Advice as an agent gets it, and what it says of it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from learning_memory_server.advice import text
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import MeasuredModel
from tests.advice.test_advisor import FullDisk
from tests.server.agent import CALLER, CONFIRMED, ENTRY, FALSIFIED, Agent, agent_of, at_work, indexing
from tests.services import run
from tests.support import in_one_task

OTHER = {
    **ENTRY,
    "goal": "speed up the nightly report of the warehouse",
    "hypothesis": "a missing index makes each join read whole tables",
    "prediction": "the plan shows an index scan once there is one",
}


@pytest.fixture
async def indexed(settings: Settings) -> AsyncIterator[Services]:
    """Services with a measured model, and with as much time for advice as a busy machine needs."""
    async with at_work(settings, load=MeasuredModel) as services:
        services.room.has_deadline = False
        yield services


@pytest.fixture
async def agent(indexed: Services) -> AsyncIterator[Agent]:
    async with in_one_task(agent_of(indexed)) as connected:
        yield connected


async def test_the_reply_to_a_new_entry_shows_what_was_wrong_the_last_time(agent: Agent) -> None:
    before = await agent.resolve_new(**FALSIFIED)
    await agent.resolve_new(entry=OTHER, **CONFIRMED)
    started = await agent.call("start_ghap", **ENTRY)
    assert started["related"] == [
        {
            "id": before,
            "kind": "experience",
            "outcome": "falsified",
            "learned": FALSIFIED["root_cause"]["description"],
            "goal": ENTRY["goal"],
        }
    ]
    assert started["stored_text"]


async def test_what_was_written_afterwards_is_advice_too(agent: Agent) -> None:
    belief = {name: ENTRY[name] for name in ("goal", "hypothesis")}
    before = (await agent.call("resolve_ghap", **belief, **FALSIFIED))["id"]
    started = await agent.call("start_ghap", **ENTRY)
    assert [each["id"] for each in started["related"]] == [before]


async def test_nothing_is_shown_for_a_goal_that_is_new(agent: Agent) -> None:
    await agent.resolve_new(**FALSIFIED)
    started = await agent.call("start_ghap", **OTHER)
    assert "related" not in started
    assert "stored_text" not in started


async def test_the_reply_to_a_new_hypothesis_shows_what_bears_on_it(agent: Agent) -> None:
    before = await agent.resolve_new(**FALSIFIED)
    await agent.call("start_ghap", **OTHER)
    same = await agent.call("update_ghap", action="look at the plan")
    assert "related" not in same
    changed = await agent.call("update_ghap", hypothesis=f"{ENTRY['goal']} {ENTRY['hypothesis']}")
    assert [item["id"] for item in changed["related"]] == [before]


async def test_an_agent_says_what_helped_and_what_misled(indexed: Services, agent: Agent) -> None:
    before = await agent.resolve_new(**FALSIFIED)
    await agent.call("start_ghap", **ENTRY)
    assert "not_recorded" not in await agent.call("resolve_ghap", **CONFIRMED, helped=[before])
    assert indexed.effects.counts() == {before: (0, 1)}


async def test_two_long_lessons_have_300_characters_each_and_say_where_the_rest_is(indexed: Services) -> None:
    for number in range(2):
        text = f"table{number} held old{number} prices{number} of row{number}. " * 20
        wordy = {**FALSIFIED, "root_cause": {"category": "oversight", "description": text}}
        async with agent_of(indexed, replace(CALLER, session=f"{number:016x}")) as author:
            await author.resolve_new(entry={**ENTRY, "goal": f"{ENTRY['goal']} {'again ' * 100}"}, **wordy)
    async with agent_of(indexed, replace(CALLER, session="b" * 16)) as another:
        started = await another.call("start_ghap", **{**ENTRY, "goal": f"{ENTRY['goal']} {'again ' * 100}"})
    assert len(started["related"]) == 2
    for item in started["related"]:
        assert item["learned"].endswith(f". (more: {item['id']})")
        assert 200 < len(item["learned"].partition(" (more")[0]) <= 300


async def test_without_a_measured_model_there_is_no_advice_and_the_reply_says_so(services: Services) -> None:
    async with indexing(services), agent_of(services) as agent:
        await agent.resolve_new(**FALSIFIED)
        started = await agent.call("start_ghap", **ENTRY)
    assert started["notice"] == text.NOT_READY
    assert "related" not in started
    assert services.advice_log.all() == []


async def test_an_entry_is_saved_although_what_is_shown_cannot_be_recorded(indexed: Services, agent: Agent) -> None:
    await agent.resolve_new(**FALSIFIED)
    indexed.advice_log.log._disk = FullDisk()  # type: ignore[assignment]
    started = await agent.call("start_ghap", **ENTRY)
    assert not {"related", "notice"} & started.keys()
    assert indexed.collector.still_open.by_id.keys() == {started["id"]}
    changed = await agent.call("update_ghap", hypothesis=f"{ENTRY['hypothesis']} again")
    assert changed["iteration_count"] == 2


async def test_an_entry_is_forgotten_with_the_advice_about_it_also_at_errors(indexed: Services, agent: Agent) -> None:
    before = await agent.resolve_new(**FALSIFIED)
    await agent.call("start_ghap", **ENTRY)
    error = f"Exit code 1\nerror: {ENTRY['goal']}: {ENTRY['hypothesis']}"
    failing = Trigger(TriggerKind.COMMAND, command="shipit deploy", error=error)
    shown = await indexed.advisor.at(failing, replace(CALLER, session="b" * 16))
    assert [each.id for each in shown.candidates] == [before]
    assert {each.channel for each in indexed.advice_log.everything()} == {TriggerKind.ENTRY_START, TriggerKind.ERROR}
    await run(indexed, "forget", ids=[before], project=None, purge=False, preview=False)
    assert list(indexed.advice_log.everything()) == []
    (failure,) = indexed.failure_log.all()
    assert failure.advice is None
