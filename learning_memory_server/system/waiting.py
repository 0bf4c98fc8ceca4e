"""Budgets of time, retries, circuit breakers and turns. The seconds are in `timeouts`.

A circuit stands before a server. The first request without an answer opens it: later ones fail immediately until a
probe in the background gets an answer. Calls that write take turns in the order in which they were sent.
"""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import Final, Self

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


def end_turn() -> None:
    """End the turn of the running call, if it has one: what it still does may take long."""
    _end.get()()


_ATTEMPTS: Final = 3

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Budget:
    """The seconds that a caller waits, handed down to the engine and the model; None for no limit."""

    request: float | None = None  # for each request to a server
    model: float | None = None  # for the vector of a text
    index: float | None = None  # for an index on a server, in all

    @classmethod
    def of_search(cls, seconds: float) -> Self:
        """Return the parts of a search's seconds. A request has less than the index: the log names the late one."""
        return cls(*(share * seconds for share in timeouts.SEARCH_SHARES))

    @property
    def is_waited_for(self) -> bool:
        """Whether a caller waits for the model or a request, not the background."""
        return self.request is not None or self.model is not None


BACKGROUND: Final = Budget()

_request_limit: ContextVar[float] = ContextVar("request_limit", default=math.inf)


@contextmanager
def limiting_requests(seconds: float | None) -> Iterator[None]:
    """Limit each request to a server that the block makes; None for the usual limits."""
    before = _request_limit.set(math.inf if seconds is None else seconds)
    try:
        yield
    finally:
        _request_limit.reset(before)


def request_limit() -> float:
    """Return the seconds that the caller gives each request to a server; infinite if it does not say."""
    return _request_limit.get()


@asynccontextmanager
async def limited(seconds: float | None, late: LearningMemoryError) -> AsyncIterator[None]:
    """Limit how long the block may take, and raise an error if it is `late`."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise late from None


class Circuit:
    """Keeps requests of one kind from a server that does not answer. `on_closed` is called when it has come back."""

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
        """Whether requests fail immediately."""
        return self._error is not None

    def require_closed(self) -> None:
        """Raise the error with which this was opened, if it is open."""
        if self._error is not None:
            raise type(self._error)(self._error.message, hint=self._error.hint) from self._error

    async def require_closing(self, seconds: float) -> None:
        """Wait until this is closed, some seconds at most, then do what `require_closed` does."""
        if self._error is not None and self._probing is not None:
            await asyncio.wait([self._probing], timeout=seconds)
        self.require_closed()

    def open(self, error: NoAnswerError | ModelServerAwayError, probe: Callable[[], Awaitable[object]]) -> None:
        """Let requests fail with this error until a probe gets an answer; an open circuit does not change.

        The probe makes a request of the same kind. `NoAnswerError` and `ModelServerAwayError` are no answer, other
        errors are.
        """
        if self._error is not None:
            return
        self._error = error
        log.warning("circuit.opened", server=self._name)
        # Without the context of the failed call: its id in the log.
        self._probing = asyncio.create_task(self._probe(probe), context=Context())

    async def close(self) -> None:
        """Stop probing. Idempotent."""
        if self._probing is not None:
            self._probing.cancel()
            await asyncio.wait([self._probing])
            self._error = None

    async def _probe(self, probe: Callable[[], Awaitable[object]]) -> None:
        opened, pauses = loop_time(), Backoff(timeouts.FIRST_PROBE, math.inf, timeouts.PROBE_EVERY)
        try:
            await asyncio.sleep(pauses.begin())
            while not await _answers(probe, self._probe_seconds):
                await asyncio.sleep(pauses.begin())
        finally:
            self._error = None  # Whatever ends the probes, a circuit without a probe must not stay open
        log.info("circuit.closed", server=self._name, seconds=round(loop_time() - opened, 1))
        self._on_closed()


def loop_time() -> float:
    """Return the time of the event loop, in seconds."""
    return asyncio.get_running_loop().time()


def is_own_delay(until: float) -> bool:
    """Return whether a deadline, in the loop's time, was noticed so late that this process must have been busy."""
    return loop_time() - until > timeouts.BUSY


async def _answers(probe: Callable[[], Awaitable[object]], seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await probe()
    except (TimeoutError, NoAnswerError, ModelServerAwayError):
        return False
    except LearningMemoryError:
        return True  # A refusal is an answer
    return True


@dataclass
class Backoff:
    """Growing pauses in seconds: `first`, then each `factor` times the last one, `most` at most."""

    first: float
    factor: float = 2.0
    most: float = math.inf
    clock: Callable[[], float] = time.monotonic
    seconds: float = field(default=0.0, init=False)  # the length of the last pause; 0 before the first
    _until: float = field(default=0.0, init=False)

    def begin(self, seconds: float | None = None) -> float:
        """Begin the next pause, or one of other `seconds`, and return its length."""
        grown = min(self.factor * self.seconds, self.most) if self.seconds else self.first
        self.seconds = grown if seconds is None else seconds
        self._until = self.clock() + self.seconds
        return self.seconds

    @property
    def left(self) -> float:
        """The seconds left of the pause; 0 if it is over."""
        return max(0.0, self._until - self.clock())

    def end(self) -> None:
        """End the pause; the length of the next one is not affected."""
        self._until = 0.0


@dataclass
class attempts:  # noqa: N801 - used like a function
    """Three attempts for `for` or `async for`, `made` of which were made before; the last one raises its error.

    Failures to be tried `on` are logged under `what` without their messages, which may quote anything.
    """

    what: str
    on: Callable[[Exception], bool]
    pauses: Backoff
    made: int = 0
    number: int = field(default=0, init=False)
    _has_failed: bool = field(default=True, init=False)

    def __iter__(self) -> Iterator[Self]:
        for pause in self._pauses():
            time.sleep(pause)
            yield self

    async def __aiter__(self) -> AsyncIterator[Self]:
        for pause in self._pauses():
            await asyncio.sleep(pause)
            yield self

    def _pauses(self) -> Iterator[float]:
        self.number = self.made
        while self._has_failed and self.number < _ATTEMPTS:
            self.number += 1
            yield self.pauses.begin() if self.number > 1 else 0.0

    def __enter__(self) -> None:
        self._has_failed = False

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> bool:
        if not isinstance(error, Exception) or not self.on(error):
            return False
        log.warning("attempt.failed", what=self.what, attempt=self.number, of=_ATTEMPTS, type=type(error).__name__)
        self._has_failed = self.number < _ATTEMPTS
        return self._has_failed


def is_transient(error: Exception) -> bool:
    """Return whether the engine might succeed if the request were repeated."""
    permanent = isinstance(error, (DiskFullError, LostPointsError, RefusedError, WrongDimensionError))
    return isinstance(error, StorageUnavailableError) and not permanent


def is_worth_repeating(error: Exception) -> bool:
    """Return whether the engine might succeed in a moment. A server that did not answer has a circuit before it."""
    return is_transient(error) and not isinstance(error, NoAnswerError)
