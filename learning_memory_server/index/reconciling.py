"""Synchronize the index with the journal, by comparison and catch-up in any order of events."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set as AbstractSet
from itertools import islice
from typing import Final, Protocol

import structlog

from learning_memory_server.errors import JournalUnavailableError, NoAnswerError, StorageUnavailableError
from learning_memory_server.index.document import Collection, Document, Key, digest_of, in_batches, key_of
from learning_memory_server.index.engines.base import Payload
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.system import timeouts
from learning_memory_server.system.ram import trim_heap
from learning_memory_server.system.waiting import BACKGROUND, Budget, loop_time

_COMPARED_AT_ONCE: Final = 64  # How many documents are compared with the index before other tasks get to run
_LEAST_SHARE: Final = 0.5  # The share of its documents from which a collection is searched instead of the journal
_SORTED_AT_ONCE: Final = 64  # Pending documents that are sorted by length: a model pads a batch to its longest text
_STEP: Final = 8  # Documents per write: about a quarter of a second, after which `pending` falls

log = structlog.get_logger()


class DocumentSource(Protocol):
    """A kind of record in the journal that belongs in the index."""

    def documents(self) -> Iterable[Document]:
        """Return the documents of all records."""

    def forgotten(self) -> Iterable[str]:
        """Return the point ids of all forgotten records."""

    def knows(self, payload: Payload) -> bool:
        """Return whether a point names a record of this kind that the journal has, or has forgotten."""


class Reconciler:
    """Knows what is to be written and removed, and does it. `wake` is set when something is left for the background."""

    def __init__(self, index: VectorIndex, sources: Sequence[DocumentSource], wake: asyncio.Event) -> None:
        self.is_known = False  # whether the two were compared, and nothing has invalidated the result
        # The collections that searches use. Documents that are pending since, or an invalidated comparison, do not
        # change that: whether the engine answers is seen by asking it.
        self.searchable: set[Collection] = set()
        # How many points belonged to no record at the last comparison. They are left alone: their record may be in a
        # damaged line of the journal.
        self.superfluous = 0
        self.pending_deletes: set[str] = set()  # the ids of the points still to be removed
        self.is_flushed = True  # whether nothing was changed since this was last set
        self._index = index
        self._sources = sources
        self._wake = wake
        self._pending: dict[Key, Document] = {}
        # Never cleared: what is forgotten does not come back.
        self._removed: set[str] = set()
        self._landed = Counter[str]()
        self._given_up: set[str] = set()
        self._looked_at_again: dict[str, float] = {}
        self._is_invalid = False
        self._catching_up = asyncio.Lock()

    @property
    def pending(self) -> int:
        """How many documents are still to be written."""
        return len(self._pending)

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents to write, replacing earlier versions."""
        self._pending.update(
            {key_of(document): document for document in documents if document.point_id not in self._removed}
        )

    def remove(self, points: AbstractSet[str]) -> None:
        """Add points to remove, including any that are being written right now."""
        self._drop(points, points)

    async def reconcile(self) -> None:
        """Compare index and journal, and write what is missing."""
        await self.compare()
        await self.catch_up()

    async def compare(self) -> None:
        """Find what the index lacks, and what it has and should not have."""
        self._is_invalid = False
        if len(self.searchable) < len(Collection):
            await self._count()
        stored, former = await self._index.digests(), await self._index.former_ids()
        there = set().union(*stored.values())
        sources = self._readable()
        for source in sources:
            async for batch in in_batches(source.documents(), _COMPARED_AT_ONCE):
                for document in batch:
                    former[document.collection].discard(document.point_id)
                    if stored[document.collection].pop(document.point_id, None) != digest_of(document):
                        self.add([document])
            self._drop(set(source.forgotten()), there)
        # Other variants hold nothing that could be missed: texts are in the journal alone.
        self.pending_deletes.update(*former.values())
        superfluous = 0
        for collection, points_there in stored.items():
            # A record that was divided into other documents since then has no use for the earlier ones.
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
        """Find the collections that searches can use. Comparing a large index would keep them waiting."""
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
        """Make what was written survive a power loss."""
        changes = self._index.changes
        await self._index.flush()
        self.is_flushed = changes == self._index.changes

    async def catch_up(self) -> int:
        """Write the documents that are pending at the start, and return how many points were written."""
        written = 0
        # One at a time: two would embed the same documents.
        async with self._catching_up:
            unremoved: StorageUnavailableError | None = None
            try:
                await self.delete_pending()
            except StorageUnavailableError as error:
                unremoved = error  # That alone may be forbidden
            missing = frozenset(self._pending)
            while not missing.isdisjoint(self._pending):
                for batch in self._batches():
                    await self.write(batch)
                    written += len(batch)
                if self.pending:
                    trim_heap()  # After 1,000 texts, torch alone keeps 280 MB of freed RAM
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
        except (NoAnswerError, asyncio.CancelledError):
            # What became of it is not known. It may even be done later.
            self._given_up.update(document.point_id for document in documents)
            raise
        finally:
            # What was forgotten while it was being written.
            if late := self._removed.intersection(document.point_id for document in documents):
                self._landed.update(late)
                self.pending_deletes |= late
                self._wake.set()
        for document in documents:
            # A newer version of it may be pending by now.
            if self._pending.get(key_of(document)) is document:
                del self._pending[key_of(document)]
        self.is_flushed = False

    async def delete_pending(self, budget: Budget = BACKGROUND) -> None:
        """Remove the points that are to be removed."""
        if points := sorted(self.pending_deletes):
            landed = self._landed.copy()
            await self._index.with_budget(budget).remove(points)
            # Not those that were written while they were removed.
            self.pending_deletes.difference_update(each for each in points if self._landed[each] == landed[each])
            for point in self._given_up.intersection(points):
                self._looked_at_again[point] = loop_time() + timeouts.ARRIVAL
                self._given_up.discard(point)
            self.is_flushed = False

    def invalidate(self) -> None:
        """Let everything be compared again: something may have happened to the index."""
        self.is_known = False
        self._is_invalid = True

    def mark_lost(self) -> None:
        """Record that the index has lost points, perhaps all."""
        self.invalidate()
        self.searchable.clear()

    def look_again(self) -> None:
        """Let points be removed once more whose write was given up before their removal: it may have arrived since."""
        now = loop_time()
        for point in [point for point, due in self._looked_at_again.items() if due <= now]:
            del self._looked_at_again[point]
            self.pending_deletes.add(point)

    def _batches(self) -> Iterator[list[Document]]:
        """Yield small batches in the order of waiting, skipping documents that are no longer pending by then."""
        waiting = sorted(islice(self._pending.values(), _SORTED_AT_ONCE), key=lambda document: len(document.text))
        for start in range(0, len(waiting), _STEP):
            batch = [each for each in waiting[start : start + _STEP] if self._pending.get(key_of(each)) is each]
            if batch:
                yield batch

    def _drop(self, forgotten: AbstractSet[str], stored: AbstractSet[str]) -> None:
        """Drop pending documents that are forgotten, and remove forgotten points that are stored."""
        self._removed |= forgotten
        self.pending_deletes |= forgotten & stored
        self._pending = {key: document for key, document in self._pending.items() if key[1] not in forgotten}
