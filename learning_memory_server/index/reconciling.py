"""Makes the index have exactly what the journal says it should have.

The order of events does not matter: whatever is written, forgotten, late or interrupted, a comparison and a catch-up
bring the two together. See `kept_files.py` for what spares a start most of it.
"""

import asyncio
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Final, Protocol

import structlog

from learning_memory_server.errors import NoAnswerError, StorageUnavailableError
from learning_memory_server.index.document import DIGEST, Collection, Document, digest_of, in_batches
from learning_memory_server.index.engines.base import Payload
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.kept_files import Mark
from learning_memory_server.journal.journal import Position
from learning_memory_server.journal.log import Log
from learning_memory_server.system import files, timeouts
from learning_memory_server.system.ram import trim_heap
from learning_memory_server.version import VERSION

_COMPARED_AT_ONCE: Final = 64
"""How many documents are compared with the index before other tasks get to run."""
_LEAST_SHARE: Final = 0.5
"""The share of its documents that a collection has when searches begin to use it. One that has less is being built, and
ranking the journal by terms finds more."""
_ABSENT: Final = ""
_SORTED_AT_ONCE: Final = 64
"""How many pending documents are sorted by length at a time: a model pads a batch to its longest text."""
_STEP: Final = 8
"""How many documents are written at a time. That takes about a quarter of a second, so `pending` falls that often."""

log = structlog.get_logger()


