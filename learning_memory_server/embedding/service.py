"""The embedding model for services: loaded in the background, and run in threads."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from time import monotonic
from typing import Final, Generic, TypeVar

from learning_memory_server.embedding.base import PROBE, Embedder, EmbeddingIdentity, Runtime, Vectors
from learning_memory_server.embedding.tokens import legibility
from learning_memory_server.embedding.work_queue import DaemonThread, WorkQueue, in_daemon_thread
from learning_memory_server.errors import EmbeddingUnavailableError, LearningMemoryError, ModelServerAwayError
from learning_memory_server.system import timeouts
from learning_memory_server.system.recent import Recent
from learning_memory_server.system.waiting import BACKGROUND, Backoff, Budget, Circuit, is_own_delay, limited, loop_time

T = TypeVar("T")

_BATCH: Final = 8  # Maximum documents that a query may have to wait for. Larger batches are no faster on one thread.
_CACHED: Final = 256  # Number of cached query vectors (0.4 MB at 384 dimensions)
_WAIT_PER_SECOND: Final = 100  # Seconds to wait per second of a failed attempt to load
_LATE: Final = "The embedding model did not answer in time."
_HINT: Final = "Try again in a few seconds."


class ModelState(StrEnum):
    """The state of a model."""

    IDLE = "idle"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass
class LazyModel(Generic[T]):
    """Loads a model in a thread at first use, and again, after a pause, if that failed."""

    name: str  # the model's name in errors, such as "embedding model"
    load: Callable[[], T]  # slow; called until it succeeds once
    submit: Callable[[Callable[[], T]], Future[T]]  # runs a function in a thread
    retry_seconds: float  # minimum time between a failure and the next attempt; more if loading takes long
    _model: Future[T] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._pause = Backoff(self.retry_seconds)

    @property
    def state(self) -> ModelState:
        """The state of the model."""
        if self._model is None:
            return ModelState.IDLE
        if not self._model.done():
            return ModelState.LOADING
        return ModelState.FAILED if self._model.exception() else ModelState.READY

    def start(self) -> Future[T]:
        """Start to load, unless the model is loaded, is loading, or failed recently. Returns immediately."""
        if self._model is None or (self.state is ModelState.FAILED and not self._pause.left):
            self._model = self.submit(self._try_to_load)
        return self._model

    def retry_now(self) -> None:
        """Allow the next use to load the model even if that failed recently."""
        self._pause.end()

    async def get(self) -> T:
        """Wait for the model and return it."""
        with self.errors("could not be loaded"):
            # Shielded: a cancelled caller must not cancel the loading for others.
            return await asyncio.shield(asyncio.wrap_future(self.start()))

    @contextmanager
    def errors(self, what_happened: str) -> Iterator[None]:
        """Convert the library's errors to an `EmbeddingUnavailableError` that contains only their types."""
        try:
            yield
        except LearningMemoryError:
            raise
        except Exception as error:  # each library raises its own exceptions, and custom models may raise any
            raise EmbeddingUnavailableError(
                f"The {self.name} {what_happened} ({type(error).__name__}).", doctor=""
            ) from error

    def _try_to_load(self) -> T:
        began = monotonic()
        try:
            return self.load()
        except BaseException:  # for any exception: this only records the time
            self._pause.begin(max(self.retry_seconds, _WAIT_PER_SECOND * (monotonic() - began)))
            raise


class _LocalModel:
    """One kind of request to a model in this process."""

    def __init__(self, thread: Executor) -> None:
        self.queue = WorkQueue(thread)

    def use(self, budget: Budget) -> AbstractAsyncContextManager[None]:
        """Limit the time that the block waits for the model."""
        return limited(budget.model, EmbeddingUnavailableError(_LATE, hint=_HINT))


class _ServedModel(_LocalModel):
    """One kind of request to a model on a server, protected by a circuit breaker. Only callers abandon a request."""

    def __init__(
        self, kind: str, probe: Callable[[], Awaitable[object]], on_closed: Callable[[], None] = lambda: None
    ) -> None:
        self._thread = DaemonThread()
        super().__init__(self._thread)
        self._probe = probe
        self._on_closed = on_closed
        self.circuit = Circuit(f"model: {kind}", self._closed, timeouts.REACH + timeouts.LOAD)

    @asynccontextmanager
    async def use(self, budget: Budget) -> AsyncIterator[None]:
        """Limit the block's time, and open the circuit on a timeout. Callers that wait then fail immediately."""
        until = None
        if budget.is_waited_for:
            self.circuit.require_closed()
            seconds = min(each for each in (budget.model, budget.request, timeouts.LOAD) if each is not None)
            until = loop_time() + seconds
        else:
            await self.circuit.require_closing(timeouts.REQUEST)
        try:
            async with asyncio.timeout_at(until):
                yield
        except TimeoutError:
            if until is None or is_own_delay(until):
                raise EmbeddingUnavailableError(_LATE, hint=_HINT) from None
            late = ModelServerAwayError(_LATE, hint=_HINT)
            self.circuit.open(late, self._probe)
            raise late from None
        except ModelServerAwayError as error:
            self.circuit.open(error, self._probe)
            raise

    def _closed(self) -> None:
        self._thread.leave()
        self.queue.repeat()
        self._on_closed()


