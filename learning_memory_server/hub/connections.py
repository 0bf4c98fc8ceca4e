"""The lines of a front's connection, and the connection of a command: its operation, signs of life, the reply."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import structlog

from learning_memory_server.errors import LearningMemoryError, StorageUnavailableError
from learning_memory_server.server.calls import unforeseen
from learning_memory_server.system import timeouts
from learning_memory_server.system.ipc import discovery
from learning_memory_server.system.waiting import each_request_within

if TYPE_CHECKING:
    from learning_memory_server.server.composition.services import Services
    from learning_memory_server.server.operations.report import Report

log = structlog.get_logger()


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


async def answer(
    work: Callable[[Report], Coroutine[Any, Any, dict[str, Any]]],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> dict[str, Any]:
    """Do the work, report its progress to the command, and return its reply or its failure.

    If the command leaves before that, the work is cancelled, and this raises `OSError`.
    """

    def report(doing: str, done: int = 0, total: int = 0) -> None:
        writer.write(discovery.progress(doing, done, total))

    task = asyncio.create_task(work(report))
    try:
        await _show_life(task, reader, writer)
    except OSError:
        log.info("command.withdrawn")
        raise
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    try:
        return task.result()
    except LearningMemoryError as error:
        return {"error": error.to_control_body()}
    except Exception:
        # The top level of every operation: the hub serves others, and the command shows only the sentence.
        log.exception("command.crashed")
        return {"error": unforeseen().to_control_body()}


async def _show_life(
    task: asyncio.Task[dict[str, Any]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Give signs of life until the task is done. Raise `OSError` if the command leaves before that."""
    # A command sends nothing else, so the next thing to read is its end.
    leaving = asyncio.create_task(reader.read())
    try:
        while True:
            await asyncio.wait([task, leaving], timeout=timeouts.SIGN_OF_LIFE, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return
            if leaving.done():
                leaving.result()
                raise ConnectionResetError
            writer.write(discovery.PONG)
            await writer.drain()
    finally:
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)


async def describe(services: Services) -> dict[str, Any]:
    """Return the state of the model, the index and the journal.

    `points` is None if the index is not open, or its server does not answer.
    """
    points = None
    if services.index.is_open:
        try:
            with each_request_within(timeouts.COUNT):
                points = await services.index.counts()
        except StorageUnavailableError as error:
            services.writer.invalidate(error)
    return {
        "model": services.embeddings.state.value,
        "runtime": services.embeddings.runtime,
        "unrelated": services.index.scale.known and services.index.scale.known.unrelated,
        "scale_failed": services.index.scale.failure,
        "pending": services.writer.missing,
        "complete": services.writer.is_complete,
        "points": points,
        **(services.availability.refusal() if services.availability else {}),
        "journal_bytes": services.journal.size(),
    }


async def send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    """Send a message."""
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()
