"""Synchronize the index with the journal, by comparing them and writing pending documents, in any order of events."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from itertools import islice
from typing import Final, Protocol

import structlog

from learning_memory_server.errors import JournalUnavailableError, StorageUnavailableError
from learning_memory_server.index.document import Collection, Document, Key, digest_of, in_batches, key_of
from learning_memory_server.index.engines.base import Payload
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.system.ram import trim_heap
from learning_memory_server.system.waiting import BACKGROUND, Budget

_COMPARED_AT_ONCE: Final = 64  # Documents to compare with the index before other tasks get to run
_LEAST_SHARE: Final = 0.5  # The minimum share of its documents for a collection to be searched instead of the journal
_SORTED_AT_ONCE: Final = 64  # Pending documents to sort by length: a model pads a batch to its longest text
_STEP: Final = 8  # Documents per write: about a quarter of a second, after which `pending` decreases

log = structlog.get_logger()


class DocumentSource(Protocol):
    """A kind of record in the journal that is indexed."""

    def documents(self) -> Iterable[Document]:
        """Return the documents of all records."""

    def forgotten(self) -> Iterable[str]:
        """Return the point ids of all deleted records."""

    def knows(self, payload: Payload) -> bool:
        """Whether a point refers to a record of this kind, existing or deleted."""


class Reconciler:
    """Tracks and performs pending writes and removals. `wake` is set if work is left for the background task."""

    def __init__(self, index: VectorIndex, sources: Sequence[DocumentSource], wake: asyncio.Event) -> None:
        self.is_known = False  # whether a comparison was made, and its result is still valid
        # The collections that searches use. Newly pending documents or an invalidated comparison do not change this:
        # a request shows whether the engine works.
        self.searchable: set[Collection] = set()
        # The number of points without a record in the last comparison. They are not removed, because their record may
        # be in a damaged line of the journal.
        self.superfluous = 0
        self.pending_deletes: set[str] = set()  # the ids of points to remove
        self.is_flushed = True  # whether there were no changes since the last flush
        self._index = index
        self._sources = sources
        self._wake = wake
        self._pending: dict[Key, Document] = {}
        # Never cleared: deleted records do not come back.
        self._removed: set[str] = set()
        self._is_invalid = False
        self._catching_up = asyncio.Lock()
        self._deleting = asyncio.Lock()

    @property
    def pending(self) -> int:
        """The number of documents to write."""
        return len(self._pending)

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents to write, replacing earlier versions."""
        self._pending.update(
            {key_of(document): document for document in documents if document.point_id not in self._removed}
        )

    def remove(self, points: AbstractSet[str]) -> None:
        """Add points to remove, including any that are being written."""
        self._drop(points, points)

    async def reconcile(self) -> None:
        """Compare index and journal, and write missing documents."""
        await self.compare()
        await self.catch_up()

    async def compare(self) -> None:
        """Find missing, outdated and superfluous points in the index."""
        self._is_invalid = False
        if len(self.searchable) < len(Collection):
            await self._count()
        stored = await self._index.digests()
        there = set().union(*stored.values())
        sources = self._readable()
        for source in sources:
            async for batch in in_batches(source.documents(), _COMPARED_AT_ONCE):
                for document in batch:
                    if stored[document.collection].pop(document.point_id, None) != digest_of(document):
                        self.add([document])
            self._drop(set(source.forgotten()), there)
        superfluous = 0
        for collection, points_there in stored.items():
            # The earlier documents of a record that is now divided differently are removed.
            points = await self._index.retrieve(collection, sorted(points_there.keys() - self.pending_deletes))
            stale = {point.id for point in points if any(source.knows(point.payload) for source in sources)}
            self.pending_deletes |= stale
            superfluous += len(points) - len(stale)
        self.superfluous = superfluous
        if self.pending and not self.is_known:
            log.info("index.incomplete", missing=self.pending)
        # What invalidated it may have happened behind what was compared already.
        self.is_known = not self._is_invalid and len(sources) == len(self._sources)

    async def _count(self) -> None:
        """Find the collections that searches can use. Comparing a large index would delay searches."""
        wanted = Counter[str]()
        for source in self._readable():
            async for batch in in_batches(source.documents(), _COMPARED_AT_ONCE):
                wanted.update(document.collection for document in batch)
        counts = await self._index.counts()
        self.searchable |= {each for each in Collection if counts[each] >= _LEAST_SHARE * wanted[each]}

    def _readable(self) -> list[DocumentSource]:
        """Return the sources whose records can be read; the points of the others stay as they are."""
        found = []
        for source in self._sources:
            try:
                any(source.forgotten())
            except JournalUnavailableError as error:
                log.warning("index.source_unreadable", reason=error.message)
            else:
                found.append(source)
        return found

    async def flush(self) -> None:
        """Make all writes survive a power loss."""
        changes = self._index.changes
        await self._index.flush()
        self.is_flushed = changes == self._index.changes

    async def catch_up(self) -> int:
        """Write the documents that are pending at the start, and return the number of written points."""
        written = 0
        # One at a time: two would embed the same documents.
        async with self._catching_up:
            unremoved: StorageUnavailableError | None = None
            try:
                await self.delete_pending()
            except StorageUnavailableError as error:
                unremoved = error  # Deletion alone may be forbidden
            missing = frozenset(self._pending)
            while not missing.isdisjoint(self._pending):
                for batch in self._batches():
                    await self.write(batch)
                    written += len(batch)
                if self.pending:
                    trim_heap()  # After 1,000 texts, torch alone holds 280 MB of freed RAM
            if self.is_known:
                self.searchable.update(Collection)
            if written:
                log.info("index.caught_up", count=written)
            if unremoved:
                raise unremoved
            await self.delete_pending()
        return written

    async def write(self, documents: Sequence[Document], budget: Budget = BACKGROUND) -> None:
        """Write some of the pending documents."""
        documents = [document for document in documents if document.point_id not in self._removed]
        try:
            await self._index.with_budget(budget).write(documents)
        finally:
            # Documents that were deleted during the write.
            if late := self._removed.intersection(document.point_id for document in documents):
                self.pending_deletes |= late
                self._wake.set()
        for document in documents:
            # A newer version may be pending by now.
            if self._pending.get(key_of(document)) is document:
                del self._pending[key_of(document)]
        self.is_flushed = False

    async def delete_pending(self, budget: Budget = BACKGROUND) -> None:
        """Remove the pending points."""
        # One at a time, so that a caller who waits knows that the points are gone.
        async with self._deleting:
            # A deleted point that is written in the meantime is added, and removed the next time.
            points, self.pending_deletes = self.pending_deletes, set()
            if not points:
                return
            try:
                await self._index.with_budget(budget).remove(sorted(points))
            except BaseException:
                self.pending_deletes |= points
                raise
            self.is_flushed = False

    def invalidate(self) -> None:
        """Require a new comparison, because the index may have changed."""
        self.is_known = False
        self._is_invalid = True

    def mark_lost(self) -> None:
        """Record that the index has lost points, perhaps all."""
        self.invalidate()
        self.searchable.clear()

    def _batches(self) -> Iterator[list[Document]]:
        """Yield small batches in the order of waiting, without documents that are no longer pending."""
        waiting = sorted(islice(self._pending.values(), _SORTED_AT_ONCE), key=lambda document: len(document.text))
        for start in range(0, len(waiting), _STEP):
            batch = [each for each in waiting[start : start + _STEP] if self._pending.get(key_of(each)) is each]
            if batch:
                yield batch

    def _drop(self, forgotten: AbstractSet[str], stored: AbstractSet[str]) -> None:
        """Drop pending documents of deleted records, and mark their stored points for removal."""
        self._removed |= forgotten
        self.pending_deletes |= forgotten & stored
        self._pending = {key: document for key, document in self._pending.items() if key[1] not in forgotten}