class DocumentSource(Protocol):
    """A kind of record in the journal that belongs in the index."""

    log: Log  # where its records are

    def documents(self, only: AbstractSet[str] | None = None) -> Iterable[Document]:
        """Return the documents of all records, or only of those with the given ids."""

    def forgotten(self, only: Container[str] | None = None) -> Iterable[str]:
        """Return the point ids of all forgotten records, or only of those with the given ids."""

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
        self._pending: dict[tuple[str, str], Document] = {}
        # Never cleared: what is forgotten does not come back.
        self._removed: set[str] = set()
        self._landed = Counter[str]()
        self._given_up: set[str] = set()
        self._looked_at_again: dict[str, float] = {}
        self._is_invalid = False
        self._under_way = 0
        # How far the journal was read before the last comparison, and what that depends on; see `Mark`.
        self._compared: tuple[Position, str] | None = None
        self._catching_up = asyncio.Lock()

    @property
    def pending(self) -> int:
        """How many documents are still to be written."""
        return len(self._pending)

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents to write, replacing earlier versions of them."""
        self._pending.update(
            {_key(document): document for document in documents if document.point_id not in self._removed}
        )

    def remove(self, points: AbstractSet[str]) -> None:
        """Add points to remove, including any that are being written right now."""
        self._drop(points, points)

    async def reconcile(self) -> None:
        """Compare index and journal, and write what is missing."""
        await self.compare()
        await self.catch_up()

    async def compare(self) -> None:
        """Find what the index lacks, and what it has and should not have.

        The first time, only what is new since the mark is compared, if there is one that agrees.
        """
        self._is_invalid = False
        mark_file, position = self._index.mark_file, Position([source.log for source in self._sources])
        # Before anything is compared: a tokenizer that is found meanwhile divides memories in another way.
        made_by = " ".join([VERSION, *(getattr(source, "form", "") for source in self._sources)])
        is_enough = mark_file and self._compared is None and await self._compare_from(mark_file, position, made_by)
        if not is_enough:
            if mark_file:
                files.remove(mark_file)
                await asyncio.to_thread(position.advance)
            await self._compare_all()
        self._compared = position, made_by
        if self.pending and not self.is_known:
            log.info("index.incomplete", missing=self.pending)
        # What invalidated it may have happened behind what was compared already.
        self.is_known = not self._is_invalid
        # The next flush keeps a mark.
        self.is_flushed = False

    async def flush(self) -> None:
        """Make what was written survive a power loss, and keep a mark if the index has all that the journal has."""
        changes, compared, mark_file = self._index.changes, self._compared, self._index.mark_file
        mark = None
        if mark_file and compared:
            position, made_by = compared
            await self._compare_new(position)
            mark = Mark(made_by, position.marks(), await self._index.counts(), self.superfluous)
        await self._index.flush()
        self.is_flushed = changes == self._index.changes
        unfinished = self.pending or self.pending_deletes or self._under_way
        if mark_file and mark and self.is_known and self.is_flushed and not unfinished:
            mark.keep(mark_file)

    @contextmanager
    def rebuilding(self) -> Iterator[None]:
        """Keep no mark until the collection that a block rebuilds is compared."""
        if mark_file := self._index.mark_file:
            files.remove(mark_file)
        with self._changing():
            yield

    async def _compare_from(self, mark_file: Path, position: Position, made_by: str) -> bool:
        """Compare what is new since the mark, and return whether that is enough."""
        mark = Mark.read(mark_file)
        if mark is None or mark.made_by != made_by or not await asyncio.to_thread(position.resume, mark.journal):
            return False
        there, counts = await self._compare_new(position), await self._index.counts()
        if there is None or any(counts[each] != mark.counts.get(each, -1) + there[each] for each in Collection):
            return False
        missing = Counter(collection for collection, _ in self._pending)
        self.searchable |= {each for each in Collection if missing[each] <= counts[each]}
        self.superfluous = mark.superfluous
        return True

    async def _compare_new(self, position: Position) -> Counter[str] | None:
        """Compare what is new since a position, and return how many points of it are in each collection.

        None if something was forgotten: what is removed by now may have been counted before.
        """
        new, gone = set[str](), set[str]()
        for record in position.advance():
            (gone if record.is_tombstone else new).add(record.id)
        there = Counter[str]()
        for source in self._sources if new or gone else ():
            async for batch in in_batches(source.documents(new), _COMPARED_AT_ONCE):
                for collection in Collection:
                    documents = [each for each in batch if each.collection == collection]
                    stored = await self._stored(collection, [each.point_id for each in documents])
                    there[collection] += len(stored)
                    for document in documents:
                        self._add_unless_there(document, stored.get(document.point_id, _ABSENT))
            points = set(source.forgotten(gone))
            for collection in Collection if points else ():
                self._drop(points, (await self._stored(collection, sorted(points))).keys())
        return None if gone else there

    async def _compare_all(self) -> None:
        stored, former = await self._index.digests(), await self._index.former_ids()
        there = set().union(*stored.values())
        wanted, missing = Counter[str](), Counter[str]()
        for source in self._sources:
            async for batch in in_batches(source.documents(), _COMPARED_AT_ONCE):
                for document in batch:
                    wanted[document.collection] += 1
                    former[document.collection].discard(document.point_id)
                    digest = stored[document.collection].pop(document.point_id, _ABSENT)
                    missing[document.collection] += digest == _ABSENT
                    self._add_unless_there(document, digest)
            self._drop(set(source.forgotten()), there)
        # Other variants hold nothing that could be missed: texts are in the journal alone.
        self.pending_deletes.update(*former.values())
        superfluous = 0
        for collection, points_there in stored.items():
            # A record that was divided into other documents since then has no use for the earlier ones.
            points = await self._index.retrieve(collection, sorted(points_there.keys() - self.pending_deletes))
            stale = {point.id for point in points if any(source.knows(point.payload) for source in self._sources)}
            self.pending_deletes |= stale
            superfluous += len(points) - len(stale)
        self.superfluous = superfluous
        self.searchable |= {each for each in Collection if missing[each] <= (1 - _LEAST_SHARE) * wanted[each]}

    @contextmanager
    def _changing(self) -> Iterator[None]:
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    async def _stored(self, collection: str, ids: Sequence[str]) -> dict[str, str | None]:
        """Return the digests of the points that exist among `ids`."""
        records = await self._index.retrieve(collection, ids) if ids else []
        return {record.id: record.payload.get(DIGEST) for record in records}

    def _add_unless_there(self, document: Document, digest: str | None) -> None:
        """Add a document unless its point is there, with the given digest; earlier versions stored none."""
        if digest is not None and digest != digest_of(document):
            self.add([document])

    async def catch_up(self) -> int:
        """Write what is pending at the start and return how many points were written.

        What becomes pending meanwhile may be left for the next time. Otherwise calls that never stop writing would keep
        the index from ever being complete.
        """
        written = 0
        # One at a time: two would embed the same documents.
        async with self._catching_up:
            unremoved: StorageUnavailableError | None = None
            try:
                await self.delete_pending()
            except StorageUnavailableError as error:
                # That alone may be forbidden.
                unremoved = error
            missing = frozenset(self._pending)
            while not missing.isdisjoint(self._pending):
                for batch in self._batches():
                    await self.write(batch)
                    written += len(batch)
                if self.pending:
                    # After 1,000 texts, torch alone keeps 280 MB of freed RAM.
                    trim_heap()
            if self.is_known:
                self.searchable.update(Collection)
            if written:
                log.info("index.caught_up", count=written)
            if unremoved:
                raise unremoved
            await self.delete_pending()
        return written

    async def write(self, documents: Sequence[Document]) -> None:
        """Write some of the pending documents."""
        documents = [document for document in documents if document.point_id not in self._removed]
        try:
            with self._changing():
                await self._index.write(documents)
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
            if self._pending.get(_key(document)) is document:
                del self._pending[_key(document)]
        self.is_flushed = False

    async def delete_pending(self) -> None:
        """Remove the points that are to be removed."""
        if points := sorted(self.pending_deletes):
            landed = self._landed.copy()
            with self._changing():
                await self._index.remove(points)
            # Not those that were written while they were removed.
            self.pending_deletes.difference_update(each for each in points if self._landed[each] == landed[each])
            for point in self._given_up.intersection(points):
                self._looked_at_again[point] = asyncio.get_running_loop().time() + timeouts.ARRIVAL
                self._given_up.discard(point)
            self.is_flushed = False

    def invalidate(self) -> None:
        """Let everything be compared again: something may have happened to the index."""
        self.is_known = False
        self._is_invalid = True

    def lose(self) -> None:
        """Record that the index has lost points, perhaps all of them."""
        self.invalidate()
        self.searchable.clear()

    def look_again(self) -> None:
        """Let points be removed once more whose write was given up before their removal: it may have arrived since."""
        now = asyncio.get_running_loop().time()
        for point in [point for point, due in self._looked_at_again.items() if due <= now]:
            del self._looked_at_again[point]
            self.pending_deletes.add(point)

    def _batches(self) -> Iterator[list[Document]]:
        """Yield small batches of what has been pending longest, skipping what is no longer pending by then."""
        waiting = sorted(islice(self._pending.values(), _SORTED_AT_ONCE), key=lambda document: len(document.text))
        for start in range(0, len(waiting), _STEP):
            batch = [each for each in waiting[start : start + _STEP] if self._pending.get(_key(each)) is each]
            if batch:
                yield batch

    def _drop(self, forgotten: AbstractSet[str], stored: AbstractSet[str]) -> None:
        """Drop pending documents that are forgotten, and remove forgotten points that are stored."""
        self._removed |= forgotten
        self.pending_deletes |= forgotten & stored
        self._pending = {key: document for key, document in self._pending.items() if key[1] not in forgotten}


def _key(document: Document) -> tuple[str, str]:
    return document.collection, document.point_id
