"""The resource and the prompt, as a client reads them."""

import re

import pytest
from mcp.shared.exceptions import MCPError
from mcp.types import TextContent, TextResourceContents

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.cli.app import declared
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.app import CONTEXT_URI, build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.session import Session
from tests.hub.lines import Wire, line, opening
from tests.server.agent import CONFIRMED, ENTRY, FALSIFIED, OWL, Agent, agent_of
from tests.tool_names import NAMES

ENVELOPE = {"protocolVersion": "2026-07-28", "clientCapabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
"""What each request carries in a protocol without a handshake."""


async def read_context(agent: Agent) -> str:
    (content,) = (await agent.client.read_resource(CONTEXT_URI)).contents
    assert isinstance(content, TextResourceContents)
    assert (content.uri, content.mime_type) == (CONTEXT_URI, "text/plain")
    return content.text


async def let_help(agent: Agent, entry: str) -> None:
    """Resolve another entry, whose agent says that this one helped."""
    await agent.resolve_new(entry=OWL, **CONFIRMED, helped=[entry])


async def test_the_context_is_empty_and_then_names_what_is_open_and_what_helped(agent: Agent) -> None:
    assert [each.uri for each in (await agent.client.list_resources()).resources] == [CONTEXT_URI]
    assert await read_context(agent) == ""
    before = await agent.resolve_new(**CONFIRMED)
    assert "deploys must clear the cache" not in await read_context(agent)
    await let_help(agent, before)
    started = await agent.call("start_ghap", **ENTRY)
    shown = await read_context(agent)
    assert f"- {started['id']}: {ENTRY['goal']}\n" in shown
    assert f"- deploys must clear the cache (goal: {ENTRY['goal'][:60]}" in shown
    assert len(shown.encode()) <= limits.CONTEXT_MAX


async def test_the_context_is_the_projects_own(services: Services) -> None:
    async with agent_of(services) as agent:
        await let_help(agent, await agent.resolve_new(**FALSIFIED, lesson=CONFIRMED["lesson"]))
    async with agent_of(services, Caller("blog", "a1")) as agent:
        assert await read_context(agent) == ""
    async with agent_of(services, Caller("shop", "b2")) as agent:
        assert "deploys must clear the cache" in await read_context(agent)


async def test_the_context_is_the_list_of_a_start_whatever_was_shown_and_is_not_recorded(
    services: Services, agent: Agent
) -> None:
    await let_help(agent, await agent.resolve_new(**CONFIRMED))
    before = list(services.advice_log.everything())
    first = await read_context(agent)
    assert "deploys must clear the cache" in first
    assert await read_context(agent) == first
    assert list(services.advice_log.everything()) == before


@pytest.mark.parametrize("uri", ["learning-memory://everything", "file:///context", "learning-memory://context/"])
@pytest.mark.parametrize(
    ("version", "code"),
    [
        ("2024-11-05", -32002),
        ("2025-03-26", -32002),
        ("2025-06-18", -32002),
        ("2025-11-25", -32002),
        ("2026-07-28", -32602),
    ],
)
async def test_another_resource_is_refused_with_the_code_of_the_protocol(
    services: Services, version: str, code: int, uri: str
) -> None:
    about = {f"io.modelcontextprotocol/{name}": value for name, value in ENVELOPE.items()}
    first = [] if version == ENVELOPE["protocolVersion"] else opening(version)
    wire = Wire(*first, line("resources/read", 1, uri=uri, **({} if first else {"_meta": about})), b"")
    await Session(build_server(Calls(services.injectable(), Caller("shop", "a1"))), wire, grace=10.0).run()
    error = wire.answer(1)["error"]
    assert (error["code"], error["data"]) == (code, {"uri": uri})
    assert CONTEXT_URI in error["message"]


async def test_an_unforeseen_failure_shows_nothing_of_itself(services: Services, agent: Agent) -> None:
    server = build_server(Calls({**services.injectable(), Advisor: object()}, Caller("shop", "a1")))
    async with type(agent.client)(server) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(CONTEXT_URI)
    assert re.search(r"request [0-9a-f]{8}", str(caught.value))
    assert "attribute" not in str(caught.value)


async def test_the_retrospective_leads_through_existing_tools_on_the_axis_asked_for(agent: Agent) -> None:
    (listed,) = (await agent.client.list_prompts()).prompts
    assert listed.name == "retrospective"
    for arguments, axis in (({}, "root_cause"), ({"axis": "strategy"}, "strategy")):
        (message,) = (await agent.client.get_prompt("retrospective", arguments)).messages
        assert isinstance(message.content, TextContent)
        assert f"get_clusters with axis {axis}." in message.content.text
        named = re.findall(r"\b(?:get|list|validate|store|judge)_[a-z_]+\b", message.content.text)
        assert set(named) <= set(NAMES)
        steps = ["get_clusters", "get_cluster_members", "validate_value", "store_value", "judge_value"]
        assert [named.index(step) for step in steps] == sorted(named.index(step) for step in steps)


async def test_the_retrospective_over_the_past_uses_commands_that_exist(agent: Agent) -> None:
    (past,) = (await agent.client.get_prompt("retrospective", {"past": "yes"})).messages
    (usual,) = (await agent.client.get_prompt("retrospective", {"past": "no"})).messages
    assert isinstance(past.content, TextContent)
    assert isinstance(usual.content, TextContent)
    named = re.findall(r"`learning-memory-server ([a-z ]+?)(?: FILE)?`", past.content.text + usual.content.text)
    assert set(named) == {"retrospective past", "retrospective recent", "retrospective keep", "review"}
    group = declared()["retrospective"].commands
    assert all(each.split()[1] in group for each in named if " " in each)
    assert "get_clusters" not in past.content.text


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("retro", {}, "there is retrospective"),
        ("retrospective", {"axis": "domain"}, ", ".join(Axis)),
        ("retrospective", {"depth": "3"}, "only arguments are axis and past"),
        ("retrospective", {"past": "all"}, "past: must be one of yes, no"),
    ],
)
async def test_what_the_prompt_does_not_know_is_refused(
    name: str, arguments: dict[str, str], said: str, agent: Agent
) -> None:
    with pytest.raises(MCPError, match=said):
        await agent.client.get_prompt(name, arguments)
