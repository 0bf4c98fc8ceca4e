"""What a person's commands do with a memory, whoever holds it: the command itself, or the hub that it asks.

An operation is a coroutine function of the services, a `Report`, and JSON-like keyword arguments; its result is
JSON-like, too.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import TYPE_CHECKING, Any, Final, Protocol

from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.identity import session_hash
from learning_memory_server.indexing.document import Collection
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.documents import documents_of
from learning_memory_server.observation.importing import parse_entries
from learning_memory_server.server.app import TOOLS
from learning_memory_server.server.boundary import Boundary
from learning_memory_server.server.forget import forget
from learning_memory_server.server.migrating import migrate
from learning_memory_server.server.taking_in import add_open, add_records, apply_deletions

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.server.services import Services

    Operation = Callable[..., Awaitable[dict[str, Any]]]

_LOOK_SECONDS: Final = 0.2


class Report(Protocol):
    """Is told how an operation gets on."""

    def __call__(self, doing: str, done: int = 0, total: int = 0) -> None:
        """Take what it does, how far it is, and how far it has to go; 0 if that is not known."""


async def call(
    services: Services, _report: Report, *, tool: str, arguments: dict[str, Any], project: str, session: str
) -> dict[str, Any]:
    """Call a tool as an agent would and return its reply.

    Raises:
        LearningMemoryError: What the tool raises.
    """
    boundary = Boundary(TOOLS, services.injectable())
    return await boundary.run(tool, arguments, Caller(project, session))


async def add(services: Services, _report: Report, *, entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Take resolved entries from elsewhere: all of them are in the journal when this returns, or none.

    Args:
        services: Where to.
        entries: Entries as the journal keeps them.

    Returns:
        `added`, the ids of those that were new. They are indexed later.

    Raises:
        InvalidInputError: If one of them is no resolved entry; then none is taken.
        JournalUnavailableError: If they cannot be written.
    """
    if not isinstance(entries, list):
        raise InvalidInputError("entries: must be a list.")
    added = services.collector.add_resolved([_entry(number, data) for number, data in enumerate(entries)])
    services.writer.postpone([document for entry in added for document in documents_of(entry)])
    return {"added": [entry.id for entry in added]}


async def complete(services: Services, report: Report) -> dict[str, Any]:
    """Wait until the model is loaded and everything in the journal is in the index.

    Returns:
        `points`, how many there are in the index now, and `notices`, what had to be done to it.

    Raises:
        EmbeddingUnavailableError: If there is no model.
        StorageUnavailableError: If the engine does not work.
    """
    writer = services.writer
    report("Loading the embedding model")
    await services.index.open()
    catching_up = asyncio.create_task(writer.complete())
    try:
        # The hub may be catching up by itself already, so it is the number of missing points that tells.
        total = 0
        while not (await asyncio.wait([catching_up], timeout=_LOOK_SECONDS))[0]:
            total = max(total, writer.pending)
            report("Indexing", total - writer.pending, total)
        await catching_up
    finally:
        catching_up.cancel()
    points = sum((await services.index.counts()).values())
    return {"points": points, "notices": services.index.notices}


async def compare(services: Services, report: Report) -> dict[str, Any]:
    """Compare the index with the journal; nothing is written.

    Returns:
        `points`, how many there are in the index; `missing` and `superfluous`, how many it has too few and too many;
        and `notices`.

    Raises:
        EmbeddingUnavailableError: If there is no model.
        StorageUnavailableError: If the engine does not work.
    """
    report("Loading the embedding model")
    await services.index.open()
    missing = await services.writer.find_pending()
    return {
        "points": sum((await services.index.counts()).values()),
        "missing": missing,
        "superfluous": services.writer.superfluous,
        "notices": services.index.notices,
    }


async def reindex(services: Services, report: Report, *, axis: str | None) -> dict[str, Any]:
    """Make the index anew from the journal, all of it or one axis; the present one answers until then.

    Returns:
        `points`, how many were made or kept from an earlier try, and `notices`.

    Raises:
        EmbeddingUnavailableError, StorageUnavailableError: If that is not possible; it can be taken up again.
    """
    report("Loading the embedding model")
    await services.index.open()
    collections = list(Collection) if axis is None else [Collection.of(Axis(axis))]
    points = await services.writer.rebuild(
        collections, lambda done, total: report("Making the index anew", done, total)
    )
    return {"points": points, "notices": services.index.notices}


OPERATIONS: Final[dict[str, Operation]] = {
    operation.__name__: operation
    for operation in (
        add,
        add_open,
        add_records,
        apply_deletions,
        call,
        compare,
        complete,
        forget,
        migrate,
        reindex,
    )
}


async def operate(services: Services, report: Report, name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """Run an operation.

    Raises:
        InvalidInputError: If there is none of that name, or it takes other fields: the other end is of another
            version.
        LearningMemoryError: What the operation raises.
    """
    operation = OPERATIONS.get(name)
    if operation is None:
        raise InvalidInputError(f"There is no operation {name!r}; there are {', '.join(OPERATIONS)}.")
    try:
        inspect.signature(operation).bind(services, report, **fields)
    except TypeError as error:
        raise InvalidInputError(f"{name}: {error}.") from None
    return await operation(services, report, **fields)


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
