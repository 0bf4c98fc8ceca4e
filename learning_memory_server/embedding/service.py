"""The model as the services see it: loading in the background, and one text at a time."""

from __future__ import annotations

import asyncio
import queue
from collections import OrderedDict
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from enum import StrEnum
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from learning_memory_server.errors import EmbeddingUnavailableError, LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity, Runtime

T = TypeVar("T")

_BATCH: Final = 8
"""Documents: what a query may have to wait for. More at a time is no faster on one thread."""
_REMEMBERED: Final = 256
"""Queries: 0.4 MB at 384 dimensions."""
_RETRY_SECONDS: Final = 30.0
_WAIT_PER_SECOND: Final = 100
"""So that at most a hundredth of the time goes into loading what cannot be loaded."""


class ModelState(StrEnum):
    """Where the model is in its life."""

    IDLE = "idle"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class EmbeddingService:
    """Loads a model in a thread of its own, and runs it there: queries first, documents in small batches.

    A model that could not be loaded is tried again when it is asked for later: it may have been downloaded since, or its
    server started.

    Args:
        load: Makes the model; slow, so it is called in the thread, after `start`, until it succeeds once.
        retry_seconds: The least time between a failure and the next try.
    """

    def __init__(self, load: Callable[[], Embedder], retry_seconds: float = _RETRY_SECONDS) -> None:
        self._load = load
        self._retry_seconds = retry_seconds
        self._retry_at = 0.0
        # One thread: a model that runs twice at a time is slower than twice in turn.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        # In the order in which the thread looks: a query is served before documents that wait.
        self._queries: queue.SimpleQueue[_Job[Any]] = queue.SimpleQueue()
        self._documents: queue.SimpleQueue[_Job[Any]] = queue.SimpleQueue()
        self._model: Future[Embedder] | None = None
        self._remembered: OrderedDict[tuple[EmbeddingIdentity, str], NDArray[np.float32]] = OrderedDict()

    @property
    def state(self) -> ModelState:
        """Where the model is in its life."""
        if self._model is None:
            return ModelState.IDLE
        if not self._model.done():
            return ModelState.LOADING
        return ModelState.FAILED if self._model.exception() else ModelState.READY

    @property
    def runtime(self) -> Runtime | None:
        """What computes the vectors; None until the model is loaded."""
        return self.start().result().runtime if self.state is ModelState.READY else None

    def start(self) -> Future[Embedder]:
        """Begin to load, unless that was begun before and may yet succeed, and return at once."""
        if self._model is None or (self.state is ModelState.FAILED and monotonic() >= self._retry_at):
            self._model = self._thread.submit(self._try_to_load)
        return self._model

    async def identity(self) -> EmbeddingIdentity:
        """Wait for the model and return what its vectors may be compared with.

        Raises:
            EmbeddingUnavailableError: If it cannot be loaded.
        """
        with _model_errors("could not be loaded"):
            # Shielded: a caller that gives up must not cancel the model for everybody.
            return (await asyncio.shield(asyncio.wrap_future(self.start()))).identity

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension), once the model is loaded."""
        if len(texts) <= _BATCH:
            return await self._run(self._documents, _documents(texts))
        import numpy as np  # noqa: PLC0415 - not before there are vectors

        dimension = (await self.identity()).dimension
        vectors = np.empty((len(texts), dimension), dtype=np.float32)
        # A batch is padded to its longest text, so texts of like length go together.
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            # One batch at a time, so that a caller who gives up leaves nothing behind.
            vectors[rows] = await self._run(self._documents, _documents([texts[row] for row in rows]))
        return vectors

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return an array of shape (dimension,), once the model is loaded. It is read-only.

        The last few hundred are remembered, so that a question asked again, or its next page, costs nothing.
        """
        key = (await self.identity(), text)
        if key in self._remembered:
            self._remembered.move_to_end(key)
            return self._remembered[key]
        vector = await self._run(self._queries, lambda model: model.embed_query(text))
        # Whoever asks next gets the same array.
        vector.flags.writeable = False
        self._remembered[key] = vector
        if len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)
        return vector

    def close(self) -> None:
        """Take no more work. What runs in the thread is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        while (job := self._take()) is not None:
            job.result.cancel()

    def _try_to_load(self) -> Embedder:
        began = monotonic()
        try:
            return self._load()
        except BaseException:
            now = monotonic()
            self._retry_at = now + max(self._retry_seconds, _WAIT_PER_SECOND * (now - began))
            raise

    async def run_for_query(self, work: Callable[[], T]) -> T:
        """Run what another model does for a query in this model's thread, before documents that wait."""
        return await self._submit(self._queries, work)

    async def _run(self, waiting: queue.SimpleQueue[_Job[Any]], work: Callable[[Embedder], T]) -> T:
        await self.identity()
        model = self.start().result()
        with _model_errors("failed"):
            return await self._submit(waiting, lambda: work(model))

    async def _submit(self, waiting: queue.SimpleQueue[_Job[Any]], work: Callable[[], T]) -> T:
        job = _Job(work)
        waiting.put(job)
        # As many turns as jobs, but each turn takes the job that is first by then.
        self._thread.submit(self._take_turn)
        return await asyncio.wrap_future(job.result)

    def _take_turn(self) -> None:
        job = self._take()
        if job is not None:
            job.run()

    def _take(self) -> _Job[Any] | None:
        for waiting in (self._queries, self._documents):
            with suppress(queue.Empty):
                return waiting.get_nowait()
        return None


class _Job(Generic[T]):
    """Work for the model's thread, and where its result goes."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self.result: Future[T] = Future()

    def run(self) -> None:
        """Do the work, unless nobody waits for it any more."""
        if not self.result.set_running_or_notify_cancel():
            return
        try:
            self.result.set_result(self._work())
        except BaseException as error:  # noqa: BLE001 - somebody waits, and a panic in a library is no Exception
            self.result.set_exception(error)


def _documents(texts: Sequence[str]) -> Callable[[Embedder], NDArray[np.float32]]:
    return lambda model: model.embed_documents(texts)


@contextmanager
def _model_errors(what_happened: str) -> Iterator[None]:
    """Give one meaning to whatever a model's library raises: there are no vectors now.

    Raises:
        EmbeddingUnavailableError: In place of any error that is not this package's own.
    """
    try:
        yield
    except LearningMemoryError:
        raise
    except Exception as error:
        raise EmbeddingUnavailableError(
            f"The embedding model {what_happened} ({type(error).__name__}).",
            hint="Run `learning-memory-server doctor`.",
        ) from error
