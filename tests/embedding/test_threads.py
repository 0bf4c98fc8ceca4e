import threading
from collections.abc import Iterator

import pytest

from learning_memory_server.embedding.work_queue import DaemonThread, Job
from tests.support import MINUTES


class Hanging:
    """Work that begins, and waits to be released."""

    def __init__(self) -> None:
        self.began = threading.Semaphore(0)
        self.released = threading.Event()
        self.threads: list[threading.Thread] = []

    def __call__(self) -> str:
        self.threads.append(threading.current_thread())
        self.began.release()
        assert self.released.wait(60)
        return "done"


@pytest.fixture
def work() -> Iterator[Hanging]:
    hanging = Hanging()
    yield hanging
    hanging.released.set()


def test_work_is_done_in_turn_in_a_thread_that_does_not_keep_the_process_alive() -> None:
    thread, order = DaemonThread(), []
    results = [thread.submit(lambda number=number: order.append(number)) for number in range(50)]  # type: ignore[misc]
    for result in results:
        result.result(MINUTES)
    assert order == list(range(50))
    assert thread.submit(threading.current_thread).result(MINUTES).daemon


def test_what_hangs_is_left_and_comes_to_its_end(work: Hanging) -> None:
    thread = DaemonThread()
    hung = thread.submit(work)
    behind = thread.submit(lambda: "behind")
    assert work.began.acquire(timeout=MINUTES)
    assert not behind.done()

    thread.leave()

    assert behind.result(MINUTES) == "behind"
    assert not hung.done()
    work.released.set()
    assert hung.result(MINUTES) == "done"


def test_a_limited_number_of_threads_hangs(work: Hanging) -> None:
    thread = DaemonThread()
    results = [thread.submit(work) for _ in range(10)]
    for _ in range(4):
        assert work.began.acquire(timeout=MINUTES)
        thread.leave()
    assert not work.began.acquire(timeout=0.1)
    assert len(work.threads) == 4

    work.released.set()

    assert {result.result(MINUTES) for result in results} == {"done"}
    # Those that were left have ended, so others may be left again.
    for left in work.threads[:3]:
        left.join(MINUTES)
    again = Hanging()
    hung = thread.submit(again)
    assert again.began.acquire(timeout=MINUTES)
    thread.leave()
    assert thread.submit(lambda: "more").result(MINUTES) == "more"
    again.released.set()
    hung.result(MINUTES)


def test_a_thread_that_was_shut_down_accepts_nothing_and_cancels_what_waits(work: Hanging) -> None:
    thread = DaemonThread()
    running, waiting = thread.submit(work), thread.submit(lambda: "never")
    assert work.began.acquire(timeout=MINUTES)

    thread.shutdown(wait=False, cancel_futures=True)

    assert waiting.cancelled()
    with pytest.raises(RuntimeError):
        thread.submit(lambda: "never")
    work.released.set()
    assert running.result(MINUTES) == "done"


def test_the_first_of_two_runs_counts() -> None:
    answers = iter(["first", "second"])
    job = Job(lambda: next(answers))
    job.run()
    job.run()
    assert job.result.result(0) == "first"
    assert next(answers) == "second"


def test_nothing_is_run_that_nobody_wants_any_more() -> None:
    ran: list[str] = []
    job = Job(lambda: ran.append("ran"))
    job.result.cancel()
    job.run()
    assert ran == []
