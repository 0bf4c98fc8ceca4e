"""Work for a client that may leave before it is done."""

import asyncio

import pytest

from learning_memory_server.hub.connections import unless_left


async def test_work_for_a_client_that_waits_is_done() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    assert await unless_left(work(), asyncio.StreamReader()) == "done"


async def test_work_for_a_client_that_has_left_is_given_up() -> None:
    reader, steps = asyncio.StreamReader(), list[str]()

    async def work() -> None:
        steps.append("begun")
        reader.feed_eof()
        await asyncio.sleep(60)
        steps.append("recorded")

    with pytest.raises(ConnectionResetError):
        await unless_left(work(), reader)
    assert steps == ["begun"]


async def test_a_failure_of_the_work_is_raised() -> None:
    async def work() -> None:
        raise ValueError("no such thing")

    with pytest.raises(ValueError, match="no such thing"):
        await unless_left(work(), asyncio.StreamReader())
