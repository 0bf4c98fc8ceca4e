"""Calls that write take turns, in the order in which they were sent.

Before it writes, a call may wait for a thread, a model or a server. Without turns, the next one could overtake it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from contextvars import ContextVar

_end: ContextVar[Callable[[], None]] = ContextVar("end", default=lambda: None)


class Turns:
    """The turns of one session."""

    def __init__(self) -> None:
        # It is given to those who wait for it in the order in which they came.
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def take(self, *, writes: bool) -> AsyncIterator[None]:
        """Wait for a turn, which ends with the block or `has_written`. A call that only reads needs none."""
        with ExitStack() as turn:
            if writes:
                await self._lock.acquire()
                turn.callback(self._lock.release)
                _end.set(turn.close)
            yield


def has_written() -> None:
    """End the turn of the running call, if it has one: what it still does may take long."""
    _end.get()()
