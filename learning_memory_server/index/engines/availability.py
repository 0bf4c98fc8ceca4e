"""The availability of a Qdrant server: a circuit breaker per address, and a pause after a refusal.

This module does not import the vendor's client, which takes a second. A hub uses it from its start, and
the client only when the index is opened.
"""

from collections.abc import Callable
from copy import copy
from functools import partial
from typing import Any

import structlog

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import Backoff, Circuit, loop_time

log = structlog.get_logger()


class Admission:
    """Decides whether requests of one kind are made.

    After a refusal, requests pause for the time that the server requested, otherwise for 1, 2, 4 and at most 60
    seconds.
    """

    def __init__(self, kind: str, on_returned: Callable[[], None]) -> None:
        self._kind = kind
        self._on_returned = on_returned
        self._circuits: dict[str, Circuit] = {}
        self._refusal: StorageUnavailableError | None = None
        self._pause = _pause()

    @property
    def is_open(self) -> bool:
        """Whether any circuit is open."""
        return any(circuit.is_open for circuit in self._circuits.values())

    @property
    def refusal(self) -> StorageUnavailableError | None:
        """The reason for the present pause, with the seconds left; None if there is no pause."""
        if self._refusal is None or not self._pause.left:
            return None
        again = copy(self._refusal)
        again.retry_seconds = self._pause.left
        return again

    def circuit(self, url: str) -> Circuit:
        """Return the circuit of an address."""
        if url not in self._circuits:
            name = f"qdrant: {self._kind} at {url.partition('//')[2]}"
            self._circuits[url] = Circuit(name, partial(self._closed, url))
        return self._circuits[url]

    def refused(self, error: StorageUnavailableError, seconds: float | None) -> None:
        """Start a pause, and set the remaining seconds of the error; `seconds` is the server's request, if any."""
        if self._pause.left:
            # The request was sent before the pause began.
            error.retry_seconds = self._pause.left
            return
        self._refusal = error
        error.retry_seconds = self._pause.begin(None if seconds is None else max(seconds, timeouts.QDRANT_PAUSE))
        log.warning("requests.paused", kind=self._kind, reason=error.message, seconds=error.retry_seconds)

    def answered(self) -> None:
        """Clear the refusal, so that the next pause is short again."""
        if self._refusal is not None:
            self._refusal, self._pause = None, _pause()

    async def close(self) -> None:
        """Stop probing. Idempotent."""
        for circuit in self._circuits.values():
            await circuit.close()

    def _closed(self, url: str) -> None:
        # If another address responded in the meantime, nothing was missed.
        if all(circuit.is_open for other, circuit in self._circuits.items() if other != url):
            self._on_returned()


class Availability:
    """The known state of a server. It outlives a store, which may be opened again.

    Reads and writes are separate: a server with a full disk or a read-only key still answers searches.

    Attributes:
        listeners: Called each time all requests of a kind work again.
    """

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.reads = Admission("reads", self._returned)
        self.writes = Admission("writes", self._returned)

    @property
    def is_open(self) -> bool:
        """Whether any circuit is open."""
        return self.reads.is_open or self.writes.is_open

    def refusal(self) -> dict[str, Any]:
        """Return the fields `refused`, a reason, and `retry_seconds`; empty if neither reads nor writes are refused."""
        refusals = [each for each in (self.reads.refusal, self.writes.refusal) if each]
        last = max(refusals, key=lambda each: each.retry_seconds or 0.0, default=None)
        return {} if last is None else {"refused": last.sentence, "retry_seconds": round(last.retry_seconds or 0.0)}

    async def close(self) -> None:
        """Stop probing. Idempotent."""
        await self.reads.close()
        await self.writes.close()

    def _returned(self) -> None:
        for listener in self.listeners:
            listener()


def _pause() -> Backoff:
    return Backoff(timeouts.QDRANT_PAUSE, most=timeouts.QDRANT_PAUSE_MAX, clock=loop_time)
