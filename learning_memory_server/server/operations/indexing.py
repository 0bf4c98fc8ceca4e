"""The operations on the index: completed, compared with the journal, or made anew from it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.indexing.document import Collection

if TYPE_CHECKING:
    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.services import Services

_LOOK_SECONDS: Final = 0.2


async def complete(services: Services, report: Report, *, to_search: bool = False) -> dict[str, Any]:
    """Wait until the model is loaded and everything in the journal is in the index.

    Args:
        services: The memory.
        report: Is told how far it is.
        to_search: Wait for the re-ranking model too, if one is wanted.

    Returns:
        `points`, how many there are in the index now, and `notices`, what had to be done to it or is missing.

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
    notices = list(services.index.notices)
    if to_search:
        report("Loading the re-ranking model")
        try:
            await services.reranking.loaded()
        except EmbeddingUnavailableError as error:
            notices.append(f"{error.sentence} The results keep the order they had.")
    points = sum((await services.index.counts()).values())
    return {"points": points, "notices": notices}


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
