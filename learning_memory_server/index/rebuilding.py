"""Building collections again from the journal: on demand, or because points are outdated."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from learning_memory_server.index.document import Collection, Document
from learning_memory_server.system import files

if TYPE_CHECKING:
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.reconciling import DocumentSource, Reconciler

log = structlog.get_logger()


class OutdatedPoints:
    """The ids of points that must be rebuilt because their records were rewritten.

    They are in a file that outlasts the process, and exists only while there are such points.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def ids(self) -> frozenset[str]:
        """Return the ids."""
        try:
            return frozenset(map(str, json.loads(self._path.read_bytes())))
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError, TypeError) as error:
            log.warning("outdated.unreadable", type=type(error).__name__)
            return frozenset()

    def add(self, ids: Iterable[str]) -> None:
        """Add ids, and wait for the disk."""
        if new := self.ids().union(ids):
            files.replace(self._path, json.dumps(sorted(new)).encode())

    def discard(self, ids: AbstractSet[str]) -> None:
        """Remove ids whose points have been rebuilt."""
        if left := self.ids() - ids:
            files.replace(self._path, json.dumps(sorted(left)).encode())
        else:
            files.remove(self._path)


@dataclass
class Rebuilder:
    """Rebuilds collections, one call after another."""

    index: VectorIndex
    sources: Sequence[DocumentSource]  # everything that belongs there
    outdated: OutdatedPoints
    reconciler: Reconciler
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def rebuild(self, collections: Sequence[Collection], progress: Callable[[int, int], None]) -> int:
        """Rebuild collections from the journal; see `IndexWriter.rebuild`."""
        async with self._one_at_a_time:
            return await self._rebuild(collections, progress)

    async def renew(self, progress: Callable[[int, int], None]) -> bool:
        """Rebuild the outdated points; see `IndexWriter.renew`. Return whether there were any."""
        if not self.outdated.ids():
            return False
        async with self._one_at_a_time:
            outdated = self.outdated.ids()
            if not outdated:
                # Another call has done it.
                return False
            await self.index.remove(sorted(outdated))
            await self.reconciler.reconcile()
            await self._rebuild(list(Collection), progress, outdated)
            self.outdated.discard(outdated)
        log.info("points.renewed", count=len(outdated))
        return True

    async def _rebuild(
        self,
        collections: Sequence[Collection],
        progress: Callable[[int, int], None],
        outdated: Container[str] | None = None,
    ) -> int:
        await self.index.open()
        total = sum(1 for source in self.sources for d in source.documents() if d.collection in collections)
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            progress(done, max(done, total))

        for collection in collections:
            with self.reconciler.rebuilding():
                await self.index.rebuild(collection, partial(self._belonging, collection), advance, outdated)
            # Last-moment writes went into the collection that has been replaced.
            await self.reconciler.reconcile()
        return done

    def _belonging(self, collection: Collection) -> Iterator[Document]:
        for source in self.sources:
            yield from (document for document in source.documents() if document.collection == collection)
