"""Building collections again from the journal: on demand, or because points are outdated."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import structlog

from learning_memory_server.index.document import Collection

if TYPE_CHECKING:
    from learning_memory_server.index.comparing import DocumentSource
    from learning_memory_server.index.document import Document
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.outdated import OutdatedPoints

log = structlog.get_logger()


class Renewal:
    """Rebuilds collections, one call after another.

    Args:
        index: The index.
        sources: Everything that belongs there.
        outdated: The points that must be rebuilt.
        reconcile: Compares index and journal, and writes what is missing.
    """

    def __init__(
        self,
        index: VectorIndex,
        sources: Sequence[DocumentSource],
        outdated: OutdatedPoints,
        reconcile: Callable[[], Awaitable[object]],
    ) -> None:
        self._index = index
        self._sources = sources
        self._outdated = outdated
        self._reconcile = reconcile
        self._turn = asyncio.Lock()

    async def rebuild(self, collections: Sequence[Collection], progress: Callable[[int, int], None]) -> int:
        """Rebuild collections from the journal; see `IndexWriter.rebuild`."""
        async with self._turn:
            return await self._rebuild(collections, progress)

    async def renew(self, progress: Callable[[int, int], None]) -> bool:
        """Rebuild the outdated points; see `IndexWriter.renew`. Return whether there were any."""
        if not self._outdated.ids():
            return False
        async with self._turn:
            outdated = self._outdated.ids()
            if not outdated:
                # Another call has done it.
                return False
            await self._index.remove(sorted(outdated))
            await self._reconcile()
            await self._rebuild(list(Collection), progress, outdated)
            self._outdated.discard(outdated)
        log.info("points.renewed", count=len(outdated))
        return True

    async def _rebuild(
        self,
        collections: Sequence[Collection],
        progress: Callable[[int, int], None],
        outdated: Container[str] | None = None,
    ) -> int:
        total = sum(1 for source in self._sources for d in source.documents() if d.collection in collections)
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            progress(done, max(done, total))

        for collection in collections:
            await self._index.rebuild(collection, partial(self._belonging, collection), advance, outdated)
            # Last-moment writes went into the collection that has been replaced.
            await self._reconcile()
        return done

    def _belonging(self, collection: Collection) -> Iterator[Document]:
        for source in self._sources:
            yield from (document for document in source.documents() if document.collection == collection)
