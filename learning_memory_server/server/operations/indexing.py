"""The operations on the index: complete it, compare it with the journal, rebuild it, or move it to another engine."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field

from learning_memory_server.errors import EmbeddingUnavailableError, InvalidInputError, NoAnswerError
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import VectorStore
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.moving import IndexMove
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.backends import open_embedded, open_server
from learning_memory_server.server.composition.services import ALL_SHAPES, Services
from learning_memory_server.server.composition.statistics import journal_notices
from learning_memory_server.server.operations.report import Report
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import Budget

if TYPE_CHECKING:
    from learning_memory_server.index.engines.qdrant import QdrantStore

_AxisName = Annotated[str, Field(pattern=f"^({'|'.join(Axis)})$")]
_LOOK_SECONDS: Final = 0.2


async def complete(
    services: Services, report: Report, *, to_search: bool = False, within: float = math.inf
) -> dict[str, Any]:
    """Wait until the model is loaded and the whole journal is in the index.

    Once the model is loaded, this takes `within` seconds at most. With `to_search` it also waits for the re-ranking
    model. `notices` says what was repaired or is missing.
    """
    writer = services.writer
    report("Loading the embedding model")
    await services.index.open()
    catching_up = asyncio.create_task(writer.complete())
    until = time.monotonic() + within
    try:
        # The hub may already be catching up, so progress is measured by the number of missing points.
        total = 0
        while not (await asyncio.wait([catching_up], timeout=_LOOK_SECONDS))[0] and time.monotonic() < until:
            total = max(total, writer.pending)
            report("Indexing", total - writer.pending, total)
        if in_time := catching_up.done():
            await catching_up
    finally:
        catching_up.cancel()
    notices = list(services.index.notices)
    if not in_time:
        # Until the index was compared, the number is not known; none is not the answer.
        how_many = "" if writer.missing is None else f"; {writer.missing:,} of its vectors are missing"
        notices.append(f"The index is not complete yet{how_many}.")
    notices += journal_notices(services.journal, services.journal.known_damage)
    if to_search and services.reranking.depth:
        report("Loading the re-ranking model")
        try:
            await services.reranking.loaded()
        except EmbeddingUnavailableError as error:
            notices.append(f"{error.sentence} Results are not re-ranked.")
    points = sum((await services.index.counts()).values())
    return {"points": points, "notices": notices}


async def compare(services: Services, report: Report) -> dict[str, Any]:
    """Compare the index with the journal: the `points`, those `missing` and those `superfluous`.

    `model` is the reason why the loaded model cannot be used; refusals of a server are added.
    """
    report("Loading the embedding model")
    await services.index.open()
    missing = await services.writer.find_pending()
    return {
        "model": await _failure_of_model(services),
        "points": sum((await services.index.counts()).values()),
        "missing": missing,
        "superfluous": services.writer.reconciler.superfluous,
        "notices": services.index.notices,
        **(services.availability.refusal() if services.availability else {}),
    }


async def _failure_of_model(services: Services) -> str | None:
    """Try the model. One that a server runs may have gone, or changed, since it was loaded."""
    try:
        # As a document: queries are remembered.
        await services.embeddings.embed_documents(["anything"], Budget(model=timeouts.REQUEST))
    except EmbeddingUnavailableError as error:
        return error.in_doctor
    return None


async def reindex(services: Services, report: Report, *, axis: _AxisName | None) -> dict[str, Any]:
    """Rebuild the index, or one axis of it, or resume that; `points` counts those built and those kept."""
    report("Loading the embedding model")
    await services.index.open()
    collections = list(Collection) if axis is None else [Collection.of(Axis(axis))]
    points = await services.writer.rebuild(collections, lambda done, total: report("Rebuilding the index", done, total))
    return {"points": points, "notices": services.index.notices}


async def migrate(services: Services, report: Report, *, url: str, key: str | None, to_server: bool) -> dict[str, Any]:
    """Copy the index to a server or back, and add missing points; `collections` by name, see `index.moving.Moved`."""
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
    """Remove all of the owner's points from a server that is not in use, unless it is `gone`. May be resumed."""
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
        nodes, url = await server.catalog.nodes(), services.settings.qdrant_url
        # A node may be of the cluster in use, which may be set by the address of another.
        if nodes and url:
            async with _opened(services, url, services.settings.qdrant_key) as used:
                if nodes & await used.catalog.nodes():
                    raise _in_use()
        return await server.leave(tuple(Collection))
    except NoAnswerError as error:
        error.own_hint = "If that server no longer exists, add --gone: the journal then forgets that you were there."
        raise


@asynccontextmanager
async def _opened(services: Services, url: str, key: str | None) -> AsyncIterator[QdrantStore]:
    server = open_server(services.settings, url, key, before_use=services.note_server)
    try:
        yield server
    finally:
        await server.close()
