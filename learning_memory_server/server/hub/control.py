"""The connection of a person's command: one operation, signs of life while it lasts, and its reply."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server import rendezvous
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.server.boundary import unforeseen

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.services import Services

log = structlog.get_logger()

_SIGN_OF_LIFE: Final = 1.0
"""Seconds between two signs that the hub still works on a command."""


async def answer(
    work: Callable[[Report], Awaitable[dict[str, Any]]], writer: asyncio.StreamWriter
) -> dict[str, Any]:
    """Do the work and return its reply, or its failure. Until then the other end is told how far it is.

    Raises:
        OSError: If the other end has left; the work is cancelled.
    """

    def report(doing: str, done: int = 0, total: int = 0) -> None:
        writer.write(rendezvous.progress(doing, done, total))

    task = asyncio.ensure_future(work(report))
    try:
        while not (await asyncio.wait([task], timeout=_SIGN_OF_LIFE))[0]:
            writer.write(rendezvous.PONG)
            await writer.drain()
        return await task
    except LearningMemoryError as error:
        return failure(error)
    except OSError:
        raise
    except Exception:
        log.exception("command.crashed")
        return failure(unforeseen())
    finally:
        task.cancel()


async def describe(services: Services) -> dict[str, Any]:
    """Return what there is to say about the services: the model, the index and the journal."""
    return {
        "model": services.embeddings.state.value,
        "runtime": services.embeddings.runtime,
        "pending": services.writer.missing,
        "complete": services.writer.is_complete,
        "points": await services.index.counts() if services.index.is_open else None,
        "journal_bytes": services.journal.size(),
    }


def failure(error: LearningMemoryError) -> dict[str, Any]:
    """Return the reply to a command that failed."""
    return {"error": error.to_body()}


async def send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    """Send a message."""
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()
