"""Threads that run what may hang: they do not keep the process alive, and can be left behind."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_MOST_LEFT: Final = 3
"""How many threads may be left behind at a time. Each ends with its request, after a minute at most."""


class Job(Generic[T]):
    """Work for a thread, and its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.result: Future[T] = Future()

    def run(self) -> None:
        """Do the work, unless its result is no longer wanted, or there already. The first of several runs counts."""
        if self.result.done():
            return
        # It may be cancelled, or done by another thread, meanwhile.
        with suppress(InvalidStateError):
            try:
                answer = self._work()
            except BaseException as error:  # noqa: BLE001 - a caller waits, and a panic in a library is not an Exception
                self.result.set_exception(error)
            else:
                self.result.set_result(answer)


class DaemonThread(Executor):
    """Runs one thing after another in a thread that does not keep the process alive.

    The thread ends when nothing is left to run.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Job[Any]] = deque()
        self._thread: threading.Thread | None = None
        self._left = 0
        self._is_shut = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function after everything that was submitted before, and return its future."""
        job = Job(partial(fn, *args, **kwargs))
        with self._lock:
            if self._is_shut:
                raise RuntimeError("The thread accepts no more work.")
            self._waiting.append(job)
            self._ensure_thread()
        return job.result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT - inherited
        """Accept no more work. Never waits for what runs."""
        with self._lock:
            self._is_shut = True
            while cancel_futures and self._waiting:
                self._waiting.popleft().result.cancel()

    def leave(self) -> None:
        """Let what runs now finish by itself, and continue in another thread, unless too many were left already."""
        with self._lock:
            if self._thread is not None and self._left < _MOST_LEFT:
                self._left += 1
                self._thread = None
                self._ensure_thread()

    def _ensure_thread(self) -> None:
        if self._waiting and self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._thread is not threading.current_thread():
                    self._left -= 1
                    return
                if not self._waiting:
                    self._thread = None
                    return
                job = self._waiting.popleft()
            job.run()


def in_daemon_thread(work: Callable[[], T]) -> Future[T]:
    """Run a function in a new thread, which does not keep the process alive."""
    return DaemonThread().submit(work)