class EmbeddingService:
    """Loads a model and runs it: queries first, documents in small batches.

    A model in this process has one thread. For a server, queries and documents have a thread and a circuit each.
    Requests wait for the model within their budget, and raise `EmbeddingUnavailableError`.

    Attributes:
        listeners: Called each time the model's server becomes available again.

    Args:
        load: Loads the model; see `LazyModel`.
        retry_seconds: Minimum time between a failure to load and the next attempt.
        reach: Checks whether the model's server responds; None for a model in this process.
    """

    def __init__(
        self,
        load: Callable[[], Embedder],
        retry_seconds: float = timeouts.MODEL_AGAIN,
        *,
        reach: Callable[[], object] | None = None,
    ) -> None:
        self.listeners: list[Callable[[], None]] = []
        self._cached: Recent[tuple[EmbeddingIdentity, str], Vectors] = Recent(_CACHED)
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        self._here = self._queries = self._documents = _LocalModel(thread)
        self._served: list[_ServedModel] = []
        submit = thread.submit
        if reach is not None:
            self._served = [
                _ServedModel("queries", lambda: self._probe(reach, lambda model: model.embed_queries([PROBE]))),
                _ServedModel(
                    "documents",
                    lambda: self._probe(reach, lambda model: model.embed_documents([PROBE])),
                    self._returned,
                ),
            ]
            self._queries, self._documents = self._served
            submit = DaemonThread().submit
        self._model = LazyModel("embedding model", load, submit, retry_seconds)

    @property
    def state(self) -> ModelState:
        """The state of the model."""
        return self._model.state

    @property
    def runtime(self) -> Runtime | None:
        """The library that computes the vectors; None until the model is loaded."""
        return self.start().result().runtime if self.state is ModelState.READY else None

    def start(self) -> Future[Embedder]:
        """Start to load, unless the model is loaded, is loading, or failed recently. Returns immediately."""
        return self._model.start()

    async def identity(self, budget: Budget = BACKGROUND) -> EmbeddingIdentity:
        """Wait for the model and return its identity: only vectors with the same identity are comparable."""
        if self.state is ModelState.READY:
            return self.start().result().identity
        async with self._documents.use(budget):
            return (await self._model.get()).identity

    async def embed_documents(self, texts: Sequence[str], budget: Budget = BACKGROUND) -> Vectors:
        """Return an array of shape (len(texts), dimension), after waiting for the model."""
        async with self._documents.use(budget):
            if len(texts) <= _BATCH:
                return await self._embed_batch(texts)
            import numpy as np

            dimension = (await self._model.get()).identity.dimension
            vectors = np.empty((len(texts), dimension), dtype=np.float32)
            # A batch is padded to its longest text, so texts of similar length go together.
            order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
            for start in range(0, len(order), _BATCH):
                rows = order[start : start + _BATCH]
                # One batch at a time, so that a cancelled call leaves nothing in the queue.
                vectors[rows] = await self._embed_batch([texts[row] for row in rows])
        return vectors

    async def embed_query(self, text: str, budget: Budget = BACKGROUND) -> Vectors:
        """Return a read-only array of shape (dimension,), after waiting for the model. Repeated queries are cached."""
        if self.state is ModelState.READY:
            known = (self.start().result().identity, text)
            if known in self._cached:
                return self._cached[known]
        async with self._queries.use(budget):
            model = await self._model.get()
            with self._model.errors("failed"):
                vector = await self._queries.queue.embed_query(model, text)
        # Later callers get the same array from the cache.
        vector.flags.writeable = False
        self._cached[model.identity, text] = vector
        return vector

    def legibility(self, text: str) -> float:
        """Return how well the model's vocabulary covers a text, from 0 to 1; 1 while the model is not loaded."""
        return legibility(self.start().result().tokenizer if self.state is ModelState.READY else None, text)

    async def stop(self) -> None:
        """Stop background tasks, then `close`."""
        for served in self._served:
            await served.circuit.close()
        self.close()

    def close(self) -> None:
        """Cancel waiting work and reject new work. Does not wait for running work."""
        for model in (self._here, *self._served):
            model.queue.close()

    async def run_for_query(self, work: Callable[[], T]) -> T:
        """Run work of another model for a query in this model's thread, ahead of queued documents."""
        return await self._here.queue.run_for_query(work)

    async def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        model = await self._model.get()
        with self._model.errors("failed"):
            return await self._documents.queue.run(lambda: model.embed_documents(texts))

    async def _probe(self, reach: Callable[[], object], request: Callable[[Embedder], object]) -> None:
        """Check whether the server responds before a request that may take as long as loading a model."""
        async with asyncio.timeout(timeouts.REACH):
            await asyncio.wrap_future(in_daemon_thread(reach))
        self._model.retry_now()
        model = await self._model.get()
        with self._model.errors("failed"):
            await asyncio.wrap_future(in_daemon_thread(lambda: request(model)))

    def _returned(self) -> None:
        for listener in self.listeners:
            listener()
