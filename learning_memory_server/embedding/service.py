"""The embedding model as the services see it: loaded in the background, used from one thread."""

from __future__ import annotations

import asyncio
import queue
from collections import OrderedDict, deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from learning_memory_server.embedding.lazy import LazyModel, ModelState
from learning_memory_server.errors import EmbeddingUnavailableError, LearningMemoryError
from learning_memory_server.waiting import is_waited_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity, Runtime

T = TypeVar("T")

_BATCH: Final = 8
"""The most documents a query may have to wait for. Larger batches are no faster on one thread."""
QUERIES_AT_ONCE: Final = 8
"""The most queries that are embedded at once. A server needs one request for them, and a local model is no slower."""
_QUERY_CHARACTERS: Final = 1_000
"""The most characters in a batch of queries, padding included, so that short queries do not wait for long ones: 250
tokens take 50 ms."""
_STUCK_AFTER: Final = 2.0
"""Seconds after which a run of the model counts as stuck, as on a server that does not answer. A batch of long
documents takes one second on a busy machine."""
_CACHED: Final = 256
"""How many query vectors are cached (0.4 MB at 384 dimensions)."""
_RETRY_SECONDS: Final = 30.0


class EmbeddingService:
    """Loads a model in its own thread and runs it there: queries first, documents in small batches.

    Args:
        load: Loads the model; see `LazyModel`.
        retry_seconds: The least time between a failure to load and the next attempt.
    """

    def __init__(self, load: Callable[[], Embedder], retry_seconds: float = _RETRY_SECONDS) -> None:
        # One thread: two runs at the same time are slower than one after the other.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        # The thread serves waiting queries before waiting documents.
        self._queries: deque[_Query] = deque()
        self._query_work: queue.SimpleQueue[_Job[Any]] = queue.SimpleQueue()
        self._documents: queue.SimpleQueue[_Job[Any]] = queue.SimpleQueue()
        self._model = LazyModel("embedding model", load, self._thread.submit, retry_seconds)
        self._cached: OrderedDict[tuple[EmbeddingIdentity, str], NDArray[np.float32]] = OrderedDict()
        self._running_since: float | None = None

    @property
    def state(self) -> ModelState:
        """Whether the model can be used."""
        return self._model.state

    @property
    def runtime(self) -> Runtime | None:
        """What computes the vectors; None until the model is loaded."""
        return self.start().result().runtime if self.state is ModelState.READY else None

    def start(self) -> Future[Embedder]:
        """Start loading unless the model is loaded, is loading, or failed recently. Returns at once."""
        return self._model.start()

    async def identity(self) -> EmbeddingIdentity:
        """Wait for the model and return its identity: only vectors of the same identity are comparable.

        Raises:
            EmbeddingUnavailableError: If it cannot be loaded.
        """
        return (await self._model.get()).identity

    async def embed_documents(self, texts: Sequence[str], within: float | None = None) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension), once the model is loaded.

        Where a caller waits (see `waiting`), this fails at once while the model is stuck.

        Args:
            texts: The documents.
            within: The most seconds to wait; None for no limit.

        Raises:
            EmbeddingUnavailableError: If the model cannot be loaded, fails, or does not answer in time.
        """
        if is_waited_for() and self._is_stuck():
            raise _late()
        async with _in_time(within):
            if len(texts) <= _BATCH:
                return await self._run(self._documents, _documents(texts))
            import numpy as np  # noqa: PLC0415 - deferred: slow import

            dimension = (await self.identity()).dimension
            vectors = np.empty((len(texts), dimension), dtype=np.float32)
            # A batch is padded to its longest text, so texts of similar length go together.
            order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
            for start in range(0, len(order), _BATCH):
                rows = order[start : start + _BATCH]
                # One batch at a time, so that a cancelled call leaves nothing in the queue.
                vectors[rows] = await self._run(self._documents, _documents([texts[row] for row in rows]))
        return vectors

    async def embed_query(self, text: str, within: float | None = None) -> NDArray[np.float32]:
        """Return an array of shape (dimension,), once the model is loaded. It is read-only.

        Queries that wait at the same time are embedded as one batch. The last few hundred are cached, so that a
        repeated query, or its next page, costs nothing.

        Args:
            text: The query.
            within: The most seconds to wait; None for no limit. With a limit, this fails at once if the model is stuck.

        Raises:
            EmbeddingUnavailableError: If the model cannot be loaded, fails, or does not answer in time.
        """
        async with _in_time(within):
            key = (await self.identity(), text)
            if key in self._cached:
                self._cached.move_to_end(key)
                return self._cached[key]
            if within is not None and self._is_stuck():
                raise _late()
            vector = await self._embed_query(text)
        # Later callers get this same array from the cache.
        vector.flags.writeable = False
        self._cached[key] = vector
        if len(self._cached) > _CACHED:
            self._cached.popitem(last=False)
        return vector

    def close(self) -> None:
        """Cancel what is waiting and accept no more work. Does not wait for what is running."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        while (job := self._take()) is not None:
            job.result.cancel()
        with suppress(IndexError):
            while True:
                self._queries.popleft().result.cancel()

    async def run_for_query(self, work: Callable[[], T]) -> T:
        """Run another model's work for a query in this model's thread, ahead of queued documents."""
        return await self._submit(self._query_work, work)

    async def _run(self, waiting: queue.SimpleQueue[_Job[Any]], work: Callable[[Embedder], T]) -> T:
        model = await self._model.get()
        with self._model.errors("failed"):
            return await self._submit(waiting, lambda: work(model))

    async def _submit(self, waiting: queue.SimpleQueue[_Job[Any]], work: Callable[[], T]) -> T:
        job = _Job(work)
        waiting.put(job)
        # One turn for each job, but a turn takes whatever is first by then.
        self._thread.submit(self._take_turn)
        return await asyncio.wrap_future(job.result)

    async def _embed_query(self, text: str) -> NDArray[np.float32]:
        query = _Query(await self._model.get(), text)
        self._queries.append(query)
        with self._model.errors("failed"):
            self._thread.submit(self._take_turn)
            return await asyncio.wrap_future(query.result)

    def _is_stuck(self) -> bool:
        since = self._running_since
        return since is not None and monotonic() - since > _STUCK_AFTER

    def _take_turn(self) -> None:
        self._running_since = monotonic()
        try:
            if queries := self._take_queries():
                _answer(queries)
            elif job := self._take():
                job.run()
        finally:
            self._running_since = None

    def _take_queries(self) -> list[_Query]:
        """Return the next batch of queries."""
        batch: list[_Query] = []
        longest = 0
        # The queue may be empty, and `close` may take a query at the same time.
        with suppress(IndexError):
            while len(batch) < QUERIES_AT_ONCE:
                query = self._queries.popleft()
                longest = max(longest, len(query.text))
                if batch and longest * (len(batch) + 1) > _QUERY_CHARACTERS:
                    self._queries.appendleft(query)
                    break
                if query.result.set_running_or_notify_cancel():
                    batch.append(query)
        return batch

    def _take(self) -> _Job[Any] | None:
        for waiting in (self._query_work, self._documents):
            with suppress(queue.Empty):
                return waiting.get_nowait()
        return None


