"""The dashboard in a chat: clients that render pages see a tool and a resource for it, others do not."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from mcp import Client
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import TextResourceContents

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.hub.front.answers import Answers
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.server.app import PAGE, build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.tools.learning import DASHBOARD_URI
from learning_memory_server.system.ipc import jsonrpc
from learning_memory_server.system.ipc.jsonrpc import APPS
from tests.server.dashboard.making import CALLER, entry, learn, store

UNDER_A_BORDER = {"ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}}
"""What clients are told of the page: nothing has to be allowed for it."""
RENDERS = {EXTENSION_ID: {"mimeTypes": [APP_MIME_TYPE]}}


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with store(tmp_path) as opened:
        yield opened


def rendering(server: Any) -> Client:
    """A client that renders pages."""
    return Client(server, extensions=[advertise(EXTENSION_ID, RENDERS[EXTENSION_ID])])


def server_of(services: Services) -> Any:
    return build_server(Calls(services.injectable(), CALLER))


def test_the_names_are_those_of_the_extension() -> None:
    assert (APPS, PAGE) == (EXTENSION_ID, APP_MIME_TYPE)


async def test_a_client_that_renders_pages_sees_the_tool_and_its_page(services: Services) -> None:
    async with rendering(server_of(services)) as client:
        (tool,) = (each for each in (await client.list_tools()).tools if each.name == "show_dashboard")
        assert tool.meta == {"ui": {"resourceUri": DASHBOARD_URI}}
        (page,) = (each for each in (await client.list_resources()).resources if str(each.uri) == DASHBOARD_URI)
        assert page.mime_type == APP_MIME_TYPE
        assert page.meta == UNDER_A_BORDER
        assert client.server_capabilities.extensions == {EXTENSION_ID: {}}


async def test_others_see_neither(services: Services) -> None:
    async with Client(server_of(services)) as client:
        assert "show_dashboard" not in {tool.name for tool in (await client.list_tools()).tools}
        assert DASHBOARD_URI not in {str(each.uri) for each in (await client.list_resources()).resources}
        refused = await client.call_tool("show_dashboards", {})
        named = refused.content[0].text.partition("the tools are")[2]  # type: ignore[union-attr]
        assert "start_ghap" in named
        assert "show_dashboard" not in named


@pytest.mark.slow
async def test_the_page_has_the_entries_of_the_project(services: Services) -> None:
    await learn(services, entry(0), entry(1, project="another"))
    async with rendering(server_of(services)) as client:
        called = await client.call_tool("show_dashboard", {})
        assert "dashboard of this project's 1 experience, if" in called.content[0].text  # type: ignore[union-attr]
        (content,) = (await client.read_resource(DASHBOARD_URI)).contents
    assert isinstance(content, TextResourceContents)
    assert content.mime_type == APP_MIME_TYPE
    assert content.meta == UNDER_A_BORDER
    assert entry(0).goal in content.text
    assert entry(1).goal not in content.text


async def test_a_failure_says_so(services: Services) -> None:
    class Failing:
        def list_resolved(self, _query: EntryQuery) -> NoReturn:
            raise JournalUnavailableError("The disk is gone.")

    offered = {**services.injectable(), ObservationCollector: Failing()}
    async with rendering(build_server(Calls(offered, CALLER))) as client:
        failed = await client.call_tool("show_dashboard", {})
    assert failed.is_error
    assert "The disk is gone." in failed.content[0].text  # type: ignore[union-attr]


def asked(answers: Answers, method: str, **params: Any) -> tuple[bytes, list[bytes]] | None:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return answers.answer(line, jsonrpc.read(line))


@pytest.mark.parametrize(("extensions", "by_itself"), [({}, True), (RENDERS, False)])
def test_the_front_leaves_the_lists_of_such_a_client_to_the_hub(extensions: dict[str, Any], by_itself: bool) -> None:
    answers = Answers()
    about = {"name": "a chat", "version": "1"}
    capabilities = {"extensions": extensions}
    assert asked(answers, "initialize", protocolVersion="2025-11-25", clientInfo=about, capabilities=capabilities)
    assert (asked(answers, "tools/list") is not None) == by_itself
    assert (asked(answers, "resources/list") is not None) == by_itself
    assert asked(answers, "prompts/list") is not None
