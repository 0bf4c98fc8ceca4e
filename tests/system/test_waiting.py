"""Circuits and deadlines, on an event loop whose time is skipped, not waited for."""

import asyncio
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from learning_memory_server.errors import NoAnswerError, StorageUnavailableError
from learning_memory_server.system import waiting
from learning_memory_server.system.waiting import BACKGROUND, Budget, Circuit, is_own_delay, limited
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


def test_a_caller_waits_for_a_request_or_a_model() -> None:
    assert not BACKGROUND.is_waited_for
    assert not Budget(index=1).is_waited_for
    assert Budget(request=1).is_waited_for
    assert Budget(model=1).is_waited_for


def test_a_search_gives_a_request_less_than_the_index() -> None:
    assert Budget.of_search(2.0) == Budget(request=1.2, model=1.0, index=1.5)


async def test_a_block_is_limited_and_says_what_was_late() -> None:
    async with limited(None, AWAY), limited(MINUTES, AWAY):
        pass
    with pytest.raises(NoAnswerError, match=r"^The server is away\.$"):
        async with limited(0.01, AWAY):
            await asyncio.Event().wait()


def test_time_is_handed_down_as_one_budget() -> None:
    """A deadline in the context, or seconds beside a budget, would be a second way."""
    root = Path(waiting.__file__).parents[1]
    other_ways = re.compile(r"\b(?:in_time|each_request_within|request_seconds|\w*_within|within)\b(?=[=:(]| *: float)")
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for room in ("index", "embedding", "recall", "learning/values", "learning/clusters", "hub", "system")
        for path in sorted((root / room).rglob("*.py"))
        for line in path.read_text("utf-8").splitlines()
        if other_ways.search(line)
    ]
    assert found == []


async def test_a_deadline_that_is_noticed_late_is_ones_own_delay() -> None:
    now = asyncio.get_running_loop().time()
    assert is_own_delay(now - 1)
    assert not is_own_delay(now)
