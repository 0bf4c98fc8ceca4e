"""Priority queue for model work: queries first, then other work for queries, then documents."""

import asyncio
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, InvalidStateError
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, ParamSpec, TypeVar

from learning_memory_server.embedding.base import Embedder, Vectors
from learning_memory_server.errors import LearningMemoryError

P = ParamSpec("P")
T = TypeVar("T")

_MOST_LEFT: Final = 3  # Maximum number of abandoned threads. Each ends with its request, after at most a minute


class Job(Generic[T]):
    """Work for a thread, with its result."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.result: Future[T] = Future()

    def run(self) -> None:
        """Do the work, unless its result is already set or no longer wanted. The first of several runs sets it."""
        if self.result.done():
            return
        # It may be cancelled, or finished by another thread, in the meantime.
        with suppress(InvalidStateError):
            try:
                answer = self._work()
            except BaseException as error:  # noqa: BLE001 - a caller waits, and a panic in a library is not an Exception
                self.result.set_exception(error)
            else:
                self.result.set_result(answer)


class DaemonThread(Executor):
    """Runs jobs one at a time in a daemon thread that ends when the queue is empty."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Job[Any]] = deque()
        self._thread: threading.Thread | None = None
        self._left = 0
        self._is_shut = False

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Run a function after all earlier ones, and return its future."""
        job = Job(partial(fn, *args, **kwargs))
        with self._lock:
            if self._is_shut:
                raise RuntimeError("The thread accepts no more work.")
            self._waiting.append(job)
            self._ensure_thread()
        return job.result

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: ARG002, FBT - inherited
        """Reject new work. Never waits for running work."""
        with self._lock:
            self._is_shut = True
            while cancel_futures and self._waiting:
                self._waiting.popleft().result.cancel()

    def leave(self) -> None:
        """Abandon the running job's thread and continue in a new one, unless too many threads were abandoned."""
        with self._lock:
            if self._thread is not None and self._left < _MOST_LEFT:
                self._left += 1
                self._thread = None
                self._ensure_thread()

    def _ensure_thread(self) -> None:
        if self._waiting and self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._thread is not threading.current_thread():
                    self._left -= 1
                    return
                if not self._waiting:
                    self._thread = None
                    return
                job = self._waiting.popleft()
            job.run()


def in_daemon_thread(work: Callable[[], T]) -> Future[T]:
    """Run a function in a new thread that does not keep the process alive."""
    return DaemonThread().submit(work)


QUERIES_AT_ONCE: Final = 8  # Maximum queries in a batch. A server needs one request for a batch
_QUERY_CHARACTERS: Final = 1_000  # Maximum characters in a batch of queries, including padding: about 50 ms


class _Query:
    """A query for the model's thread, its vector, and the number of waiting callers."""

    def __init__(self, model: Embedder, text: str) -> None:
        self.model = model
        self.text = text
        self.result: Future[Vectors] = Future()
        self.callers = 0


class WorkQueue:
    """Runs model work in a thread, one job at a time."""

    def __init__(self, thread: Executor) -> None:
        self._thread = thread
        self._queries: deque[_Query] = deque()
        self._asked: dict[str, _Query] = {}
        self._query_work: queue.SimpleQueue[Job[Any]] = queue.SimpleQueue()
        self._documents: queue.SimpleQueue[Job[Any]] = queue.SimpleQueue()
        self._unanswered: set[Job[Any]] = set()

    async def embed_query(self, model: Embedder, text: str) -> Vectors:
        """Return an array of shape (dimension,). Waiting queries form a batch, and equal queries are embedded once."""
        query = self._asked.get(text)
        if query is None or query.model is not model or query.result.done():
            query = _Query(model, text)
            self._queries.append(query)
            try:
                self._thread.submit(self._run_next)
            except RuntimeError:
                # Closed. Nobody would answer those who ask the same and wait for this.
                query.result.cancel()
                raise
            self._asked[text] = query
        query.callers += 1
        try:
            return await asyncio.shield(asyncio.wrap_future(query.result))
        finally:
            query.callers -= 1
            if not query.callers:
                query.result.cancel()
                if self._asked.get(text) is query:
                    del self._asked[text]

    async def run_for_query(self, work: Callable[[], T]) -> T:
        """Run other work for a query, ahead of waiting documents."""
        return await self._submit(self._query_work, Job(work))

    async def run(self, work: Callable[[], T]) -> T:
        """Run work for documents."""
        job = Job(work)
        self._unanswered.add(job)
        try:
            return await self._submit(self._documents, job)
        finally:
            self._unanswered.discard(job)

    def repeat(self) -> None:
        """Run unfinished work for documents again; the first result is used."""
        for job in self._unanswered:
            self._documents.put(job)
            self._thread.submit(self._run_next)

    def close(self) -> None:
        """Cancel waiting work and reject new work. Does not wait for running work. Idempotent."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        while (job := self._take()) is not None:
            job.result.cancel()
        with suppress(IndexError):
            while True:
                self._queries.popleft().result.cancel()

    async def _submit(self, waiting: queue.SimpleQueue[Job[Any]], job: Job[T]) -> T:
        waiting.put(job)
        # One run for each job, but a run takes the first job in the queue at that time.
        self._thread.submit(self._run_next)
        return await asyncio.wrap_future(job.result)

    def _run_next(self) -> None:
        if queries := self._take_queries():
            _answer(queries)
        elif job := self._take():
            job.run()

    def _take_queries(self) -> list[_Query]:
        """Return the next batch of queries."""
        batch: list[_Query] = []
        longest = 0
        # The queue may be empty, and `close` may remove a query at the same time.
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

    def _take(self) -> Job[Any] | None:
        for waiting in (self._query_work, self._documents):
            with suppress(queue.Empty):
                return waiting.get_nowait()
        return None


def _answer(queries: Sequence[_Query]) -> None:
    """Embed the queries, and set the result or the exception of each."""
    try:
        vectors = queries[0].model.embed_queries([query.text for query in queries])
    except BaseException as error:  # noqa: BLE001 - callers wait, and a panic in a library is not an Exception
        if len(queries) > 1 and not isinstance(error, LearningMemoryError):
            # One of the texts may have caused the failure.
            for query in queries:
                _answer([query])
        else:
            for query in queries:
                query.result.set_exception(error)
    else:
        for query, vector in zip(queries, vectors, strict=True):
            query.result.set_result(vector.copy())  # A copy, because a row would keep the whole batch in memory
