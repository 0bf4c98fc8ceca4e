"""The operation `migrate`: the index from the embedded engine to a Qdrant server, or back."""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.indexing.moving import IndexMove
from learning_memory_server.server.services import ALL_SHAPES, open_embedded, open_server

if TYPE_CHECKING:
    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.services import Services
    from learning_memory_server.storage.base import VectorStore


async def migrate(
    services: Services, report: Report, *, url: str, key: str | None, to_server: bool
) -> dict[str, Any]:
    """Fill one engine with what the other has, and with what the journal has besides.

    Args:
        services: Whose index.
        report: Is told how far it is.
        url: The Qdrant server.
        key: Its key.
        to_server: Whether the server is to be filled; else the embedded engine.

    Returns:
        `collections`, by name, see `indexing.moving.Moved`; and `notices`, what had to be done to the target.

    Raises:
        InvalidInputError: If the URL is none.
        EmbeddingUnavailableError: If there is no model.
        StorageUnavailableError: If an engine failed; the migration can be taken up again.
    """
    # A store takes `:memory:`, too, which nobody else could read.
    if not url.startswith(("http://", "https://")):
        raise InvalidInputError("The URL must begin with http:// or https://.")
    report("Loading the embedding model")
    identity = await services.index.identity()
    if services.settings.qdrant_url == url:
        return await move_between(services, report, None, to_server=to_server)
    server = open_server(services.settings, identity, url, key)
    try:
        return await move_between(services, report, server, to_server=to_server)
    finally:
        await server.close()


async def move_between(
    services: Services, report: Report, server: VectorStore | None, *, to_server: bool
) -> dict[str, Any]:
    """Fill a server from the embedded engine, or the other way round; see `migrate`.

    Args:
        services: Whose index.
        report: Is told how far it is.
        server: The server; None if it is what the services use themselves.
        to_server: Whether the server is to be filled.
    """
    index, settings = services.index, services.settings
    async with AsyncExitStack() as opened:
        server = server or await index.open()
        if settings.qdrant_url is None:
            embedded = await index.open()
        else:
            embedded = open_embedded(settings, await index.identity())
            opened.push_async_callback(embedded.close)
        source, target = (embedded, server) if to_server else (server, embedded)
        move = IndexMove(source, target, services.embeddings, ALL_SHAPES)
        moved = await move.run(
            lambda: (document for each in services.sources for document in each.documents()),
            lambda done, total: report("Moving the index", done, total),
        )
        if index.is_open and target is await index.open():
            # It has changed behind its own index' back: what was computed from it is out of date.
            await index.remove(())
    return {
        "collections": {name.value: asdict(each) for name, each in moved.items()},
        "notices": move.notices,
    }
