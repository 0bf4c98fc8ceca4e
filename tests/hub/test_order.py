"""Calls of one session that write do so in the order in which they were sent, whatever each of them waits for."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.hub.connections import VERSIONS, PlainCalls
from learning_memory_server.redaction.gate import RedactedData, RedactionGate
from learning_memory_server.server.app import build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.session import Session
from tests.hub.lines import Wire, line, opening
from tests.server.agent import ENTRY
from tests.services import opened
from tests.support import ALICE, ghap

OPENING = opening(VERSIONS[-1])
TOO_LONG = {"_meta": {"padding": "x" * 20_000}}
"""Makes a call one that is left to the SDK."""
READING = line("tools/call", 9, name="get_active_ghap")
PYTEST = {"event": {"event": "PostToolUse", "command": "pytest slow", "output": "=== 3 passed in 0.10s ==="}}


def update(identity: int, note: str, **others: Any) -> bytes:
    return line("tools/call", identity, name="update_ghap", arguments={"note": note}, **others)


SLOW, QUICK = update(1, "slow"), update(2, "quick")


class Held(RedactionGate):
    """Holds what says `slow` until it may go on, as if a thread were late."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = asyncio.Event()
        self.released = asyncio.Event()

    async def pass_data(self, data: Any) -> RedactedData:
        if "slow" in json.dumps(data):
            self.reached.set()
            await self.released.wait()
        return await super().pass_data(data)

    async def pass_texts(self, *texts: str) -> list[str]:
        await self.pass_data(texts)
        return await super().pass_texts(*texts)


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with opened(tmp_path) as services:
        services.collector.add_open([ghap()])
        services.collector.update(ALICE, ghap().id)
        yield services


class Server:
    """Serves connections, and holds what they say that is slow."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.held = Held()
        # Of an event, only what is written passes the gate.
        services.advisor.observer = replace(services.advisor.observer, redaction=self.held)

    def calls(self, **others: Any) -> Calls:
        """Return the calls of a new connection."""
        return Calls({**self.services.injectable(), RedactionGate: self.held}, ALICE, **others)

    def session(self, client: Wire, **others: Any) -> Session:
        return Session(build_server(self.calls(**others)), client, grace=10.0)

    def begin(self, client: Wire, **others: Any) -> asyncio.Task[None]:
        return asyncio.create_task(self.session(client, **others).run())

    async def hub(self, client: Wire) -> None:
        """Serve a connection as a hub does: plain calls, and the SDK's session once another line comes."""
        calls = self.calls()
        plain = PlainCalls(client, calls)
        if await plain.serve():
            await Session(build_server(calls), plain, grace=10.0).run()
        await plain.finish()

    async def end(self, client: Wire, serving: asyncio.Task[None]) -> None:
        """Let what is held go on, and the client leave."""
        self.held.released.set()
        client.leave()
        await serving

    def notes(self) -> tuple[str, ...]:
        entry = self.services.collector.still_open.current(ALICE)
        return entry.notes if entry else ()


@pytest.fixture
def server(services: Services) -> Server:
    return Server(services)


async def test_a_write_waits_for_the_one_before_it_and_a_read_for_none(server: Server) -> None:
    client = Wire(*OPENING, SLOW, QUICK, READING)
    serving = server.begin(client)
    await client.answered(9)
    assert server.notes() == ()
    await server.end(client, serving)
    assert server.notes() == ("slow", "quick")
    assert client.answers() == [9, 1, 2]


@pytest.mark.parametrize(
    "first", [SLOW, update(1, "slow", **TOO_LONG)], ids=["before the SDK is there", "in the SDK's session"]
)
@pytest.mark.parametrize("second", [QUICK, update(2, "quick", **TOO_LONG)], ids=["short", "long"])
async def test_the_first_calls_of_a_hub_are_in_order(server: Server, first: bytes, second: bytes) -> None:
    client = Wire(*OPENING, first, second, READING)
    serving = asyncio.create_task(server.hub(client))
    await server.held.reached.wait()
    if first is not SLOW:
        await client.answered(9)
    assert server.notes() == ()
    await server.end(client, serving)
    assert server.notes() == ("slow", "quick")


@pytest.mark.parametrize("done", [[], ["slow"]], ids=["neither was done", "the first was done"])
async def test_calls_that_are_repeated_to_the_next_hub_are_in_order(server: Server, done: list[str]) -> None:
    if done:
        server.held.released.set()
        client = Wire(*OPENING, SLOW, b"")
        await server.session(client, front="f").run()
        server.held.released.clear()
    client = Wire(*OPENING, SLOW, QUICK, READING)
    serving = server.begin(client, front="f", asked_again={1, 2})
    await client.answered(9)
    assert list(server.notes()) == done
    await server.end(client, serving)
    assert server.notes() == ("slow", "quick")
    assert set(client.answers()) == {1, 2, 9}


