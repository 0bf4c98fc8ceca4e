"""Minutes of waiting in milliseconds."""

import asyncio
import os
import selectors
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import wraps
from io import FileIO
from typing import Any, Final, ParamSpec

_Fixtures = ParamSpec("_Fixtures")
_THREADS: Final = "/proc/self/task"
_TURN: Final = 1e-6
_AT_WORK: Final = {b"R", b"D"}


class _ImpatientSelector(selectors.SelectSelector):
    """Gives threads and sockets a moment, then pretends that the time asked for has passed.

    A thread that is at work, or waits for a processor, gets what it needs without any time passing: how much that is
    depends on the machine. A thread that waits for something else does not.

    While this thread looks at the others, it holds the interpreter's lock, and a thread at work may sleep until it gets
    that. Such a thread has run before, so what counts is also whether a thread has run during the moment.
    """

    patience = 0.05
    skipped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Each turn takes a moment: a wait that is too short to change a float would never be over.
        self.skipped += _TURN
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        before = _other_threads()
        ready = super().select(min(timeout, self.patience))
        if not ready and before == (after := _other_threads()) and _AT_WORK.isdisjoint(state for state, _ in after):
            self.skipped += timeout
        return ready


def _other_threads() -> list[tuple[bytes, bytes]]:
    """Return the state of each thread but this one, and how often and how long it has run; none without /proc.

    Each turn of a loop looks. `Path` would take longer than the system does.
    """
    found = []
    this = str(threading.get_native_id())
    with suppress(FileNotFoundError), os.scandir(_THREADS) as threads:
        for thread in threads:
            # A thread may end meanwhile.
            with suppress(OSError):
                if thread.name != this:
                    state = _read(f"{thread.path}/stat").rpartition(b")")[2].split()[0]
                    found.append((state, _read(f"{thread.path}/schedstat")))
    return found


def _read(path: str) -> bytes:
    with FileIO(path) as file:
        return file.readall()


class FastForwardLoop(asyncio.SelectorEventLoop):
    """An event loop that does not wait: when nothing else is to be done, its time jumps to the next timer.

    Its time is that of the waits alone. What is computed takes none, however slow the machine is.
    """

    def __init__(self) -> None:
        self._impatient = _ImpatientSelector()
        super().__init__(self._impatient)

    def time(self) -> float:
        return self._impatient.skipped

    def pass_time(self, seconds: float) -> None:
        """Let time pass in which the loop is busy, and notices nothing."""
        self._impatient.skipped += seconds


def fast_forward(test: Callable[_Fixtures, Coroutine[Any, Any, None]]) -> Callable[_Fixtures, None]:
    """Run a test on a `FastForwardLoop`: minutes of waiting take milliseconds."""

    @wraps(test)
    def run(*args: _Fixtures.args, **fixtures: _Fixtures.kwargs) -> None:
        with asyncio.Runner(loop_factory=FastForwardLoop) as runner:
            runner.run(test(*args, **fixtures))

    return run
