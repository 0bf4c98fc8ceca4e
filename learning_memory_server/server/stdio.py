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
from pydantic import ValidationError

from learning_memory_server.identity import caller_of
from learning_memory_server.server.app import build_server
from learning_memory_server.server.config import load_settings, unknown_variables
from learning_memory_server.server.frames import refusal
from learning_memory_server.server.logging import configure_logging
from learning_memory_server.server.services import open_services

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Iterator

    from anyio.abc import ObjectSendStream
    from mcp.shared._stream_protocols import WriteStream

log = structlog.get_logger()


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
            tasks = [asyncio.create_task(services.writer.run_after(used))]
            readable, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
            tasks.append(asyncio.create_task(_refuse_unreadable(read, readable, write)))
            try:
                await server.run(messages, write, server.create_initialization_options())
            finally:
                for task in tasks:
                    task.cancel()


async def _refuse_unreadable(
    read: AsyncIterable[SessionMessage | Exception],
    readable: ObjectSendStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
) -> None:
    """Pass on what the transport could read, and answer what it could not."""
    async with readable:
        async for item in read:
            answer = refusal(_unread(item)) if isinstance(item, ValidationError) else None
            if answer is None:
                await readable.send(item)
            else:
                await write.send(answer)


def _unread(error: ValidationError) -> str:
    """Return the line that the transport could not read: it is what the error was about, whole or parsed."""
    given = error.errors(include_url=False)[0]["input"]
    try:
        return given if isinstance(given, str) else json.dumps(given, default=str)
    except (ValueError, RecursionError):
        return ""
