"""Writing to the index without losing anything, and without keeping anybody waiting.

A caller waits for one attempt, a second at most. Two more are made in the background; then what is written stays
pending until the writer catches up.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.errors import (
    EmbeddingUnavailableError,
    LearningMemoryError,
    LostPointsError,
    MissingCollectionError,
    NoAnswerError,
    StorageUnavailableError,
)
from learning_memory_server.index.backlog import Backlog
from learning_memory_server.index.comparing import compare
from learning_memory_server.index.completeness import Completeness
from learning_memory_server.index.in_time import Unfinished
from learning_memory_server.index.renewal import Renewal
from learning_memory_server.system.memory_release import trim_heap
from learning_memory_server.system.retry import is_transient
from learning_memory_server.system.waiting import WRITE_SECONDS, each_request_within

if TYPE_CHECKING:
    from learning_memory_server.index.comparing import DocumentSource
    from learning_memory_server.index.document import Collection, Document
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.outdated import OutdatedPoints

_PAUSES: Final = (1.0, 2.0)
"""Seconds before the second attempt, and before the third."""
_RETRY_EVERY: Final = 30.0
"""Seconds between attempts to catch up while something is pending."""
_QUIET: Final = 5.0
"""Seconds without a write after which the engine is flushed."""
SETTLE_WITHIN: Final = 7.0
"""Seconds that a caller waits for the index to open, and for the first catch-up."""

log = structlog.get_logger()


class IndexWriter:
    """The only way into the index. What it could not write is pending: in the journal and not in the index.

    Args:
        index: Where documents go.
        sources: Everything that belongs there; compared with the index to find what is pending.
        outdated: The points that must be rebuilt.
    """

    def __init__(
        self, index: VectorIndex, sources: Sequence[DocumentSource], outdated: OutdatedPoints
    ) -> None:
        self._index = index
        self._sources = sources
        self._outdated = outdated
        self._backlog = Backlog()
        self._completeness = Completeness(self._backlog)
        self._renewal = Renewal(index, sources, outdated, self._reconcile)
        self._wake = asyncio.Event()
        self._catching_up = asyncio.Lock()
        self._tried = asyncio.Event()
        self._unflushed = False
        self._has_returned = False
        self._unfinished = Unfinished()
        self._is_trying_again = False
        self._retry_seconds = _RETRY_EVERY

    @property
    def pending(self) -> int:
        """How many points are known to be missing from the index."""
        return self._backlog.pending

    @property
    def superfluous(self) -> int:
        """How many points the index had without a record in the journal, when the two were last compared."""
        return self._completeness.superfluous

    @property
    def is_complete(self) -> bool:
        """Whether the index is known to have everything that the journal has."""
        return self._completeness.is_complete

    def is_searchable(self, collection: Collection) -> bool:
        """Return whether a search can rely on a collection, although a few documents may be pending."""
        return collection in self._completeness.searchable

    @property
    def missing(self) -> int | None:
        """How many points are missing from the index; None while that is not known."""
        return self._completeness.missing

    async def write(self, documents: Sequence[Document], within: float = WRITE_SECONDS) -> bool:
        """Index the documents. Return whether they are in the index now.

        The caller waits for one attempt, and `within` seconds at most. Whatever fails or is late, the documents stay
        pending. Two more attempts are made in the background, one and two seconds apart. This never waits for a model
        that is still loading.
        """
        # Pending until written, so that catching up covers a cancelled call too.
        self._backlog.add(documents)
        return await self._in_time(self._try_write(documents), within, "documents.postponed", len(documents))

    async def remove(self, point_ids: Iterable[str], within: float = WRITE_SECONDS) -> bool:
        """Remove points of forgotten records. Return whether they are gone; if not, they are removed later."""
        doomed = set(point_ids)
        self._backlog.remove(doomed)
        return await self._in_time(self._remove_doomed(), within, "removal.postponed", len(doomed))

    def server_returned(self) -> None:
        """Compare the index with the journal and write what is pending: a server answers again."""
        self._completeness.doubt()
        self.model_returned()

    def model_returned(self) -> None:
        """Write what is pending: the server that runs the model answers again."""
        self._has_returned = True
        self._wake.set()

    def doubt(self, error: LearningMemoryError) -> None:
        """Doubt the index because of what a search, a write or a count has failed with.

        A server that did not answer is compared once it does, one that lost points now, and not searched until then.
        """
        if isinstance(error, LostPointsError):
            self._completeness.lose()
            self._wake.set()
        elif isinstance(error, NoAnswerError):
            self._completeness.doubt()

    async def stop(self) -> None:
        """Cancel what goes on in the background. It stays pending."""
        await self._unfinished.stop()

    async def rebuild(self, collections: Sequence[Collection], progress: Callable[[int, int], None]) -> int:
        """Rebuild collections from the journal. The present ones answer until then. Resumes an interrupted rebuild.

        Args:
            collections: The collections.
            progress: Called with the number of points done, and their total.

        Returns:
            How many points the collections have.

        Raises:
            StorageUnavailableError, EmbeddingUnavailableError: If that is not possible now.
        """
        done = await self._renewal.rebuild(collections, progress)
        self._after_rebuild()
        return done

    async def renew(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> None:
        """Rebuild the outdated points, and copy all others to new files: the engine's files keep what it deletes.

        The earlier texts leave the index first. The next `complete` does what fails or is interrupted.

        Args:
            progress: Called with the number of points done, and their total.

        Raises:
            StorageUnavailableError, EmbeddingUnavailableError: If that is not possible now.
        """
        if await self._renewal.renew(progress):
            self._after_rebuild()

    def postpone(self, documents: Iterable[Document]) -> None:
        """Leave documents that are in the journal to the background task."""
        self._backlog.add(documents)
        self._wake.set()

    async def complete(self) -> None:
        """Find what is missing or outdated and write it, without waiting for the background task.

        Raises:
            StorageUnavailableError, EmbeddingUnavailableError: If that is not possible now, or not for everything.
        """
        try:
            await self._complete()
        except MissingCollectionError as error:
            await self._start_over(error)
            await self._complete()

    async def _complete(self) -> None:
        await self._index.open()
        if not self._completeness.is_known:
            await self.find_pending()
        await self.catch_up()
        await self.renew()

    async def check(self) -> None:
        """Look, now and then, whether the index still has what it should; if not, the next `complete` compares it.

        Raises:
            StorageUnavailableError: If the engine failed; then the next `complete` compares it, too.
        """
        seconds = self._completeness.seconds_to_check
        if seconds is None or seconds > 0:
            return
        self._backlog.look_again(asyncio.get_running_loop().time())
        try:
            is_intact = await self._index.is_intact()
        except MissingCollectionError as error:
            await self._start_over(error)
            return
        except LearningMemoryError:
            # Whatever happens to it meanwhile is seen when it is back.
            self._completeness.doubt()
            raise
        if is_intact:
            self._completeness.found_intact()
        else:
            log.warning("index.changed_behind")
            self._completeness.doubt()

    async def run_after(self, used: asyncio.Event) -> None:
        """Wait for the first use, then `run`: an index that nobody uses stays closed."""
        await used.wait()
        await self.run()

    async def run(self) -> None:
        """Open the index and keep it complete and flushed, until cancelled. Retries after failures."""
        quiet = False
        while True:
            self._wake.clear()
            self._retry_seconds = _RETRY_EVERY
            try:
                await self.check()
                await self.complete()
                if quiet and self._unflushed:
                    # A flush blocks everything for up to half a second, so it waits until a burst of calls is over.
                    # Until then the engine's log survives a crash, and the journal a power loss.
                    await self._index.flush()
                    self._unflushed = False
                    trim_heap()
            except LearningMemoryError as error:
                self._retry_seconds = error.retry_seconds or _RETRY_EVERY
                log.warning("index.unavailable", reason=error.message, retry_seconds=self._retry_seconds)
            except Exception:
                # A top level: if this task ended, everything would stay pending until the next start.
                log.exception("index.crashed")
            self._tried.set()
            quiet = await self._idle()

    async def settle(self, within: float = SETTLE_WITHIN) -> None:
        """Wait, for a limited time, until the index is open and has caught up for the first time.

        Args:
            within: The most seconds to wait. An index that is open but has not caught up by then is good enough.

        Raises:
            EmbeddingUnavailableError: If there is no model, or it is still loading.
            StorageUnavailableError: If the engine cannot be opened, or not in time.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                with each_request_within(within):
                    await self._index.open()
                await self._tried.wait()
        self._index.require_open()

    async def catch_up(self) -> int:
        """Write what is pending at the start and return how many points were written.

        What becomes pending meanwhile may be left for the next time. Otherwise calls that never stop writing would keep
        the index from ever being complete.

        Raises:
            StorageUnavailableError, EmbeddingUnavailableError: If that is not possible now.
        """
        written = 0
        # One at a time: two would embed the same documents.
        async with self._catching_up:
            unremoved: StorageUnavailableError | None = None
            try:
                await self._remove_doomed()
            except StorageUnavailableError as error:
                # That alone may be forbidden.
                unremoved = error
            missing = frozenset(self._backlog.keys())
            while not missing.isdisjoint(self._backlog.keys()):
                for batch in self._backlog.batches():
                    await self._write(batch)
                    written += len(batch)
                if self.pending:
                    # After 1,000 texts, torch alone keeps 280 MB of freed RAM.
                    trim_heap()
            self._completeness.caught_up()
            self._tried.set()
            if written:
                log.info("index.caught_up", count=written)
            if unremoved:
                raise unremoved
            await self._remove_doomed()
        return written

    async def find_pending(self) -> int:
        """Compare the journal with the index and return how many points are missing."""
        found = await compare(self._index, self._sources, self._backlog)
        if self.pending and not self._completeness.is_known:
            log.info("index.incomplete", missing=self.pending)
        self._completeness.compared(found)
        return self.pending

    async def _reconcile(self) -> None:
        await self.find_pending()
        await self.catch_up()

    def _after_rebuild(self) -> None:
        self._unflushed = True
        self._wake.set()

    async def _start_over(self, error: LearningMemoryError) -> None:
        """Close an engine that may have lost its files, so that it is opened again, and compare everything."""
        log.warning("index.lost", reason=error.message)
        self._completeness.lose()
        await self._index.discard()

    async def _remove_doomed(self) -> None:
        if doomed := sorted(self._backlog.doomed):
            await self._index.remove(doomed)
            self._backlog.mark_removed(doomed, asyncio.get_running_loop().time())
            self._unflushed = True

    async def _write(self, documents: Sequence[Document]) -> None:
        try:
            await self._index.write(documents)
        except (NoAnswerError, asyncio.CancelledError):
            self._backlog.give_up(documents)
            raise
        self._backlog.mark_written(documents)
        if self._backlog.doomed:
            # Some of them may have been forgotten while they were being written.
            self._wake.set()
        self._unflushed = True

    async def _in_time(
        self, work: Coroutine[None, None, None], within: float, postponed: str, count: int
    ) -> bool:
        try:
            return await self._unfinished.finish(work, within, postponed, count)
        finally:
            self._wake.set()

    async def _try_write(self, documents: Sequence[Document]) -> None:
        """Make one attempt, and see to two more if it fails."""
        try:
            await self._write(documents)
        except MissingCollectionError as error:
            self.doubt(error)
            raise
        except StorageUnavailableError as error:
            if is_transient(error) and not self._is_trying_again:
                self._is_trying_again = True
                self._unfinished.start(self._try_again(documents, error))
            raise

    async def _try_again(self, documents: Sequence[Document], first: StorageUnavailableError) -> None:
        """Make two more attempts, then open the engine again; one that is away or refuses is not broken."""
        try:
            for pause in _PAUSES:
                await asyncio.sleep(pause)
                try:
                    await self._write(documents)
                except StorageUnavailableError as error:
                    if is_transient(error) and not isinstance(error, NoAnswerError):
                        continue
                except EmbeddingUnavailableError:
                    pass
                return
            await self._start_over(first)
        finally:
            self._is_trying_again = False
            self._wake.set()

    async def _idle(self) -> bool:
        """Wait until something is written or should be retried. Return whether it was quiet until then."""
        unfinished = not self.is_complete or bool(self._backlog.doomed or self._outdated.ids())
        waits = [self._retry_seconds] if unfinished else [_QUIET] if self._unflushed else []
        if (seconds := self._completeness.seconds_to_check) is not None:
            waits.append(seconds)
        try:
            async with asyncio.timeout(min(waits, default=None)):
                await self._wake.wait()
        except TimeoutError:
            return True
        if self.pending and not self._has_returned:
            # Pause after a failure.
            await asyncio.sleep(_PAUSES[0])
        self._has_returned = False
        return False
