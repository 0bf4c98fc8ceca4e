"""How one kind of request reaches a model: through a thread and, where a server runs the model, a circuit."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Executor
from contextlib import asynccontextmanager
from typing import Final

from learning_memory_server.embedding.threads import DaemonThread
from learning_memory_server.embedding.work_queue import Turns
from learning_memory_server.errors import EmbeddingUnavailableError, ModelServerAwayError
from learning_memory_server.system.waiting import (
    LOAD_SECONDS,
    REACH_SECONDS,
    REQUEST_SECONDS,
    Circuit,
    is_own_delay,
    is_waited_for,
    request_seconds,
)

_LATE: Final = "The embedding model did not answer in time."
_HINT: Final = "Try again in a few seconds."


class Lane:
    """The way to a model.

    Attributes:
        turns: Runs the model.

    Args:
        thread: Where to run it.
    """

    def __init__(self, thread: Executor) -> None:
        self.turns = Turns(thread)

    @asynccontextmanager
    async def in_time(self, within: float | None) -> AsyncIterator[None]:
        """Limit how long the block waits for the model.

        Args:
            within: The most seconds to wait; None for no limit.

        Raises:
            EmbeddingUnavailableError: If it takes longer.
        """
        try:
            async with asyncio.timeout(within):
                yield
        except TimeoutError:
            raise EmbeddingUnavailableError(_LATE, hint=_HINT) from None


class ServerLane(Lane):
    """The way to a model on a server, for one kind of request.

    A request always comes to its own end, only its caller leaves: Ollama aborts loading a model when the client that
    asked for it disconnects. If a request still hangs when the circuit closes, later ones do not wait for it.

    Args:
        kind: The kind of request, for the log.
        probe: Makes such a request; see `Circuit.open`.
        on_closed: Called each time that the server has come back.
    """

    def __init__(
        self, kind: str, probe: Callable[[], Awaitable[object]], on_closed: Callable[[], None] = lambda: None
    ) -> None:
        self._thread = DaemonThread()
        super().__init__(self._thread)
        self._probe = probe
        self._on_closed = on_closed
        self._circuit = Circuit(f"model: {kind}", self._closed, REACH_SECONDS + LOAD_SECONDS)

    @asynccontextmanager
    async def in_time(self, within: float | None) -> AsyncIterator[None]:
        """Limit how long the block waits for the model, and open the circuit if it does not answer.

        While the circuit is open, this fails at once where a caller waits. The background gives the server a moment.
        """
        until = None
        if within is not None or is_waited_for():
            self._circuit.require_closed()
            until = asyncio.get_running_loop().time() + request_seconds(
                LOAD_SECONDS if within is None else within
            )
        else:
            await self._circuit.require_closing(REQUEST_SECONDS)
        try:
            async with asyncio.timeout_at(until):
                yield
        except TimeoutError:
            if until is None or is_own_delay(until):
                raise EmbeddingUnavailableError(_LATE, hint=_HINT) from None
            late = ModelServerAwayError(_LATE, hint=_HINT)
            self._circuit.open(late, self._probe)
            raise late from None
        except ModelServerAwayError as error:
            self._circuit.open(error, self._probe)
            raise

    async def close(self) -> None:
        """Stop probing. Idempotent."""
        await self._circuit.close()

    def _closed(self) -> None:
        self._thread.leave()
        self.turns.repeat()
        self._on_closed()
