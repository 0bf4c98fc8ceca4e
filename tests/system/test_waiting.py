"""Circuits and deadlines, on an event loop whose time is skipped, not waited for."""

import asyncio
from collections.abc import Callable

import pytest

from learning_memory_server.errors import NoAnswerError, StorageUnavailableError
from learning_memory_server.system.waiting import Circuit, each_request_within, is_own_delay, request_seconds
from tests.fast_forward import fast_forward
from tests.support import MINUTES

AWAY = NoAnswerError("The server is away.", hint="Start it.")


class Server:
    """What a probe asks. It says when it was asked."""

    def __init__(self) -> None:
        self.fault: Exception | None = AWAY
        self.hangs = False
        self.asked: list[float] = []

    async def answer(self) -> None:
        self.asked.append(asyncio.get_running_loop().time())
        if self.hangs:
            await asyncio.Event().wait()
        if self.fault:
            raise self.fault


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(MINUTES):
        while not is_so():
            await asyncio.sleep(0.1)


@fast_forward
async def test_an_open_circuit_fails_at_once_with_the_error_that_opened_it() -> None:
    circuit, server = Circuit("test"), Server()
    circuit.require_closed()

    circuit.open(AWAY, server.answer)

    for _ in range(2):
        with pytest.raises(NoAnswerError, match=r"^The server is away\.$") as caught:
            circuit.require_closed()
        assert caught.value.hint == "Start it."
    await circuit.close()
    assert not circuit.is_open


@pytest.mark.slow
@pytest.mark.parametrize("hangs", [False, True])
@fast_forward
async def test_a_circuit_closes_within_five_seconds_of_the_servers_return(*, hangs: bool) -> None:
    now = asyncio.get_running_loop().time
    closed: list[float] = []
    circuit, server = Circuit("test", lambda: closed.append(now())), Server()
    server.hangs = hangs
    circuit.open(AWAY, server.answer)
    # Returns at different moments between two probes, one of which may hang.
    for away in (7, 8, 9):
        await asyncio.sleep(away)
        assert circuit.is_open
        server.fault, server.hangs, returned = None, False, now()
        await until(lambda: not circuit.is_open)
        assert 0 <= closed[-1] - returned <= 5
        server.fault, server.hangs = AWAY, hangs
        circuit.open(AWAY, server.answer)
    assert len(closed) == 3
    await circuit.close()


@pytest.mark.slow
@fast_forward
async def test_probes_are_seconds_apart_however_many_requests_fail() -> None:
    circuit, server = Circuit("test"), Server()
    for _ in range(100):
        circuit.open(AWAY, server.answer)
    await asyncio.sleep(30)
    assert 8 <= len(server.asked) <= 12
    await circuit.close()


@fast_forward
async def test_a_refusal_is_an_answer() -> None:
    circuit, server = Circuit("test"), Server()
    server.fault = StorageUnavailableError("The key is wrong.")
    circuit.open(AWAY, server.answer)
    await until(lambda: not circuit.is_open)
    assert len(server.asked) == 1


async def test_a_probe_has_none_of_the_deadline_of_the_call_that_failed() -> None:
    seen: list[float] = []

    async def probe() -> None:
        seen.append(request_seconds(10))

    circuit = Circuit("test")
    with each_request_within(0.5):
        circuit.open(AWAY, probe)
    await until(lambda: not circuit.is_open)
    assert seen == [10]


async def test_requests_have_as_long_as_whoever_waits_for_them() -> None:
    async def asked() -> float:
        return request_seconds(10)

    assert request_seconds(10) == 10
    with each_request_within(0.5):
        assert await asked() == await asyncio.create_task(asked()) == 0.5
        assert request_seconds(0.1) == 0.1
        task = asyncio.create_task(asked())
    assert request_seconds(10) == 10
    assert await task == 0.5


async def test_a_deadline_that_is_noticed_late_is_ones_own_delay() -> None:
    now = asyncio.get_running_loop().time()
    assert is_own_delay(now - 1)
    assert not is_own_delay(now)
