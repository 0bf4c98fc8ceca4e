"""What is known of a Qdrant server: its version, and what it does not do for now, in circuits and pauses.

A server that does not answer has a circuit before each of its addresses, for reads and writes apart. One that refuses
is left alone: for as long as it says, or else for 1, 2, 4 and at most 60 seconds. That holds for the kind of request
that it refuses, and for one collection if the refusal is about one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import structlog

from learning_memory_server.index.engines.qdrant_errors import Kind
from learning_memory_server.system.waiting import Circuit

if TYPE_CHECKING:
    from learning_memory_server.errors import StorageUnavailableError

_TRIED: Final = ("1.15.5", "1.18.3")
"""The versions of Qdrant that this program was tried with."""

_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 60.0

log = structlog.get_logger()


def product(version: str) -> str:
    """Name a version of Qdrant and, if this program was not tried with it, those with which it was."""
    tried = "" if version in _TRIED else f"; this was tried with {' and '.join(_TRIED)}"
    return f"Qdrant {version}{tried}"


class Circuits:
    """The circuits and pauses of a server. They outlast a store, which is opened again when the server is back.

    Attributes:
        listeners: Called each time that requests of a kind get answers again.
        pauses: The pauses.
        version: The server's version; None until it has been asked.
    """

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []
        self.pauses = Pauses()
        self.version: str | None = None
        self._circuits: dict[tuple[bool, str], Circuit] = {}

    def describe(self) -> dict[str, Any]:
        """Return the server's `version`, and whether it is one that was `tried`, if they are known, and `Pauses`."""
        known = {} if self.version is None else {"version": self.version, "tried": self.version in _TRIED}
        return known | self.pauses.describe()

    @property
    def is_open(self) -> bool:
        """Whether any of them is open."""
        return any(circuit.is_open for circuit in self._circuits.values())

    def of(self, kind: Kind, url: str) -> Circuit:
        """Return the circuit for a kind of request to an address, by its URL."""
        is_read = kind is Kind.READ
        key = (is_read, url)
        if key not in self._circuits:
            name = f"qdrant: {'reads' if is_read else 'writes'} at {url.partition('//')[2]}"
            self._circuits[key] = Circuit(name, lambda: self._closed(key))
        return self._circuits[key]

    async def close(self) -> None:
        """Stop probing. Idempotent."""
        for circuit in self._circuits.values():
            await circuit.close()

    def _closed(self, key: tuple[bool, str]) -> None:
        is_read, _ = key
        others = [
            circuit for other, circuit in self._circuits.items() if other != key and other[0] == is_read
        ]
        if all(circuit.is_open for circuit in others):
            # While another address answered, nothing was missed.
            for listener in self.listeners:
                listener()


class _Pause(NamedTuple):
    """Why requests are not made, until when in the loop's time, and how many seconds that is in all."""

    error: StorageUnavailableError
    until: float
    seconds: float


class Pauses:
    """Which requests a server has refused lately."""

    def __init__(self) -> None:
        self._of: dict[tuple[Kind, str | None], _Pause] = {}

    def describe(self) -> dict[str, Any]:
        """Return why reading or writing was `refused`, and the `retry_seconds` left; nothing if neither is."""
        pauses = [pause for (kind, _), pause in self._of.items() if kind is not Kind.CREATE]
        if not pauses:
            return {}
        last = max(pauses, key=lambda pause: pause.until)
        left = max(0, round(last.until - asyncio.get_running_loop().time()))
        return {"refused": last.error.sentence, "retry_seconds": left}

    def require_none(self, kind: Kind, collection: str) -> None:
        """Do nothing unless such requests were refused lately.

        Args:
            kind: The kind of request.
            collection: The collection's name on the server.

        Raises:
            StorageUnavailableError: The refusal, with the seconds that are left of the pause.
        """
        now = asyncio.get_running_loop().time()
        for key in ((kind, None), (kind, collection)):
            pause = self._of.get(key)
            if pause is not None and now < pause.until:
                again = copy(pause.error)
                again.retry_seconds = pause.until - now
                raise again from pause.error

    def begin(
        self, kind: Kind, collection: str | None, error: StorageUnavailableError, said: float | None
    ) -> None:
        """Begin a pause, and give the error its seconds.

        Args:
            kind: The kind of request that was refused.
            collection: The collection's name on the server; None if the refusal is about all.
            error: The refusal.
            said: The seconds after which the server says to come back, if it does.
        """
        now = asyncio.get_running_loop().time()
        last = self._of.get((kind, collection))
        if last is not None and now < last.until:
            # It was on its way when the pause began.
            error.retry_seconds = last.until - now
            return
        grown = min(2 * last.seconds, _LONGEST_PAUSE_SECONDS) if last else _FIRST_PAUSE_SECONDS
        seconds = grown if said is None else max(said, _FIRST_PAUSE_SECONDS)
        self._of[kind, collection] = _Pause(error, now + seconds, seconds)
        error.retry_seconds = seconds
        log.warning(
            "requests.paused", kind=kind.value, collection=collection, reason=error.message, seconds=seconds
        )

    def end(self, kind: Kind, collection: str) -> None:
        """Forget the pauses of such requests: one was done."""
        self._of.pop((kind, None), None)
        self._of.pop((kind, collection), None)
