"""Advice as an agent gets it, and what it says of it."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.lessons.finder import AdviceFinder
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.advice.parts import MeasuredModel
from tests.server.agent import CALLER, CONFIRMED, ENTRY, FALSIFIED, Agent, agent_of, at_work, indexing
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
        services.advisor = patient(services)
        yield services


@pytest.fixture
async def agent(indexed: Services) -> AsyncIterator[Agent]:
    async with in_one_task(agent_of(indexed)) as connected:
        yield connected


def patient(services: Services) -> Advisor:
    finder = AdviceFinder(
        services.collector, services.index, services.value_log, services.verdicts, is_everywhere=False
    )
    return Advisor(finder, services.advice_log, services.clock, within=None)


async def test_a_new_entry_is_told_what_was_wrong_the_last_time(agent: Agent) -> None:
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


async def test_nothing_is_said_of_a_goal_that_is_new(agent: Agent) -> None:
    await agent.resolve_new(**FALSIFIED)
    started = await agent.call("start_ghap", **OTHER)
    assert "related" not in started
    assert "stored_text" not in started


async def test_a_new_hypothesis_is_told_what_bears_on_it(agent: Agent) -> None:
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
    assert indexed.advice_log.effects() == {before: (0, 1)}


async def test_two_long_lessons_have_300_characters_each_and_say_where_the_rest_is(
    indexed: Services, agent: Agent
) -> None:
    for number in range(2):
        text = f"table{number} held old{number} prices{number} of row{number}. " * 20
        wordy = {**FALSIFIED, "root_cause": {"category": "oversight", "description": text}}
        await agent.resolve_new(entry={**ENTRY, "goal": f"{ENTRY['goal']} {'again ' * 100}"}, **wordy)
    async with agent_of(indexed, replace(CALLER, session="b" * 16)) as another:
        started = await another.call("start_ghap", **{**ENTRY, "goal": f"{ENTRY['goal']} {'again ' * 100}"})
    assert len(started["related"]) == 2
    for item in started["related"]:
        assert item["learned"].endswith(f". (more: {item['id']})")
        assert 200 < len(item["learned"].partition(" (more")[0]) <= 300


async def test_without_a_measured_model_there_is_no_advice(services: Services) -> None:
    async with indexing(services), agent_of(services) as agent:
        await agent.resolve_new(**FALSIFIED)
        assert "related" not in await agent.call("start_ghap", **ENTRY)
    assert services.advice_log.all() == []


async def test_an_entry_is_forgotten_with_the_advice_about_it(indexed: Services, agent: Agent) -> None:
    before = await agent.resolve_new(**FALSIFIED)
    await agent.call("start_ghap", **ENTRY)
    assert indexed.advice_log.about({before})
    assert CALLER.project == indexed.advice_log.all()[0].project
