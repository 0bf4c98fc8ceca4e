"""The lines of a front's connection, as its session reads and writes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress

from learning_memory_server.system.ipc import discovery


class FrontLines:
    """Reads and writes lines, and handles the private ones, which are for the hub.

    `on_drain` is called when the front asks the hub to shut down, and returns whether it waits for that now.
    `asked_again` has the ids of requests that the front has sent before, to another hub.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, on_drain: Callable[[], bool]
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._on_drain = on_drain
        self.asked_again: set[object] = set()

    async def read(self) -> bytes:
        """Return the next line for the server; empty if the front has nothing more to say."""
        while (line := await self._reader.readline()).startswith(discovery.PRIVATE):
            if line == discovery.DRAIN and self._on_drain():
                return b""
            await self._handle(line)
        return line

    async def write(self, line: bytes) -> None:
        """Write a line."""
        self._writer.write(line)
        await self._writer.drain()

    async def _handle(self, line: bytes) -> None:
        if line == discovery.PING:
            await self.write(discovery.PONG)
        else:
            with suppress(ValueError, KeyError, TypeError):
                self.asked_again.update(json.loads(line)["ids"])
