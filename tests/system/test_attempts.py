import pytest
import stamina
from structlog.testing import capture_logs

from learning_memory_server.errors import DiskFullError, StorageUnavailableError
from learning_memory_server.system.waiting import attempts, is_transient


def fail(error: Exception, first_wait: float = 0.01) -> list[int]:
    """Raise the error in each attempt, and return the attempts' numbers once it is given up."""
    tried = []
    try:
        for attempt in attempts("index.write", is_transient, first_wait):
            with attempt:
                tried.append(attempt.num)
                raise error
    except type(error):
        return tried
    pytest.fail("the last attempt did not raise its error")


def test_each_retry_is_one_line_without_the_errors_message() -> None:
    with capture_logs() as logs, stamina.set_testing(True, attempts=3):
        assert fail(StorageUnavailableError("no route to /home/ann")) == [1, 2, 3]
    assert logs == [
        {
            "event": "attempt.failed",
            "log_level": "warning",
            "what": "index.write",
            "attempt": attempt,
            "of": 3,
            "wait_seconds": 0.0,
            "type": "StorageUnavailableError",
        }
        for attempt in (1, 2)
    ]


def test_the_second_wait_is_twice_the_first() -> None:
    with capture_logs() as logs:
        fail(StorageUnavailableError("the engine is busy"), first_wait=0.01)
    assert [line["wait_seconds"] for line in logs] == [0.01, 0.02]


def test_a_permanent_failure_is_not_retried() -> None:
    with capture_logs() as logs:
        assert fail(DiskFullError("no space")) == [1]
    assert logs == []
