"""Agents at once on one connection, as Claude Code tells them apart: every outcome goes where it belongs."""

import json
import random
from collections.abc import Iterator
from typing import Any, Final

import pytest

from learning_memory_server.model.caller import Caller
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from tests.server.agent import CALLER, ENTRY, agent_of

AGENTS: Final = ("", "a1", "b2", "c3")
"""The main agent and three subagents, as hooks call them."""
INTERLEAVINGS: Final = 200


class Session:
    """A client's session.

    Args:
        services: The services.
        drawn: Decides whether a hook gets lost.
        lost: The probability that one does; 1 for a client without hooks.
    """

    def __init__(self, services: Services, number: int, drawn: random.Random, lost: float) -> None:
        caller = Caller("shop", f"{number:016x}")
        self._calls = Calls(services.injectable(), caller, has_hooks=True)
        self._drawn = drawn
        self._lost = lost
        self._made = 0
        self.refused = 0

    async def call(self, agent: str, tool: str, **arguments: Any) -> dict[str, Any]:
        self._made += 1
        use = f"toolu_{self._made}"
        if self._drawn.random() >= self._lost:
            await self._calls.call(None, "hook", {"event": {"event": "PreToolUse", "agent": agent, "call": use}})
        result = await self._calls.call(None, tool, arguments, tool_use=use)
        reply: dict[str, Any] = json.loads(result.text)
        self.refused += "error" in reply
        return reply

    async def ran(self, agent: str, command: str) -> None:
        if self._lost < 1:
            ended = {"event": "PostToolUse", "agent": agent, "command": command}
            await self._calls.call(None, "hook", {"event": ended})


async def works(session: Session, agent: str, kept: dict[str, str]) -> Any:
    """Open and close two entries, one step at a time, as an agent that reads what a refusal says."""
    for round_number in range(2):
        goal = f"{agent or 'main'} {round_number}"
        await session.call(agent, "start_ghap", **{**ENTRY, "goal": goal})
        yield
        await session.ran(agent, f"make -C {agent or 'main'}{round_number}")
        yield
        for tool, said in (("update_ghap", {"note": goal}), ("resolve_ghap", {"status": "abandoned", "result": goal})):
            reply = await session.call(agent, tool, **said)
            if "error" in reply:
                yield
                seen = json.dumps(await session.call(agent, "get_active_ghap"))
                # It is named, with its goal, in one of the lists.
                assert json.dumps(goal) in seen
                reply = await session.call(agent, tool, **said, ghap_id=kept[goal])
            assert reply["id"] == kept[goal]
            yield


@pytest.mark.slow
@pytest.mark.parametrize("lost", [0.0, 0.2, 1.0])
async def test_every_outcome_is_in_its_own_entry_or_refused(services: Services, lost: float) -> None:
    refused = 0
    for number in range(INTERLEAVINGS):
        drawn = random.Random(number)
        session = Session(services, number, drawn, lost)
        kept = Kept(services, f"{number:016x}")
        working = [works(session, agent, kept) for agent in AGENTS]
        while working:
            agent = drawn.choice(working)
            try:
                await anext(agent)
            except StopAsyncIteration:
                working.remove(agent)
        refused += session.refused
        ended = [each for each in services.collector.list_resolved() if each.agent_session == kept.session]
        assert len(ended) == 2 * len(AGENTS)
        for entry in ended:
            assert entry.outcome.result == entry.goal
            assert set(entry.notes) == {entry.goal}
            own = f"make -C {entry.goal.replace(' ', '')}"
            assert {run.command for run in entry.runs} <= {own}
    assert bool(refused) == bool(lost)


class Kept(dict[str, str]):
    """The ids of a session's entries by their goals."""

    def __init__(self, services: Services, session: str) -> None:
        super().__init__()
        self._collector = services.collector
        self.session = session

    def __missing__(self, goal: str) -> str:
        everything = (*self._collector.timeline, *self._open())
        found = {each.goal: each.id for each in everything if each.agent_session == self.session}
        self.update(found)
        return str(found[goal])

    def _open(self) -> Iterator[Any]:
        caller = Caller("shop", self.session, "nobody")
        yield from self._collector.still_open.others(caller, elsewhere=True)
        yield from self._collector.still_open.others(caller, elsewhere=False)


