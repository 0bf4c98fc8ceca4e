"""Clients are greeted and see the tools in a moment, whether there is a hub or not."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.types import TextContent

from learning_memory_server.system import timeouts
from learning_memory_server.system.locking import exclusive
from tests.acceptance.hubs import ENTRY, Memory
from tests.acceptance.wire import COMMAND, ERAS, Era, Wire, running
from tests.tool_names import NAMES

pytestmark = pytest.mark.slow

HURRIED_FRONT = """
import os
from learning_memory_server.hub.front.link import HubLink, hello_of
from learning_memory_server.hub.front.relay import Relay
from learning_memory_server.system.ipc.discovery import HubPaths
place = HubPaths(os.environ)
Relay(HubLink(place, hello_of(place, "session"), lambda sentence: None, connect_seconds=2.0)).run()
os._exit(0)
"""
A_MOMENT = timeouts.CONNECT / 2
"""Seconds that a busy machine may take for what takes 50 ms. Waiting for a hub would take twice as long."""


def listed(front: Wire) -> tuple[dict[str, Any], dict[str, Any]]:
    begun = time.monotonic()
    shown = front.handshake(), front.request("tools/list")
    assert time.monotonic() - begun < A_MOMENT
    return shown


@pytest.mark.parametrize("era", ERAS)
def test_the_front_greets_as_a_server_does(memory: Memory, tmp_path: Path, era: Era) -> None:
    shown = listed(memory.front(era=era))
    (tmp_path / "direct").mkdir()
    with running(tmp_path / "direct", era) as direct:
        assert shown == (direct.handshake(), direct.request("tools/list"))


@pytest.mark.parametrize("era", ERAS)
def test_a_client_is_greeted_while_a_command_has_locked_the_data(memory: Memory, era: Era) -> None:
    front = memory.front(era=era)
    with exclusive(memory.storage / "journal", "learning-memory-server import"):
        assert {tool["name"] for tool in listed(front)[1]["tools"]} == set(NAMES)
        call = front.send_call("start_ghap", **ENTRY)
        begun = time.monotonic()
        if era == "2025-11-25":
            assert front.request("ping") == {}
        assert front.request("tools/list")["tools"]
        assert time.monotonic() - begun < A_MOMENT
        assert not front.has_answer(call)
    # The command has ended in time for the call.
    assert json.loads(front.answer(call)["result"]["content"][0]["text"])["goal"] == ENTRY["goal"]
    assert front.close() == 0


def test_a_call_that_cannot_be_served_says_who_has_locked_the_data(memory: Memory) -> None:
    front = memory.front(command=(sys.executable, "-c", HURRIED_FRONT))
    with exclusive(memory.storage / "journal", "learning-memory-server import"):
        listed(front)
        error = front.refused("get_active_ghap")
    assert error["type"] == "storage_unavailable"
    assert "learning-memory-server import" in error["message"]
    assert str(os.getpid()) in error["message"]
    assert "Call again" in error["hint"]
    memory.greeted()
    assert front.call("get_active_ghap")["has_active"] is False


@pytest.mark.parametrize("era", ERAS)
def test_a_client_lists_and_calls_after_its_hub_was_killed(memory: Memory, era: Era) -> None:
    front = memory.greeted(era=era)
    ghap_id = front.call("start_ghap", **ENTRY)["id"]
    memory.kill_hub()
    begun = time.monotonic()
    assert front.request("tools/list")["tools"]
    assert time.monotonic() - begun < A_MOMENT
    assert front.call("get_active_ghap")["id"] == ghap_id


def test_a_list_starts_the_hub_for_the_calls_that_follow(memory: Memory) -> None:
    front = memory.front(era="2026-07-28")
    listed(front)
    memory.hub()
    assert front.close() == 0


@pytest.mark.parametrize("is_locked", [False, True])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_a_client_of_the_sdk_is_greeted(memory: Memory, mode: str, *, is_locked: bool) -> None:
    lock = exclusive(memory.storage / "journal", "learning-memory-server import")
    if is_locked:
        lock.__enter__()
    begun = time.monotonic()
    server = StdioServerParameters(command=str(COMMAND), env=memory.environment(hub_idle_minutes="1"))
    async with Client(server, mode=mode) as client:
        tools = await client.list_tools()
        assert [tool.name for tool in tools.tools] == NAMES
        assert time.monotonic() - begun < timeouts.CONNECT
        if is_locked:
            lock.__exit__(None, None, None)
        result = await client.call_tool("get_active_ghap", {})
        (block,) = result.content
        assert isinstance(block, TextContent)
        assert json.loads(block.text) == {"has_active": False}
