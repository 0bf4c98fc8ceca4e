"""Work that a caller waits for only so long, and that goes on without the caller."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Final

import structlog

from learning_memory_server.errors import EmbeddingUnavailableError, NoAnswerError, StorageUnavailableError
from learning_memory_server.system.waiting import REQUEST_SECONDS, each_request_within

_REQUEST_SHARE: Final = 0.9
"""The share of the wait that each request may take: the caller should learn who was late."""

_LATE: Final = "The index did not answer in time."

log = structlog.get_logger()


@asynccontextmanager
async def in_time(seconds: float | None) -> AsyncIterator[None]:
    """Limit how long a block waits for an index.

    Args:
        seconds: The most seconds; None for no limit.

    Raises:
        NoAnswerError: If the block takes longer.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise NoAnswerError(_LATE, hint="Call again in a few seconds.") from None


class Unfinished:
    """The work that is going on."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()

    async def finish(
        self, work: Coroutine[None, None, None], within: float, postponed: str, count: int
    ) -> bool:
        """Do some work, and return whether it succeeded in time. Late work goes on; a cancelled call cancels it.

        What it is done to is kept already, so not even an unexpected failure is the caller's.

        Args:
            work: The work. Each request that it makes has a little less time than the caller.
            within: The most seconds to wait.
            postponed: What the log says if it fails or is late.
            count: How many things it is done to, for the log.
        """
        failures: list[str] = []
        with each_request_within(_REQUEST_SHARE * within):
            task = asyncio.create_task(_collecting(work, failures))
        self._keep(task)
        try:
            await asyncio.wait([task], timeout=within)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if task.done() and (error := task.exception()):
            log.error(postponed, count=count, exc_info=error)
            return False
        if task.done() and not failures:
            return True
        log.warning(postponed, count=count, reason=next(iter(failures), _LATE))
        return False

    def start(self, work: Coroutine[None, None, None]) -> None:
        """Begin some work that nobody waits for."""
        with each_request_within(REQUEST_SECONDS):
            self._keep(asyncio.create_task(work))

    async def stop(self) -> None:
        """Cancel everything."""
        if tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _collecting(work: Coroutine[None, None, None], failures: list[str]) -> None:
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            await work
    except (StorageUnavailableError, EmbeddingUnavailableError) as error:
        failures.append(error.message)
    except TimeoutError:
        failures.append(_LATE)
