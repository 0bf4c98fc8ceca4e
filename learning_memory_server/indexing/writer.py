"""Writing to the index so that nothing is lost: three tries, then pending, then caught up."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

import structlog

from learning_memory_server.errors import (
    EmbeddingUnavailableError,
    LearningMemoryError,
    StorageUnavailableError,
)
from learning_memory_server.heap import give_back
from learning_memory_server.indexing.backlog import Backlog
from learning_memory_server.indexing.document import in_batches
from learning_memory_server.retrying import attempts, is_transient

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from learning_memory_server.indexing.document import Collection, Document
    from learning_memory_server.indexing.index import VectorIndex

_HEAD_START: Final = 0.1
"""Seconds between the first use and the loading of the model."""
_FIRST_WAIT: Final = 1.0
"""Seconds; the next wait is twice as long."""
_COMPARED_AT_ONCE: Final = 64
"""Documents of the journal that are looked for in the index between two turns of other tasks."""
_RETRY_EVERY: Final = 30.0
"""Seconds between two tries to catch up while something is pending."""
_QUIET: Final = 5.0
"""Seconds without a write after which the engine is flushed."""
_SETTLE_WITHIN: Final = 10.0
"""Seconds that a caller waits for the first catching up."""

log = structlog.get_logger()


class DocumentSource(Protocol):
    """Something in the journal that belongs in the index."""

    def documents(self) -> Iterable[Document]:
        """Return the documents of everything that is kept."""
        ...

    def forgotten(self) -> Iterable[str]:
        """Return the point ids of everything that was kept and is forgotten."""
        ...


class IndexWriter:
    """The only way into the index. What it could not write is pending: in the journal, not in the index.

    Args:
        index: Where documents go.
        sources: Everything that belongs there; compared with the index to find what is pending.
    """

    def __init__(self, index: VectorIndex, sources: Sequence[DocumentSource]) -> None:
        self._index = index
        self._sources = sources
        self._backlog = Backlog()
        self._wake = asyncio.Event()
        self._catching_up = asyncio.Lock()
        self._rebuilding = asyncio.Lock()
        self._tried = asyncio.Event()
        self._complete = False
        self._compared = False
        self._superfluous = 0
        self._unflushed = False

    @property
    def pending(self) -> int:
        """How many points are known to be missing from the index."""
        return self._backlog.pending

    @property
    def superfluous(self) -> int:
        """How many points the index had beyond the journal when the two were last compared.

        They are left alone: a line of the journal that is damaged may have been theirs.
        """
        return self._superfluous

    @property
    def is_complete(self) -> bool:
        """Whether the index has held all of the journal since it was opened, so that a search can rely on it."""
        return self._complete

    @property
    def missing(self) -> int | None:
        """How many points are missing from the index; None until that is known."""
        return self.pending if self._compared else None

    async def write(self, documents: Sequence[Document]) -> bool:
        """Index the documents, and tell whether they are now in the index.

        The engine gets three tries, one and two seconds apart. A model that is still loading is not waited
        for. Whatever fails, the documents are pending and are written later.
        """
        # Pending until proven otherwise, so that a call that is cancelled half-way is caught up too.
        self._backlog.add(documents)
        try:
            await self._try_write(documents)
        except (StorageUnavailableError, EmbeddingUnavailableError) as error:
            log.warning("documents.postponed", count=len(documents), reason=error.message)
            if is_transient(error):
                await self._start_over()
            return False
        finally:
            self._wake.set()
        self._mark_written(documents)
        return True

    async def remove(self, point_ids: Iterable[str]) -> bool:
        """Remove the points of what is forgotten, and tell whether they are gone; if not, that is done later."""
        doomed = set(point_ids)
        self._backlog.remove(doomed)
        try:
            await self._remove_doomed()
        except (StorageUnavailableError, EmbeddingUnavailableError) as error:
            log.warning("removal.postponed", count=len(doomed), reason=error.message)
            return False
        finally:
            self._wake.set()
        return True

    async def rebuild(self, collections: Sequence[Collection], progress: Callable[[int, int], None]) -> int:
        """Make collections anew from the journal; the present ones answer until then. Can be taken up again.

        Args:
            collections: Which.
            progress: Is told how many points are done, and how many there are to do.

        Returns:
            How many points the collections have.

        Raises:
            StorageUnavailableError, EmbeddingUnavailableError: If that is not possible now.
        """
        total = sum(1 for source in self._sources for d in source.documents() if d.collection in collections)
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            progress(done, max(done, total))

        async with self._rebuilding:
            for collection in collections:
                await self._index.rebuild(collection, partial(self._belonging, collection), advance)
                # What was written in the last moment went into the collection that is gone.
                await self.find_pending()
                await self.catch_up()
        self._unflushed = True
        self._wake.set()
        return done

    def _belonging(self, collection: Collection) -> Iterator[Document]:
        for source in self._sources:
            yield from (document for document in source.documents() if document.collection == collection)

    def postpone(self, documents: Iterable[Document]) -> None:
        """Take documents that are in the journal, to be indexed in the background."""
        self._backlog.add(documents)
        self._wake.set()

    async def complete(self) -> None:
        """Find what is missing and write it, whatever the background does.

        Raises:
            StorageUnavailableError, EmbeddingUnavailableError: If that is not possible now.
        """
        await self._index.open()
        if not self._compared:
            await self.find_pending()
        await self.catch_up()

    async def run_after(self, used: asyncio.Event) -> None:
        """Begin once somebody uses the memory; see `run`.

        Importing the model holds the interpreter for seconds; the first client's first answers go first.
        """
        await used.wait()
        await asyncio.sleep(_HEAD_START)
        await self.run()

    async def run(self) -> None:
        """Open the index and keep it complete and flushed, until cancelled. Failures are tried again."""
        quiet = False
        while True:
            self._wake.clear()
            try:
                await self.complete()
                if quiet and self._unflushed:
                    # A flush stops everything for up to half a second, so it never comes between two calls of a
                    # burst. Until then the engine's log survives a crash, and the journal a power loss.
                    await self._index.flush()
                    self._unflushed = False
                    give_back()
            except LearningMemoryError as error:
                log.warning("index.unavailable", reason=error.message, retry_seconds=_RETRY_EVERY)
            self._tried.set()
            quiet = await self._idle()

    async def settle(self) -> None:
        """Wait for the index to be open and, for a while, for what was pending at the start.

        Raises:
            EmbeddingUnavailableError: If there is no model.
            StorageUnavailableError: If the engine cannot be opened.
        """
        await self._index.open()
        with suppress(TimeoutError):
            async with asyncio.timeout(_SETTLE_WITHIN):
                await self._tried.wait()

    async def catch_up(self) -> int:
        """Write what is pending and return how many points that were.

        Raises:
            StorageUnavailableError, EmbeddingUnavailableError: If that is not possible now.
        """
        written = 0
        # One at a time: two would embed the same documents twice.
        async with self._catching_up:
            await self._remove_doomed()
            while self.pending:
                for batch in self._backlog.batches():
                    await self._index.write(batch)
                    self._mark_written(batch)
                    written += len(batch)
                if self.pending:
                    # After 1,000 texts torch alone has left 280 MB that are free and not given back.
                    give_back()
            await self._remove_doomed()
        self._complete = self._complete or self._compared
        self._tried.set()
        if written:
            log.info("index.caught_up", count=written)
        return written

    async def find_pending(self) -> int:
        """Compare the journal with the index and return how many points are missing."""
        stored = await self._index.stored_ids()
        there = set().union(*stored.values())
        for source in self._sources:
            async for batch in in_batches(source.documents(), _COMPARED_AT_ONCE):
                for document in batch:
                    if document.point_id in stored[document.collection]:
                        stored[document.collection].remove(document.point_id)
                    else:
                        self._backlog.add([document])
            self._backlog.drop(set(source.forgotten()), there)
        self._superfluous = sum(len(ids - self._backlog.doomed) for ids in stored.values())
        if self.pending and not self._compared:
            log.info("index.incomplete", missing=self.pending)
        self._compared = True
        return self.pending

    async def _start_over(self) -> None:
        """Trust nothing of an engine that has failed three times, such as one whose files were deleted under it."""
        self._compared = self._complete = False
        await self._index.discard()

    async def _remove_doomed(self) -> None:
        doomed = sorted(self._backlog.doomed)
        if doomed:
            await self._index.remove(doomed)
            self._backlog.mark_removed(doomed)
            self._unflushed = True

    def _mark_written(self, documents: Sequence[Document]) -> None:
        self._backlog.mark_written(documents)
        if self._backlog.doomed:
            # Some of them may have been forgotten while they were on their way into the index.
            self._wake.set()
        self._unflushed = True

    async def _try_write(self, documents: Sequence[Document]) -> None:
        async for attempt in attempts(is_transient, _FIRST_WAIT):
            with attempt:
                await self._index.write(documents)

    async def _idle(self) -> bool:
        """Wait until something was written or is to be tried again, and tell whether it was quiet meanwhile."""
        unfinished = self.missing != 0
        try:
            async with asyncio.timeout(_RETRY_EVERY if unfinished else _QUIET if self._unflushed else None):
                await self._wake.wait()
        except TimeoutError:
            return True
        if self.pending:
            # What has just failed three times deserves a pause.
            await asyncio.sleep(_FIRST_WAIT)
        return False
