"""One front's connection: its lines become messages for a server of its own, over the services that all share."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import CONNECTION_CLOSED, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from learning_memory_server import rendezvous
from learning_memory_server.server.frames import refusal

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from typing import Any

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
    from mcp.server import Server


class Session:
    """Serves one connection.

    Args:
        server: The server, with the caller's identity.
        reader: From the front.
        writer: To the front.
        on_drain: Called when the front asks the hub to make room.
        calls_ended: Waits until no call runs.
        asked_again: Takes the ids of requests that the front says to have sent before.
    """

    def __init__(  # noqa: PLR0913 - what a connection needs of the hub
        self,
        server: Server[dict[str, Any]],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        on_drain: Callable[[], None],
        calls_ended: Callable[[], Awaitable[object]],
        asked_again: set[object],
    ) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self._on_drain = on_drain
        self._calls_ended = calls_ended
        self._asked_again = asked_again
        self._stopping = False
        self._reading = anyio.CancelScope()

    async def run(self) -> None:
        """Serve until the front leaves, or until `stop_reading` and the last answer."""
        incoming, messages = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        answers, outgoing = anyio.create_memory_object_stream[SessionMessage](16)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, incoming, answers.clone())
            group.start_soon(self._write, outgoing)
            await self._server.run(messages, answers, self._server.create_initialization_options())
            # Ends the reading; the writing ends with the last answer.
            self._reading.cancel()

    def stop_reading(self) -> None:
        """Take no more messages and end once the running calls are; the front asks the next hub the others."""
        self._stopping = True
        self._reading.cancel()

    async def _read(
        self,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        async with incoming, answers:
            with self._reading, suppress(ConnectionError):
                while line := await self._reader.readline():
                    await self._pass_on(line, incoming, answers)
                    # It may have 64 MiB, and the next one may come in hours.
                    del line
            if self._stopping:
                # The library interrupts what runs when there is nothing left to read.
                await self._calls_ended()

    async def _pass_on(
        self,
        line: bytes,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[SessionMessage],
    ) -> None:
        if line.startswith(rendezvous.PRIVATE):
            await self._private(line)
            return
        try:
            message = jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValidationError as error:
            answer = refusal(line)
            if answer is not None:
                await answers.send(answer)
            else:
                await incoming.send(error)
        else:
            await incoming.send(SessionMessage(message))

    async def _private(self, line: bytes) -> None:
        if line == rendezvous.PING:
            self._writer.write(rendezvous.PONG)
            await self._writer.drain()
        elif line == rendezvous.DRAIN:
            self._on_drain()
        else:
            with suppress(ValueError, KeyError, TypeError):
                self._asked_again.update(json.loads(line)["ids"])

    async def _write(self, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        async with outgoing:
            with suppress(ConnectionError):
                async for item in outgoing:
                    if (
                        isinstance(item.message, JSONRPCError)
                        and item.message.error.code == CONNECTION_CLOSED
                    ):
                        # What the library interrupts when the reading ends, the front asks the next hub.
                        continue
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    self._writer.write(text.encode() + b"\n")
                    await self._writer.drain()
        # The front is gone, or everything is answered.
        self._reading.cancel()
