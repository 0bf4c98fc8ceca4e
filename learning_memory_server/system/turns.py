"""Calls that write take turns, in the order in which they were sent.

Before it writes, a call may wait for a thread, a model or a server. Without turns, the next one could overtake it.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from contextvars import ContextVar

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
