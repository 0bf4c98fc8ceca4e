"""Write to the index: one attempt while the caller waits, two in the background, then by catching up."""

import asyncio
from collections.abc import Callable, Container, Coroutine, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import structlog

from learning_memory_server.errors import (
    AWAY,
    EmbeddingUnavailableError,
    LearningMemoryError,
    LostPointsError,
    MissingCollectionError,
    NoAnswerError,
    StorageUnavailableError,
)
from learning_memory_server.index.document import Collection, Document
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.kept_files import OutdatedPoints
from learning_memory_server.index.reconciling import DocumentSource, Reconciler
from learning_memory_server.system import timeouts
from learning_memory_server.system.ram import trim_heap
from learning_memory_server.system.waiting import Backoff, Budget, attempts, is_transient, is_worth_repeating, loop_time

_QUIET: Final = 5.0  # Seconds without a write after which the engine is flushed
_LATE: Final = "The index did not answer in time."

log = structlog.get_logger()


class IndexWriter:
    """The only writer of the index. Raises `StorageUnavailableError` or `EmbeddingUnavailableError` in an outage."""

    def __init__(self, index: VectorIndex, sources: Sequence[DocumentSource], outdated: OutdatedPoints) -> None:
        self._index = index
        self._sources = sources
        self._outdated = outdated
        self._wake = asyncio.Event()
        self.reconciler = Reconciler(index, sources, self._wake)
        self._rebuilding = asyncio.Lock()
        self._checked = 0.0
        self._tried = asyncio.Event()
        self._has_returned = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_trying_again = False
        self._retry_seconds = timeouts.CATCH_UP_EVERY

    @property
    def pending(self) -> int:
        """The number of points known to be missing from the index."""
        return self.reconciler.pending

    @property
    def is_complete(self) -> bool:
        """Whether the index is known to contain everything in the journal."""
        return self.missing == 0

    @property
    def missing(self) -> int | None:
        """The number of points missing from the index; None if unknown."""
        return self.reconciler.pending if self.reconciler.is_known else None

    async def write(self, documents: Sequence[Document], seconds: float = timeouts.WRITE) -> bool:
        """Index the documents. Return whether they were written in time; if not, they stay pending."""
        # Pending until written, so that a cancelled call is completed later, too.
        self.reconciler.add(documents)
        return await self._finish(partial(self._try_write, documents), seconds, "documents.postponed", len(documents))

    async def remove(self, point_ids: Iterable[str], seconds: float = timeouts.WRITE) -> bool:
        """Remove points of deleted records. Return whether they are gone; if not, they are removed later."""
        points = set(point_ids)
        self.reconciler.remove(points)
        return await self._finish(self.reconciler.delete_pending, seconds, "removal.postponed", len(points))

    def server_returned(self) -> None:
        """Compare the index with the journal and write pending documents, after the server became available again."""
        self.reconciler.invalidate()
        self.model_returned()

    def model_returned(self) -> None:
        """Write pending documents, after the model's server became available again."""
        self._has_returned = True
        self._wake.set()

    def invalidate(self, error: LearningMemoryError) -> None:
        """Require a new comparison after certain errors, immediately if points were lost."""
        if isinstance(error, LostPointsError):
            self.reconciler.mark_lost()
            self._wake.set()
        elif isinstance(error, NoAnswerError):
            self.reconciler.invalidate()

    async def stop(self) -> None:
        """Cancel background tasks. Their documents stay pending."""
        if tasks := list(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def rebuild(self, collections: Sequence[Collection], progress: Callable[[int, int], None]) -> int:
        """Rebuild collections, or resume a rebuild. Return the number of points; `progress` gets done and total."""
        async with self._rebuilding:
            return await self._rebuild(collections, progress)

    async def renew(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> None:
        """Rebuild the outdated points, and copy all others to new files, as old files keep deleted texts."""
        if not self._outdated.ids():
            return
        async with self._rebuilding:
            # Another call may have done it.
            if outdated := self._outdated.ids():
                await self._index.remove(sorted(outdated))
                await self.reconciler.reconcile()
                await self._rebuild(list(Collection), progress, outdated)
                self._outdated.discard(outdated)
                log.info("points.renewed", count=len(outdated))

    async def _rebuild(
        self,
        collections: Sequence[Collection],
        progress: Callable[[int, int], None],
        outdated: Container[str] | None = None,
    ) -> int:
        await self._index.open()
        total = sum(1 for source in self._sources for d in source.documents() if d.collection in collections)
        done = 0

        def advance(count: int) -> None:
            nonlocal done
            done += count
            progress(done, max(done, total))

        for collection in collections:
            await self._index.rebuild(collection, partial(self._belonging, collection), advance, outdated)
            await self.reconciler.reconcile()  # Last-moment writes went into the collection that has been replaced
        self._wake.set()
        return done

    def _belonging(self, collection: Collection) -> Iterator[Document]:
        for source in self._sources:
            yield from (document for document in source.documents() if document.collection == collection)

    def postpone(self, documents: Iterable[Document]) -> None:
        """Leave documents that are in the journal to the background task."""
        self.reconciler.add(documents)
        self._wake.set()

    async def complete(self) -> None:
        """Find and write missing and outdated documents, without waiting for the background task."""
        try:
            await self._complete()
        except MissingCollectionError as error:
            await self._start_over(error)
            await self._complete()

    async def _complete(self) -> None:
        await self._index.open()
        if not self.reconciler.is_known:
            await self.find_pending()
        await self.reconciler.catch_up()
        self._tried.set()
        await self._index.refresh_baselines()
        await self.renew()
        if self.is_complete:
            await self._index.tidy(
                lambda collection: {each.point_id for each in self._belonging(Collection(collection))}
            )

    async def check(self) -> None:
        """Check periodically whether the index is intact. If not, the next `complete` compares it."""
        if not self.reconciler.is_known or self._seconds_to_check() > 0:
            return
        try:
            is_intact = await self._index.is_intact()
        except MissingCollectionError as error:
            await self._start_over(error)
            return
        except LearningMemoryError:
            # Changes during the outage are found when it is back.
            self.reconciler.invalidate()
            raise
        if is_intact:
            self._checked = loop_time()
        else:
            log.warning("index.changed_behind")
            self.reconciler.invalidate()

    async def run(self, used: asyncio.Event | None = None) -> None:
        """Open the index once it is `used`, and keep it complete and flushed, until cancelled."""
        if used is not None:
            await used.wait()
        quiet = False
        while True:
            self._wake.clear()
            self._retry_seconds = timeouts.CATCH_UP_EVERY
            try:
                await self.check()
                await self.complete()
                if quiet and not self.reconciler.is_flushed:
                    # A flush blocks everything for up to half a second, so it waits until a burst of calls is over.
                    # Until then, the engine's log survives a crash, and the journal a power loss.
                    await self.reconciler.flush()
                    trim_heap()
            except LearningMemoryError as error:
                self._retry_seconds = error.retry_seconds or timeouts.CATCH_UP_EVERY
                log.warning("index.unavailable", reason=error.message, retry_seconds=self._retry_seconds)
            except Exception:
                # The top level: if this task ended, all documents would stay pending until the next start.
                log.exception("index.crashed")
            self._tried.set()
            quiet = await self._idle()

    async def settle(self, seconds: float = timeouts.SETTLE) -> None:
        """Wait until the index is open and, if there is time, has caught up for the first time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._index.with_budget(Budget(seconds)).open()
                await self._tried.wait()
        self._index.require_open()

    async def find_pending(self) -> int:
        """Compare the journal with the index and return the number of missing points."""
        await self.reconciler.compare()
        self._checked = loop_time()
        return self.pending

    async def _start_over(self, error: LearningMemoryError) -> None:
        """Close an engine that may have lost its files, so that it is opened again, and require a full comparison."""
        log.warning("index.lost", reason=error.message)
        self.reconciler.mark_lost()
        await self._index.discard()

    async def _finish(
        self, work: Callable[[Budget], Coroutine[None, None, None]], seconds: float, postponed: str, count: int
    ) -> bool:
        """Do some work, and return whether it succeeded in time. Late work continues unless the call is cancelled."""
        failures: list[str] = []
        task = self._start(_collecting(work(Budget(timeouts.REQUEST_SHARE * seconds)), failures))
        try:
            await asyncio.wait([task], timeout=seconds)
        except asyncio.CancelledError:
            task.cancel()
            raise
        finally:
            self._wake.set()
        if task.done() and (error := task.exception()):
            log.error(postponed, count=count, exc_info=error)
            return False
        if task.done() and not failures:
            return True
        log.warning(postponed, count=count, reason=next(iter(failures), _LATE))
        return False

    def _start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _try_write(self, documents: Sequence[Document], budget: Budget) -> None:
        """Make one attempt, and schedule two more if it fails."""
        try:
            await self.reconciler.write(documents, budget)
        except MissingCollectionError as error:
            self.invalidate(error)
            raise
        except StorageUnavailableError as error:
            if is_transient(error) and not self._is_trying_again:
                self._is_trying_again = True
                self._start(self._try_again(documents, error))
            raise

    async def _try_again(self, documents: Sequence[Document], first: StorageUnavailableError) -> None:
        """Make two more attempts, then open the engine again, unless it is unavailable or refuses requests."""
        try:
            async for attempt in attempts("documents", is_worth_repeating, Backoff(timeouts.WRITE_AGAIN), made=1):
                with attempt:
                    await self.reconciler.write(documents)
        except EmbeddingUnavailableError:
            pass
        except StorageUnavailableError as error:
            if is_worth_repeating(error):
                await self._start_over(first)
        finally:
            self._is_trying_again = False
            self._wake.set()

    async def _idle(self) -> bool:
        """Wait until there is new work or a retry is due. Return whether it was quiet until then."""
        unfinished = not self.is_complete or bool(
            self.reconciler.pending_deletes or self._outdated.ids() or self._index.scale.failure
        )
        waits = [self._retry_seconds] if unfinished else [] if self.reconciler.is_flushed else [_QUIET]
        if self.reconciler.is_known:
            waits.append(self._seconds_to_check())
        try:
            async with asyncio.timeout(min(waits, default=None)):
                await self._wake.wait()
        except TimeoutError:
            return True
        if self.pending and not self._has_returned:
            await asyncio.sleep(timeouts.WRITE_AGAIN)  # Pause after a failure
        self._has_returned = False
        return False

    def _seconds_to_check(self) -> float:
        return self._checked + timeouts.CHECK_EVERY - loop_time()


async def _collecting(work: Coroutine[None, None, None], failures: list[str]) -> None:
    try:
        async with asyncio.timeout(timeouts.REQUEST):
            await work
    except AWAY as error:
        failures.append(error.message)
    except TimeoutError:
        failures.append(_LATE)
