"""The server in one process: a client on stdin and stdout, and the data held alone."""

from __future__ import annotations

import asyncio
import json
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import anyio
import structlog
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError, JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic import ValidationError

from learning_memory_server.identity import caller_of
from learning_memory_server.server.app import build_server
from learning_memory_server.server.config import load_settings, unknown_variables
from learning_memory_server.server.frames import refusal
from learning_memory_server.server.logging import configure_logging
from learning_memory_server.server.services import open_services

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterator

    from anyio.abc import ObjectReceiveStream, ObjectSendStream
    from mcp.shared._stream_protocols import WriteStream

log = structlog.get_logger()

_LISTEN = "subscriptions/listen"
"""A request that is answered at the end."""
_GRACE_SECONDS = 1.0
"""How long the server goes on for calls that are open when the client closes its side: hosts soon end it by force."""


async def serve_stdio() -> None:
    """Serve one client on stdin and stdout until it leaves.

    Raises:
        LearningMemoryError: If the settings are wrong, or another process holds the journal.
    """
    settings = load_settings()
    configure_logging(settings.log_level)
    for sentence in unknown_variables(os.environ):
        log.warning("setting.unknown", message=sentence)
    caller = caller_of(os.environ, settings.project)
    used = asyncio.Event()
    async with open_services(settings, purpose="learning-memory-server on stdio") as services:

        @contextmanager
        def noticed() -> Iterator[None]:
            used.set()
            yield

        server = build_server(services.injectable(), caller, around_call=noticed)

        async with stdio_server() as (read, write):
            unanswered = Unanswered()
            readable, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
            answers, outgoing = anyio.create_memory_object_stream[SessionMessage]()
            writing = asyncio.create_task(_write(outgoing, write, unanswered))
            tasks = [
                writing,
                asyncio.create_task(services.writer.run_after(used)),
                asyncio.create_task(_read(read, readable, write, unanswered)),
            ]
            try:
                await server.run(messages, answers, server.create_initialization_options())
                await writing
            finally:
                for task in tasks:
                    task.cancel()


class Unanswered:
    """The client's requests that have no answer yet."""

    def __init__(self) -> None:
        self._open: set[int | str] = set()
        self._answered = asyncio.Event()

    def read(self, message: object) -> None:
        """Note what the client has sent."""
        if isinstance(message, JSONRPCRequest) and message.method != _LISTEN:
            self._open.add(message.id)
        elif isinstance(message, JSONRPCNotification) and message.method == "notifications/cancelled":
            self._close((message.params or {}).get("requestId"))

    def written(self, message: object) -> None:
        """Note what the client gets."""
        if isinstance(message, JSONRPCResponse | JSONRPCError):
            self._close(message.id)

    async def wait(self) -> None:
        """Wait until there are none."""
        while self._open:
            self._answered.clear()
            await self._answered.wait()

    def _close(self, identity: object) -> None:
        if isinstance(identity, int | str):
            self._open.discard(identity)
        self._answered.set()


async def _read(
    read: AsyncIterable[SessionMessage | Exception],
    readable: ObjectSendStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
    unanswered: Unanswered,
) -> None:
    """Pass on what the transport could read, and answer what it could not."""
    async with readable:
        async for item in read:
            answer = refusal(_unread(item)) if isinstance(item, ValidationError) else None
            if answer is not None:
                await write.send(answer)
                continue
            if isinstance(item, SessionMessage):
                unanswered.read(item.message)
            await readable.send(item)
        # The library interrupts what runs when there is nothing left to read.
        with anyio.move_on_after(_GRACE_SECONDS):
            await unanswered.wait()


async def _write(
    outgoing: ObjectReceiveStream[SessionMessage], write: WriteStream[SessionMessage], unanswered: Unanswered
) -> None:
    """Pass on what the client gets."""
    async with outgoing, write:
        async for item in outgoing:
            await write.send(item)
            unanswered.written(item.message)


def _unread(error: ValidationError) -> str:
    """Return the line that the transport could not read: it is what the error was about, whole or parsed."""
    given = error.errors(include_url=False)[0]["input"]
    try:
        return given if isinstance(given, str) else json.dumps(given, default=str)
    except (ValueError, RecursionError):
        return ""