async def test_a_slow_look_at_the_first_calls_folder_lets_no_later_call_go_first(
    server: Server, services: Services
) -> None:
    looked, may_go_on = asyncio.Event(), asyncio.Event()

    async def find(*_: str) -> str:
        if not looked.is_set():
            looked.set()
            await may_go_on.wait()
        return ""

    services.exclusion.find = find  # type: ignore[method-assign]
    server.held.released.set()
    client = Wire(*OPENING, SLOW, QUICK, READING)
    serving = server.begin(client)
    await client.answered(9)
    assert server.notes() == ()
    may_go_on.set()
    await server.end(client, serving)
    assert server.notes() == ("slow", "quick")


async def test_a_hub_that_drains_does_what_it_has_read_in_order(server: Server) -> None:
    client = Wire(*OPENING, SLOW, QUICK, READING)
    served = server.session(client)
    serving = asyncio.create_task(served.run())
    await client.answered(9)
    served.stop_reading()
    client.send(update(3, "unread"))
    assert server.notes() == ()
    server.held.released.set()
    await serving
    assert server.notes() == ("slow", "quick")
    assert client.answers() == [9, 1, 2]


async def test_a_hub_that_gives_up_a_call_leaves_those_after_it_to_the_next(server: Server) -> None:
    client = Wire(*OPENING, SLOW, QUICK, READING)
    serving = server.begin(client, front="f")
    await client.answered(9)
    serving.cancel()
    await asyncio.gather(serving, return_exceptions=True)
    assert client.answers() == [9]
    server.held.released.set()
    again = Wire(*OPENING, SLOW, QUICK, b"")
    await server.session(again, front="f", asked_again={1, 2}).run()
    assert server.notes() == ("slow", "quick")


async def test_a_call_that_is_cancelled_leaves_its_turn_to_the_next(server: Server) -> None:
    client = Wire(*OPENING, SLOW, QUICK, update(3, "late"))
    serving = server.begin(client)
    await server.held.reached.wait()
    # The second never had its turn, the first has it.
    for identity in (2, 1):
        client.send(line("notifications/cancelled", requestId=identity))
    await client.answered(3)
    assert server.notes() == ("late",)
    client.leave()
    await serving


async def test_a_call_that_fails_leaves_its_turn_to_the_next(server: Server) -> None:
    wrong = line("tools/call", 1, name="update_ghap", arguments={"note": 1})
    client = Wire(*OPENING, wrong, QUICK, b"")
    await server.session(client).run()
    assert client.answer(1)["result"]["isError"]
    assert server.notes() == ("quick",)


async def test_what_a_command_showed_is_kept_before_the_entry_is_closed(server: Server) -> None:
    connection = server.calls(has_hooks=True)
    hook = asyncio.create_task(connection.call(1, "hook", PYTEST))
    resolving = asyncio.create_task(connection.call(2, "resolve_ghap", {"status": "confirmed", "result": "it passed"}))
    await server.held.reached.wait()
    server.held.released.set()
    await asyncio.gather(hook, resolving)
    (entry,) = server.services.collector.list_resolved()
    assert len(entry.runs) == 1


async def test_a_text_that_is_divided_in_a_thread_is_added_before_the_next_call(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    divide, released = server.services.memories.log.chunk, threading.Event()
    seen: list[int] = []

    def chunk(text: str, should_stop: Callable[[], bool]) -> Any:
        assert released.wait(10)
        return divide(text, should_stop)

    monkeypatch.setattr(server.services.memories.log, "chunk", chunk)
    add = line("tools/call", 1, name="add_memory", arguments={"text": "roses"})
    client = Wire(*OPENING, add, QUICK, READING)
    serving = server.begin(client)
    await client.answered(9)
    seen.append(len(server.notes()))
    released.set()
    await client.answered(2)
    seen.append(len(server.notes()))
    assert seen == [0, 1]
    assert [memory.text for memory in server.services.memories.log.all()] == ["roses"]
    client.leave()
    await serving


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("add_memory", {"text": "roses"}),
        ("delete_memory", {"memory_id": "none"}),
        ("resolve_ghap", {"status": "confirmed", "result": "it passed"}),
    ],
)
async def test_what_is_written_need_not_be_indexed_before_the_next_call(
    server: Server, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    released = asyncio.Event()

    async def late(*_arguments: Any, **_others: Any) -> bool:
        return await released.wait()

    monkeypatch.setattr(server.services.writer, "write", late)
    monkeypatch.setattr(server.services.writer, "remove", late)
    start = line("tools/call", 2, name="start_ghap", arguments=ENTRY)
    client = Wire(*OPENING, line("tools/call", 1, name=tool, arguments=arguments), start)
    serving = server.begin(client)
    await client.answered(2)
    released.set()
    client.leave()
    await serving
    assert client.answers() == [2, 1]
