"""The lines of a front's connection, as its session reads and writes them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from learning_memory_server.system.ipc import discovery


@dataclass(slots=True)
class FrontLines:
    """Reads and writes lines, and handles the private ones, which are for the hub.

    `on_drain` is called when the front asks the hub to shut down, and returns whether it waits for that now.
    `asked_again` has the ids of requests that the front has sent before, to another hub.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    on_drain: Callable[[], bool]
    asked_again: set[object] = field(default_factory=set)

    async def read(self) -> bytes:
        """Return the next line for the server; empty if the front has nothing more to say."""
        while (line := await self.reader.readline()).startswith(discovery.PRIVATE):
            if line == discovery.DRAIN and self.on_drain():
                return b""
            await self._handle(line)
        return line

    async def write(self, line: bytes) -> None:
        """Write a line."""
        self.writer.write(line)
        await self.writer.drain()

    async def _handle(self, line: bytes) -> None:
        if line == discovery.PING:
            await self.write(discovery.PONG)
        else:
            with suppress(ValueError, KeyError, TypeError):
                self.asked_again.update(json.loads(line)["ids"])