async def test_a_hook_before_a_call_says_nothing_and_keeps_nothing(services: Services) -> None:
    calls = Calls(services.injectable(), CALLER, has_hooks=True)

    said = await calls.call(None, "hook", {"event": {"event": "PreToolUse", "agent": "a1", "call": "toolu_1"}})

    assert (said.text, said.is_error) == ("{}", False)
    assert not services.journal.path.joinpath("open").exists()
    # More of them than anybody makes at once.
    for number in range(1_010):
        await calls.call(None, "hook", {"event": {"event": "PreToolUse", "agent": "a1", "call": f"toolu_{number}"}})
    await calls.call("1", "start_ghap", ENTRY, tool_use="toolu_1")
    await calls.call("2", "start_ghap", ENTRY, tool_use="toolu_1009")
    agents = {entry.agent for entry in services.journal.open_entries()}
    assert len(agents) == 2
    assert "" in agents
    assert "a1" not in agents


async def test_the_entry_of_a_live_session_is_closed_by_its_id_and_the_reply_says_whose_it_was(
    services: Services,
) -> None:
    other = Caller(CALLER.project, "b2")
    async with agent_of(services) as agent, agent_of(services, other) as neighbour:
        theirs = (await neighbour.call("start_ghap", **ENTRY))["id"]
        with services.live.connected(other.session, 1):
            active = await agent.call("get_active_ghap")
            assert active["open_elsewhere"][0]["id"] == theirs
            assert active["open_elsewhere"][0]["owner"] == "another live session"
            assert not {"orphaned", "hint"} & active.keys()
            shown = await services.room.context(CALLER, "", has_rules=True)
            assert f"Others are at work on:\n- {theirs}" in shown
            assert "Open entries" not in shown
            kept = await agent.refused("update_ghap", ghap_id=theirs)
            assert "somebody else is at work on it" in kept["message"]

            closed = await agent.call("resolve_ghap", status="abandoned", result="both agreed", ghap_id=theirs)

        assert closed["owner"] == "another live session"
        left = (await neighbour.call("start_ghap", **ENTRY))["id"]
        assert (await agent.call("get_active_ghap"))["orphaned"][0]["id"] == left


async def test_where_no_call_has_a_name_the_newest_entry_is_current_and_the_reply_names_the_others(
    services: Services,
) -> None:
    calls = Calls(services.injectable(), CALLER)
    ids = []
    for number in range(3):
        started = await calls.call(None, "start_ghap", {**ENTRY, "goal": f"goal {number}"})
        ids.append(json.loads(started.text)["id"])

    active = json.loads((await calls.call(None, "get_active_ghap", {})).text)
    updated = json.loads((await calls.call(None, "update_ghap", {"note": "seen"})).text)
    closed = json.loads((await calls.call(None, "resolve_ghap", {"status": "abandoned", "result": "-"})).text)
    refused = await calls.call(None, "resolve_ghap", {"status": "abandoned", "result": "-"})

    assert (active["id"], updated["id"], closed["id"]) == (ids[2], ids[2], ids[2])
    assert "the newest" in active["hint"]
    for reply in (updated, closed):
        assert reply["also_open"] == [f"{ids[1]} (goal 1)", f"{ids[0]} (goal 0)"]
        assert reply["stored_text"]
    # What was moved on from never becomes current on its own.
    assert refused.is_error


async def test_once_a_call_has_a_name_that_no_hook_told_of_a_call_without_an_id_is_refused(services: Services) -> None:
    calls = Calls(services.injectable(), CALLER)
    for number in range(2):
        await calls.call(None, "start_ghap", {**ENTRY, "goal": f"goal {number}"}, tool_use=f"toolu_{number}")

    active = json.loads((await calls.call(None, "get_active_ghap", {})).text)
    refused = json.loads((await calls.call(None, "resolve_ghap", {"status": "abandoned", "result": "-"})).text)

    assert "a call without ghap_id is refused" in active["hint"]
    assert "several entries are open" in refused["error"]["message"]
