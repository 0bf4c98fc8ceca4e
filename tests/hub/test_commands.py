import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

import pytest

from learning_memory_server.hub.connections import answer
from learning_memory_server.server.operations.report import Report
from learning_memory_server.system.ipc import discovery
from tests.support import MINUTES


@asynccontextmanager
async def working(
    work: Callable[[Report], Coroutine[Any, Any, dict[str, Any]]],
) -> AsyncIterator[tuple[asyncio.Task[dict[str, Any]], asyncio.StreamReader, asyncio.StreamWriter]]:
    """Let the hub work; yield its reply, and the command's end of the connection."""
    ours, theirs = socket.socketpair()
    reader, own = await asyncio.open_connection(sock=ours)
    their_reader, writer = await asyncio.open_connection(sock=theirs)
    async with asyncio.timeout(MINUTES):
        yield asyncio.create_task(answer(work, their_reader, writer)), reader, own
    for stream in (own, writer):
        stream.close()
        await stream.wait_closed()


@pytest.mark.slow
async def test_a_long_command_gives_signs_of_life() -> None:
    seen = asyncio.Event()

    async def work(report: Report) -> dict[str, Any]:
        report("Digging", 3, 7)
        await seen.wait()
        return {"done": True}

    async with working(work) as (reply, reader, _):
        assert discovery.read_progress(await reader.readline()) == {
            "hub": "progress",
            "doing": "Digging",
            "done": 3,
            "total": 7,
        }
        assert await reader.readline() == discovery.PONG
        seen.set()
        assert await reply == {"done": True}


async def test_the_work_for_a_command_that_leaves_is_cancelled() -> None:
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def work(_report: Report) -> dict[str, Any]:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        raise AssertionError

    async with working(work) as (reply, _, own):
        await begun.wait()
        own.close()
        with pytest.raises(ConnectionResetError):
            await reply
        assert cancelled.is_set()


async def test_a_timeout_in_the_work_is_a_failure_and_not_the_end_of_the_command() -> None:
    async def work(_report: Report) -> dict[str, Any]:
        raise TimeoutError

    async with working(work) as (reply, _, _):
        assert (await reply)["error"]["type"] == "internal_error"


def test_the_hubs_process_finds_all_that_it_imports() -> None:
    assert callable(import_module("learning_memory_server.hub.hub").run)