class _Query:
    """A query for the model's thread, and its vector."""

    def __init__(self, model: Embedder, text: str) -> None:
        self.model = model
        self.text = text
        self.result: Future[NDArray[np.float32]] = Future()


class _Job(Generic[T]):
    """Work for the model's thread, and its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.result: Future[T] = Future()

    def run(self) -> None:
        """Do the work, unless it was cancelled."""
        if not self.result.set_running_or_notify_cancel():
            return
        try:
            self.result.set_result(self._work())
        except BaseException as error:  # noqa: BLE001 - a caller waits, and a panic in a library is not an Exception
            self.result.set_exception(error)


def _documents(texts: Sequence[str]) -> Callable[[Embedder], NDArray[np.float32]]:
    return lambda model: model.embed_documents(texts)


def _answer(queries: Sequence[_Query]) -> None:
    """Embed the queries, and give each its vector or the failure."""
    try:
        vectors = queries[0].model.embed_queries([query.text for query in queries])
    except BaseException as error:  # noqa: BLE001 - callers wait, and a panic in a library is not an Exception
        if len(queries) > 1 and not isinstance(error, LearningMemoryError):
            # The model may have failed on one of the texts.
            for query in queries:
                _answer([query])
        else:
            for query in queries:
                query.result.set_exception(error)
    else:
        for query, vector in zip(queries, vectors, strict=True):
            # A copy, because a row keeps the whole batch in RAM.
            query.result.set_result(vector.copy())


@asynccontextmanager
async def _in_time(seconds: float | None) -> AsyncIterator[None]:
    """Limit how long the block waits for the model.

    Raises:
        EmbeddingUnavailableError: If it takes longer.
    """
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise _late() from None


def _late() -> EmbeddingUnavailableError:
    return EmbeddingUnavailableError(
        "The embedding model did not answer in time.", hint="Try again in a few seconds."
    )
