"""The operations `migrate`, which copies the index to a Qdrant server or back, and `leave`, which leaves a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from learning_memory_server.errors import InvalidInputError, NoAnswerError
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import VectorStore
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.moving import IndexMove
from learning_memory_server.server.composition.backends import open_embedded, open_server
from learning_memory_server.server.composition.services import ALL_SHAPES, Services
from learning_memory_server.server.operations.report import Report

if TYPE_CHECKING:
    from learning_memory_server.index.engines.qdrant import QdrantStore


async def migrate(services: Services, report: Report, *, url: str, key: str | None, to_server: bool) -> dict[str, Any]:
    """Copy the index to a server or back, and add what the journal has and the index lacks.

    The reply has `collections` by name, see `index.moving.Moved`, and as `notices` what was repaired in the target. If
    an engine fails, the next call resumes.
    """
    # The client also accepts `:memory:`, which no other process could read.
    if not url.startswith(("http://", "https://")):
        raise InvalidInputError("The URL must begin with http:// or https://.")
    index, settings = services.index, services.settings
    report("Loading the embedding model")
    identity = await index.embeddings.identity()
    async with AsyncExitStack() as opened:
        # Of the two engines, the services' own is open already.
        server: VectorIndex | VectorStore = index
        if not services.servers.is_same(url, settings.qdrant_url):
            server = await opened.enter_async_context(_opened(services, url, key))
            for spec in () if to_server else await index.specs():
                await server.find(spec)
        embedded: VectorIndex | VectorStore = index
        if settings.qdrant_url is not None:
            embedded = open_embedded(settings, identity)
            opened.push_async_callback(embedded.close)
        source, target = (embedded, server) if to_server else (server, embedded)
        if not isinstance(target, VectorIndex):
            engine = target
            target = VectorIndex(services.embeddings, lambda _: engine, ALL_SHAPES)
        move = IndexMove(source, target, services.embeddings)
        moved = await move.run(
            lambda: (document for each in services.sources for document in each.documents()),
            lambda done, total: report("Moving the index", done, total),
        )
    return {"collections": {name.value: asdict(each) for name, each in moved.items()}, "notices": move.notices}


async def leave(services: Services, report: Report, *, url: str, key: str | None, gone: bool = False) -> dict[str, Any]:
    """Remove all of the owner's points from a server that is not in use, whatever model or version made them.

    A server that is `gone` is not asked. If it fails, the next call resumes.
    """
    if services.servers.is_same(url, services.settings.qdrant_url):
        raise _in_use()
    removed = 0
    if not gone:
        report("Removing your points from the server")
        async with _opened(services, url, key) as server:
            removed = await _leave(services, server)
    services.servers.leave(url, open_owner(services.settings.owner_file).name, services.clock())
    return {"removed": removed}


def _in_use() -> InvalidInputError:
    return InvalidInputError("This server is in use.", hint="Unset qdrant_url first, or set it to another server.")


async def _leave(services: Services, server: QdrantStore) -> int:
    try:
        nodes = await server.catalog.nodes()
        if nodes and await _is_in_use(services, nodes):
            raise _in_use()
        return await server.leave(tuple(Collection))
    except NoAnswerError as error:
        error.hint = "If that server no longer exists, add --gone: the journal then forgets that you were there."
        raise


async def _is_in_use(services: Services, nodes: frozenset[str]) -> bool:
    """Return whether one of the nodes is of the cluster in use, which may be set by the address of another."""
    if not (url := services.settings.qdrant_url):
        return False
    async with _opened(services, url, services.settings.qdrant_key) as used:
        return bool(nodes & await used.catalog.nodes())


@asynccontextmanager
async def _opened(services: Services, url: str, key: str | None) -> AsyncIterator[QdrantStore]:
    server = open_server(services.settings, url, key, before_use=services.note_server)
    try:
        yield server
    finally:
        await server.close()
