"""Deadlines, retries, circuit breakers and turns: what a call waits for. The seconds are in `timeouts`.

A circuit stands before a server. The first request without an answer opens it: from then on requests fail at once. A
probe repeats that kind of request in the background, and its success closes the circuit again. The library purgatory
has circuits too, but there a caller is the probe, and waits for it.

A model on a server is loaded in the background, for a minute at most. No tool waits for it longer than its own limit.

Calls that write take turns, in the order in which they were sent. Before it writes, a call may wait for a thread, a
model or a server. Without turns, the next one could overtake it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.errors import (
    DiskFullError,
    LearningMemoryError,
    LostPointsError,
    ModelServerAwayError,
    NoAnswerError,
    RefusedError,
    StorageUnavailableError,
    WrongDimensionError,
)
from learning_memory_server.system import timeouts

if TYPE_CHECKING:
    from stamina._core import _RetryContextIterator
    from stamina.instrumentation import RetryDetails


_end: ContextVar[Callable[[], None]] = ContextVar("end", default=lambda: None)


@asynccontextmanager
async def in_turn(order: asyncio.Lock | None) -> AsyncIterator[None]:
    """Wait for a turn, which ends with this block or `has_written`. Without a lock, nothing is waited for."""
    with ExitStack() as turn:
        if order:
            # Those who wait for a lock get it in the order in which they came.
            await order.acquire()
            turn.callback(order.release)
            _end.set(turn.close)
        yield


def has_written() -> None:
    """End the turn of the running call, if it has one: what it still does may take long."""
    _end.get()()


_ATTEMPTS: Final = 3

_patience: ContextVar[float | None] = ContextVar("patience", default=None)

log = structlog.get_logger()


@contextmanager
def each_request_within(seconds: float) -> Iterator[None]:
    """Limit how long each request that is made in this block, and in the tasks it starts, may take."""
    token = _patience.set(seconds)
    try:
        yield
    finally:
        _patience.reset(token)


def request_seconds(most: float) -> float:
    """Return how long a request may take here, and `most` where no caller waits."""
    patience = _patience.get()
    return most if patience is None else min(most, patience)


def is_waited_for() -> bool:
    """Return whether a caller waits for what is done here, for less time than the background has."""
    return request_seconds(timeouts.REQUEST) < timeouts.REQUEST


class Circuit:
    """Keeps requests of one kind from a server that does not answer, until it does.

    `on_closed` is called each time that the server has come back. The log calls it by its `name`.
    """

    def __init__(
        self, name: str, on_closed: Callable[[], None] = lambda: None, probe_seconds: float = timeouts.REACH
    ) -> None:
        self._name = name
        self._on_closed = on_closed
        self._probe_seconds = probe_seconds
        self._error: NoAnswerError | ModelServerAwayError | None = None
        self._probing: asyncio.Task[None] | None = None

    @property
    def is_open(self) -> bool:
        """Whether requests fail at once."""
        return self._error is not None

    def require_closed(self) -> None:
        """Raise the error with which this was opened, if it is open."""
        if self._error is not None:
            raise type(self._error)(self._error.message, hint=self._error.hint) from self._error

    async def require_closing(self, within: float) -> None:
        """Wait until this is closed, `within` seconds at most, then do what `require_closed` does."""
        if self._error is not None and self._probing is not None:
            await asyncio.wait([self._probing], timeout=within)
        self.require_closed()

    def open(self, error: NoAnswerError | ModelServerAwayError, probe: Callable[[], Awaitable[object]]) -> None:
        """Let requests fail with an error at once until a probe gets an answer. If it is open already, nothing changes.

        The probe makes a request of the kind that failed. It raises `NoAnswerError` or `ModelServerAwayError` if that
        fails too; any other error is an answer.
        """
        if self._error is not None:
            return
        self._error = error
        log.warning("circuit.opened", server=self._name)
        # Without the context of the call that happened to fail: its deadline, and its id in the log.
        self._probing = asyncio.create_task(self._probe(probe), context=Context())

    async def close(self) -> None:
        """Stop probing. Idempotent."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])
            self._error = None

    async def _probe(self, probe: Callable[[], Awaitable[object]]) -> None:
        now = asyncio.get_running_loop().time
        opened = now()
        try:
            await asyncio.sleep(timeouts.FIRST_PROBE)
            while not await _answers(probe, self._probe_seconds):
                passed = (now() - opened - timeouts.FIRST_PROBE) % timeouts.PROBE_EVERY
                await asyncio.sleep(timeouts.PROBE_EVERY - passed)
        finally:
            # Whatever ends the probes, a circuit without a probe must not stay open.
            self._error = None
        log.info("circuit.closed", server=self._name, seconds=round(now() - opened, 1))
        self._on_closed()


def is_own_delay(until: float) -> bool:
    """Return whether a deadline, in the loop's time, was noticed so late that this process must have been busy."""
    return asyncio.get_running_loop().time() - until > timeouts.BUSY


async def _answers(probe: Callable[[], Awaitable[object]], within: float) -> bool:
    try:
        async with asyncio.timeout(within):
            await probe()
    except (TimeoutError, NoAnswerError, ModelServerAwayError):
        return False
    except LearningMemoryError:
        # A refusal is an answer.
        return True
    return True


def attempts(
    what: str, on: Callable[[Exception], bool] | tuple[type[Exception], ...], first_wait: float
) -> _RetryContextIterator:
    """Return three attempts to loop over with `for` or `async for`; the last one raises its error.

    The second comes after `first_wait` seconds, and the third after twice as long. The log calls the work `what`.
    """
    import stamina

    # Instead of stamina's own log line, which quotes the error's message.
    stamina.instrumentation.set_on_retry_hooks([_log_retry])
    retries = stamina.retry_context(
        on=on, attempts=_ATTEMPTS, timeout=None, wait_initial=first_wait, wait_exp_base=2, wait_jitter=0
    )
    return retries.with_name(what, (), {})


def is_transient(error: Exception) -> bool:
    """Return whether the engine might succeed if the request were repeated."""
    permanent = isinstance(error, (DiskFullError, LostPointsError, RefusedError, WrongDimensionError))
    return isinstance(error, StorageUnavailableError) and not permanent


def _log_retry(details: RetryDetails) -> None:
    log.warning(
        "attempt.failed",
        what=details.name,
        attempt=details.retry_num,
        of=_ATTEMPTS,
        wait_seconds=round(details.wait_for, 3),
        type=type(details.caused_by).__name__,
    )
