"""The calls that a hub answers before it has imported the SDK: as the SDK would."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.hub.connections import VERSIONS, EarlyCalls
from learning_memory_server.server.app import build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.session import Session
from learning_memory_server.server.tools.toolset import Result
from tests.hub.lines import Wire, line, opening
from tests.services import opened
from tests.support import ALICE

MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
PLAIN: list[dict[str, Any]] = [
    {"name": "get_active_ghap"},
    {"name": "list_ghap_entries", "arguments": {"limit": 3}, "_meta": {"progressToken": 7}},
    {"name": "list_ghap_entries", "arguments": {"limit": "many"}},
    {"name": "get_ghap_entry", "arguments": {"ghap_id": "ghap_20260101_000000_abcdef"}},
    {"name": "search_memory", "arguments": {"query": "roses 🌹"}},
    {"name": "delete_memory", "arguments": {"memory_id": "none"}},
    {"name": "no_such_tool", "arguments": {}},
]


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with opened(tmp_path) as services:
        yield services


@pytest.fixture
def calls(services: Services) -> Calls:
    return Calls(services.injectable(), ALICE)


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
async def test_a_call_gets_the_same_answer_early_as_from_the_sdk(calls: Calls, version: str) -> None:
    requests = [line("tools/call", number, **params) for number, params in enumerate(PLAIN)]
    early, late = Wire(*opening(version), *requests), Wire(*opening(version), *requests, b"")
    assert await EarlyCalls(early, calls).serve() is True
    await Session(build_server(calls), late, grace=10.0).run()
    assert len(early.written) == len(PLAIN)
    for number in range(len(PLAIN)):
        assert early.answer(number) == late.answer(number)


@pytest.mark.parametrize(
    "other",
    [
        line("tools/list", 2),
        line("ping", 2),
        line("tools/call", 2, name="get_active_ghap", _meta=MODERN),
        line("tools/call", 2, name="get_active_ghap", arguments=[]),
        line("tools/call", 2, arguments={}),
        line("tools/call", 2, name="get_active_ghap", task={"ttl": 1}),
        b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"\\ud83d"}}\n',
        line("tools/call", 2, name="add_memory", arguments={"text": "x" * 20_000}),
        b"{\n",
    ],
    ids=["list", "ping", "modern", "array", "nameless", "unknown", "surrogate", "long", "broken"],
)
async def test_whatever_is_not_a_plain_call_is_left_to_the_session_which_reads_on(calls: Calls, other: bytes) -> None:
    begins = opening(VERSIONS[-1])
    wire = Wire(*begins, line("tools/call", 1, name="get_active_ghap"), other, b"")
    early = EarlyCalls(wire, calls)
    assert await early.serve() is True
    assert [answer["id"] for answer in wire.written] == [1]
    assert [await early.read() for _ in range(4)] == [*begins, other, b""]


@pytest.mark.parametrize("begins", [[], opening("2025-03-26"), opening("2026-07-28")])
async def test_a_session_of_another_protocol_is_left_to_the_sdk(calls: Calls, begins: list[bytes]) -> None:
    call = line("tools/call", 1, name="get_active_ghap")
    wire = Wire(*begins, call)
    early = EarlyCalls(wire, calls)
    assert await early.serve() is True
    assert wire.written == []
    assert [await early.read() for _ in range(len(begins) + 1)] == [*begins, call]


@pytest.mark.slow
async def test_a_session_that_is_quiet_is_left_to_the_sdk_and_loses_no_line(calls: Calls) -> None:
    begins = opening(VERSIONS[-1])
    wire = Wire(*begins)
    early = EarlyCalls(wire, calls)
    assert await early.serve() is True
    wire.send(line("tools/call", 1, name="get_active_ghap"), b"")
    await Session(build_server(calls), early, grace=10.0).run()
    assert "result" in wire.answer(1)


async def test_what_arrives_during_a_call_is_read_and_a_client_leaving_ends_it(services: Services) -> None:
    started, cancelled = asyncio.Event(), asyncio.Event()

    class Waiting(Calls):
        async def call(self, *_arguments: Any, **_others: Any) -> Result:
            started.set()
            try:
                return await asyncio.Future()
            finally:
                cancelled.set()

    wire = Wire(*opening(VERSIONS[-1]), line("tools/call", 1, name="get_active_ghap"))
    serving = asyncio.create_task(EarlyCalls(wire, Waiting(services.injectable(), ALICE)).serve())
    await started.wait()
    wire.send(line("tools/list", 2), b"")
    assert await serving is False
    assert cancelled.is_set()
    assert wire.incoming.empty()
    assert wire.written == []


@pytest.mark.slow
def test_a_hub_can_start_without_the_sdk() -> None:
    program = "import sys, learning_memory_server.hub.hub; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
