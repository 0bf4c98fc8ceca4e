"""The calls that a hub answers without the SDK: as the SDK would."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.hub.connections import VERSIONS, PlainCalls
from learning_memory_server.server.app import build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.session import Session
from learning_memory_server.server.tools.toolset import Result
from learning_memory_server.system.ipc.jsonrpc import OWN_ID
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
async def test_a_call_gets_the_same_answer_as_from_the_sdk(calls: Calls, version: str) -> None:
    requests = [line("tools/call", number, **params) for number, params in enumerate(PLAIN)]
    plain, late = Wire(*opening(version), *requests), Wire(*opening(version), *requests, b"")
    serving = asyncio.create_task(PlainCalls(plain, calls).serve())
    await Session(build_server(calls), late, grace=10.0).run()
    for number in range(len(PLAIN)):
        assert await plain.answered(number) == late.answer(number)
    plain.leave()
    assert await serving is False
    assert len(plain.written) == len(PLAIN)


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
    plain = PlainCalls(wire, calls)
    assert await plain.serve() is True
    await plain.finish()
    assert [answer["id"] for answer in wire.written] == [1]
    assert [await plain.read() for _ in range(4)] == [*begins, other, b""]


@pytest.mark.parametrize("begins", [[], opening("2025-03-26"), opening("2026-07-28")])
async def test_a_session_of_another_protocol_is_left_to_the_sdk(calls: Calls, begins: list[bytes]) -> None:
    call = line("tools/call", 1, name="get_active_ghap")
    wire = Wire(*begins, call)
    plain = PlainCalls(wire, calls)
    assert await plain.serve() is True
    assert wire.written == []
    assert [await plain.read() for _ in range(len(begins) + 1)] == [*begins, call]


class Waiting(Calls):
    """Calls that have no end but to be cancelled."""

    def __init__(self, services: Services) -> None:
        super().__init__(services.injectable(), ALICE)
        self.started: asyncio.Queue[object] = asyncio.Queue()
        self.cancelled: asyncio.Queue[object] = asyncio.Queue()

    async def call(self, identity: Any, *_arguments: Any, **_others: Any) -> Result:
        self.started.put_nowait(identity)
        try:
            return await asyncio.Future()
        finally:
            self.cancelled.put_nowait(identity)


@pytest.fixture
async def waiting(services: Services) -> AsyncIterator[tuple[Waiting, Wire, PlainCalls, asyncio.Task[bool]]]:
    """Two plain calls that have begun."""
    call = Waiting(services)
    wire = Wire(*opening(VERSIONS[-1]), *(line("tools/call", n, name="get_active_ghap") for n in (1, 2)))
    plain = PlainCalls(wire, call)
    serving = asyncio.create_task(plain.serve())
    assert [await call.started.get() for _ in range(2)] == [1, 2]
    yield call, wire, plain, serving
    await plain.close()
    assert wire.written == []


async def test_calls_run_beside_each_other_and_a_client_that_leaves_ends_them(waiting: Any) -> None:
    call, wire, plain, serving = waiting
    wire.leave()
    assert await serving is False
    await plain.close()
    assert {await call.cancelled.get() for _ in range(2)} == {1, 2}


async def test_a_call_that_the_client_cancels_ends_and_has_no_answer(waiting: Any) -> None:
    call, wire, _, serving = waiting
    wire.send(line("notifications/cancelled"), line("notifications/cancelled", requestId=1))
    assert await call.cancelled.get() == 1
    assert call.cancelled.empty()
    assert not serving.done()


async def test_a_call_is_cancelled_also_after_its_connection_was_left_to_the_sdk(waiting: Any) -> None:
    call, wire, plain, serving = waiting
    importing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    wire.send(line("tools/list", 3), line("notifications/cancelled", requestId=1))
    assert await serving is True
    keeping = asyncio.create_task(plain.keep_until(importing))
    assert await call.cancelled.get() == 1
    importing.set_result(None)
    assert await keeping is True
    wire.send(line("notifications/cancelled", requestId=2))
    for _ in range(5):
        await plain.read()
    assert await call.cancelled.get() == 2


async def test_a_cancelled_call_takes_no_other_with_it_when_the_session_is_to_end(services: Services) -> None:
    released = asyncio.Event()

    class Late(Calls):
        async def call(self, *_arguments: Any, **_others: Any) -> Result:
            try:
                await released.wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
                raise
            return Result("done \ud83d")

    wire = Wire(*opening(VERSIONS[-1]), *(line("tools/call", n, name="get_active_ghap") for n in (1, 2)))
    plain = PlainCalls(wire, Late(services.injectable(), ALICE))
    serving = asyncio.create_task(plain.serve())
    wire.send(line("notifications/cancelled", requestId=1))
    while not wire.incoming.empty():
        await asyncio.sleep(0)
    plain.stop_reading()
    assert await serving is False
    finishing = asyncio.create_task(plain.finish())
    await asyncio.sleep(0)
    released.set()
    await finishing
    assert wire.answers() == [2]
    assert wire.answer(2)["result"]["content"][0]["text"] == "done ?"


async def test_what_nobody_waits_for_is_not_kept_for_ever(calls: Calls) -> None:
    begins, ping = opening(VERSIONS[-1]), line("ping", 9)
    own = line("tools/list", f"{OWN_ID}tools/list")
    wire = Wire(*begins, *[line("notifications/progress", progressToken=1), own] * 3, ping)
    plain = PlainCalls(wire, calls)
    assert await plain.serve() is True
    assert [await plain.read() for _ in range(len(begins) + 1)] == [*begins, ping]


async def test_a_session_that_is_to_end_reads_no_more_and_answers_what_it_has_read(services: Services) -> None:
    wire = Wire(*opening(VERSIONS[-1]), line("tools/call", 1, name="get_active_ghap"))
    plain = PlainCalls(wire, Calls(services.injectable(), ALICE))
    serving = asyncio.create_task(plain.serve())
    await wire.answered(1)
    plain.stop_reading()
    assert await serving is False
    wire.send(line("tools/call", 2, name="get_active_ghap"))
    await plain.finish()
    assert wire.answers() == [1]


@pytest.mark.slow
def test_a_hub_can_start_without_the_sdk() -> None:
    program = "import sys, learning_memory_server.hub.hub; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
