import asyncio

import pytest
from structlog.testing import capture_logs

from learning_memory_server.errors import DiskFullError, StorageUnavailableError
from learning_memory_server.system.waiting import Backoff, attempts, is_transient
from tests.fast_forward import fast_forward


def fail(error: Exception, made: int = 0) -> list[int]:
    """Raise the error in each attempt, and return the attempts' numbers once it is given up."""
    tried = []
    try:
        for attempt in attempts("index.write", is_transient, Backoff(0.001), made):
            with attempt:
                tried.append(attempt.number)
                raise error
    except type(error):
        return tried
    pytest.fail("the last attempt did not raise its error")


def test_each_failure_is_one_line_without_the_errors_message() -> None:
    with capture_logs() as logs:
        assert fail(StorageUnavailableError("no route to /home/ann")) == [1, 2, 3]
    assert logs == [
        {
            "event": "attempt.failed",
            "log_level": "warning",
            "what": "index.write",
            "attempt": attempt,
            "of": 3,
            "type": "StorageUnavailableError",
        }
        for attempt in (1, 2, 3)
    ]


def test_an_attempt_that_a_caller_has_made_counts() -> None:
    assert fail(StorageUnavailableError("the engine is busy"), made=1) == [2, 3]


def test_a_permanent_failure_is_not_retried() -> None:
    with capture_logs() as logs:
        assert fail(DiskFullError("no space")) == [1]
    assert logs == []


@fast_forward
async def test_a_success_ends_the_attempts_and_the_second_wait_is_twice_the_first() -> None:
    now = asyncio.get_running_loop().time
    began, tried = now(), []
    async for attempt in attempts("index.write", is_transient, Backoff(10.0)):
        with attempt:
            tried.append(round(now() - began))
            if len(tried) < 3:
                raise StorageUnavailableError("the engine is busy")
    assert tried == [0, 10, 30]
    async for attempt in attempts("index.write", is_transient, Backoff(10.0)):
        with attempt:
            tried.append(round(now() - began))
    assert tried == [0, 10, 30, 30]


def test_pauses_grow_to_their_most_and_end() -> None:
    time = 100.0
    pauses = Backoff(1, factor=3, most=10, clock=lambda: time)
    assert pauses.left == 0
    assert [pauses.begin() for _ in range(4)] == [1, 3, 9, 10]
    time += 4
    assert pauses.left == 6
    assert pauses.begin(20) == pauses.left == 20
    pauses.end()
    assert pauses.left == 0
    assert pauses.begin() == 10
