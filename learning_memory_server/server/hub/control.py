"""What a person's commands may ask of the hub, beside the tools that sessions call."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server import rendezvous
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.identity import session_hash
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.documents import documents_of
from learning_memory_server.observation.importing import parse_entries

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.errors import LearningMemoryError
    from learning_memory_server.server.services import Services

_SIGN_OF_LIFE: Final = 1.0
"""Seconds between two signs that the hub still works on a command."""


async def with_signs_of_life(
    work: Coroutine[Any, Any, dict[str, Any]], writer: asyncio.StreamWriter
) -> dict[str, Any]:
    """Do the work and return its reply; until then tell the other end now and then that nothing hangs.

    Raises:
        OSError: If the other end has left; the work is cancelled.
    """
    task = asyncio.create_task(work)
    try:
        while not (await asyncio.wait([task], timeout=_SIGN_OF_LIFE))[0]:
            writer.write(rendezvous.PONG)
            await writer.drain()
        return await task
    finally:
        task.cancel()


async def add_entries(services: Services, entries: object) -> dict[str, Any]:
    """Take resolved entries from elsewhere: all of them are in the journal when this returns, or none.

    Args:
        services: Where to.
        entries: A list of entries as the journal keeps them.

    Returns:
        `added`, the ids of those that were new, and `points`, how many points they have in the index: there
        already, or pending.

    Raises:
        InvalidInputError: If one of them is no resolved entry; then none is taken.
        JournalUnavailableError: If they cannot be written.
    """
    if not isinstance(entries, list):
        raise InvalidInputError("entries: must be a list.")
    parsed = [_entry(number, data) for number, data in enumerate(entries)]
    added = services.collector.add_resolved(parsed)
    documents = [document for entry in added for document in documents_of(entry)]
    if documents:
        # In one go, so that an engine that does not work costs three tries and not three for each entry.
        await services.writer.write(documents)
    return {"added": [entry.id for entry in added], "points": len(documents)}


async def complete_index(services: Services) -> dict[str, Any]:
    """Wait until the model is loaded and everything in the journal is in the index.

    Returns:
        `pending`, how many points are still missing, which is none unless others write meanwhile.

    Raises:
        EmbeddingUnavailableError: If there is no model.
        StorageUnavailableError: If the engine does not work.
    """
    await services.writer.settle()
    if services.writer.pending:
        await services.writer.catch_up()
    return {"pending": services.writer.pending}


async def describe(services: Services) -> dict[str, Any]:
    """Return what there is to say about the services: the model, the index and the journal."""
    return {
        "model": services.embeddings.state.value,
        "runtime": services.embeddings.runtime,
        "pending": services.writer.pending,
        "complete": services.writer.is_complete,
        "points": await services.index.counts() if services.index.is_open else None,
        "journal_bytes": services.journal.size(),
    }


def failure(error: LearningMemoryError) -> dict[str, Any]:
    """Return the reply to a command that failed."""
    return {"error": error.to_body()}


def _entry(number: int, data: object) -> Ghap:
    """Return the entry, after every check that a line of a file would get."""
    if not isinstance(data, dict) or not isinstance(data.get("id"), str):
        raise InvalidInputError(f"entries[{number}]: must be an object with an id.")
    try:
        line = JournalRecord("ghap", data["id"], utc_now(), data).to_line()
    except (ValueError, RecursionError):
        raise InvalidInputError(f"entries[{number}]: is not what a journal can keep.") from None
    parsed = parse_entries([line], project="", hash_session=session_hash)
    if parsed.rejections:
        raise InvalidInputError(f"entries[{number}]: {parsed.rejections[0].reason}")
    (entry,) = parsed.entries.values()
    return entry
