"""A session from line to line, over a server whose only call waits until the test lets it go on."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from mcp.server import Server
from mcp.types import CallToolRequestParams, CallToolResult, TextContent

from learning_memory_server.model.limits import FRAME_MAX
from learning_memory_server.server.session import Session, StdioLines, refusal
from tests.hub.lines import Wire, line, opening
from tests.support import MINUTES

WAIT = line("tools/call", 1, name="wait")


class Waiting:
    """A server whose call waits."""

    def __init__(self) -> None:
        self.called = asyncio.Event()
        self.gate = asyncio.Event()
        self.asked: list[object] = []
        self.server: Server[dict[str, Any]] = Server("t", version="1", on_call_tool=self._call)

    async def _call(self, _context: object, params: CallToolRequestParams) -> CallToolResult:
        self.asked.append(params.arguments)
        self.called.set()
        await self.gate.wait()
        return CallToolResult(content=[TextContent(type="text", text="done")])


@pytest.fixture
def client() -> Wire:
    return Wire(*opening("2025-11-25"))


@pytest.fixture
def waiting() -> Waiting:
    return Waiting()


@pytest.fixture
async def served(client: Wire, waiting: Waiting) -> AsyncIterator[tuple[Session, asyncio.Task[None]]]:
    """A session without grace, and the task that it runs in."""
    session = Session(waiting.server, client)
    task = asyncio.create_task(session.run())
    yield session, task
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


Served = tuple[Session, "asyncio.Task[None]"]


@pytest.mark.slow
async def test_a_line_that_is_too_long_gets_an_error_and_the_next_one_works(
    client: Wire, waiting: Waiting, served: Served
) -> None:
    waiting.gate.set()
    client.send(b'"' + b"x" * FRAME_MAX + b"\n")
    client.send(WAIT)
    async with asyncio.timeout(MINUTES):
        assert "longer than 67108864 bytes" in (await client.answered(None))["error"]["message"]
        assert "result" in await client.answered(1)
    assert not served[1].done()


async def test_a_session_that_stops_reading_ends_after_its_last_answer(
    client: Wire, waiting: Waiting, served: Served
) -> None:
    session, task = served
    async with asyncio.timeout(MINUTES):
        client.send(WAIT)
        await waiting.called.wait()
        session.stop_reading()
        client.send(line("tools/call", 2, name="wait"))
        _, unfinished = await asyncio.wait([task], timeout=0.1)
        assert unfinished
        waiting.gate.set()
        await task
    assert client.answers() == [1]


async def test_a_session_that_stops_reading_does_not_wait_for_a_cancelled_call(
    client: Wire, waiting: Waiting, served: Served
) -> None:
    session, task = served
    async with asyncio.timeout(MINUTES):
        client.send(WAIT)
        await waiting.called.wait()
        client.send(line("notifications/cancelled", requestId=1))
        client.send(line("ping", 2))
        await client.answered(2)
        session.stop_reading()
        await task


async def test_the_calls_of_a_client_that_left_get_their_grace_and_no_more(client: Wire, waiting: Waiting) -> None:
    client.send(WAIT)
    client.leave()
    session = asyncio.create_task(Session(waiting.server, client, grace=MINUTES).run())
    async with asyncio.timeout(MINUTES):
        await waiting.called.wait()
        waiting.gate.set()
        await session
    assert client.answer(1)["result"]["content"][0]["text"] == "done"

    hasty, stuck = Wire(*opening("2025-11-25"), WAIT, b""), Waiting()
    async with asyncio.timeout(MINUTES):
        await Session(stuck.server, hasty, grace=0.1).run()
    assert stuck.called.is_set()
    assert hasty.answers() == []


async def test_a_deaf_client_ends_the_session(client: Wire, waiting: Waiting, served: Served) -> None:
    async with asyncio.timeout(MINUTES):
        client.send(WAIT)
        await waiting.called.wait()
        client.is_gone = True
        client.send(line("ping", 2))
        await served[1]


async def test_stdio_gives_the_beginning_of_a_line_too_long_and_the_last_line_without_its_end() -> None:
    theirs, ours = os.pipe()
    lines = StdioLines(theirs, ours, frame_max=8)
    os.write(ours, b"1234567\n12345678901234567890\nshort\nlast")
    os.close(ours)
    assert [await lines.read() for _ in range(5)] == [b"1234567\n", b"123456789", b"short\n", b"last", b""]
    os.close(theirs)


async def test_stdio_says_that_the_client_is_gone() -> None:
    theirs, ours = os.pipe()
    lines = StdioLines(theirs, ours)
    await lines.write(b"a line\n")
    assert os.read(theirs, 100) == b"a line\n"
    os.close(theirs)
    with pytest.raises(BrokenPipeError):
        await lines.write(b"a line\n")
    os.close(ours)


def answered(line: str | bytes) -> dict[str, Any]:
    answer = refusal(line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass"))
    assert answer is not None
    found: dict[str, Any] = json.loads(answer)
    return found


@pytest.mark.parametrize(
    "line",
    [
        '{"id": true}',
        '{"id": 1.5, "method": 5}',
        "not json",
        "[" * 100_000,
        "[]",
        '[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
        "5",
        "\ud83d",
        "{}",
        '{"jsonrpc":"2.0","id":1,"method":"ping","params":{',
        f'{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"a":{"9" * 5000}}}}}',
    ],
)
def test_a_line_that_is_not_a_request_gets_an_error_without_an_id(line: str) -> None:
    assert answered(line)["id"] is None
    assert answered(line)["error"]["message"]


@pytest.mark.parametrize("identity", [7, "seven"])
def test_a_request_that_is_not_valid_is_answered_under_its_id(identity: Any) -> None:
    quoted = f'"{identity}"' if isinstance(identity, str) else identity
    for params in ('{"query":"\\ud83d"}', "5"):
        answer = answered(f'{{"jsonrpc":"2.0","id":{quoted},"method":"tools/list","params":{params}}}')
        assert answer["id"] == identity
        assert answer["error"]["message"]


def test_a_tool_call_that_cannot_be_read_fails_as_a_tool_does() -> None:
    answer = answered('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\\ud83d"}}')

    assert answer["result"]["isError"] is True
    assert '"type":"validation_error"' in answer["result"]["content"][0]["text"]


@pytest.mark.parametrize(
    "line", ['{"jsonrpc":"2.0","method":"notifications/x","params":5}', '{"jsonrpc":"2.0","id":1,"result":5}']
)
def test_notifications_and_answers_get_no_answer(line: str) -> None:
    assert refusal(line.encode()) is None


@pytest.mark.usefixtures("served")
async def test_each_request_that_the_sdk_would_drop_is_answered(client: Wire) -> None:
    for frame in (
        {"id": True, "method": "ping"},
        {"id": 1.0, "method": "ping"},
        {"id": 2, "method": "ping", "params": []},
        {"id": 3, "method": "ping", "error": {"code": 1, "message": "?"}},
        {"id": 4, "method": "ping", "jsonrpc": "1.0"},
        {"id": "half \ud83d", "method": "ping"},
        {"id": 6, "method": "ping"},
    ):
        client.send(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
    client.send(b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {\n')
    client.send(b'{"jsonrpc": "2.0", "id": 8, "method": "ping", "params": {"a": "\xff"}}\n')
    client.send(line("ping", 8))
    async with asyncio.timeout(MINUTES):
        await client.answered(6)
        await client.answered(8)
    assert sorted(map(str, client.answers())) == sorted([*["None"] * 4, "2", "3", "4", "half \ud83d", "6", "8"])
    assert [each["id"] for each in client.written if "result" in each][1:] == [6, 8]


@pytest.mark.usefixtures("served")
async def test_half_an_emoji_is_replaced_in_a_hooks_call_and_refused_in_an_agents(
    client: Wire, waiting: Waiting
) -> None:
    for identity, tool in enumerate(("hook", "add_memory")):
        client.send(
            line("tools/call", identity, name=tool, arguments={"output": "half \ud83d, a \u4e2d and \U0001f600"})
        )
    waiting.gate.set()
    async with asyncio.timeout(MINUTES):
        assert (await client.answered(0))["result"]["content"] == [{"type": "text", "text": "done"}]
        assert (await client.answered(1))["result"]["isError"] is True
    assert waiting.asked == [{"output": "half ?, a \u4e2d and \U0001f600"}]
