"""The embedding model as the services see it: loaded in the background, and used from threads."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, TypeVar

from learning_memory_server.embedding.executors import Lane, ServerLane
from learning_memory_server.embedding.lazy import LazyModel, ModelState
from learning_memory_server.embedding.probe import PROBE
from learning_memory_server.embedding.threads import DaemonThread, in_daemon_thread
from learning_memory_server.system.waiting import REACH_SECONDS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity, Runtime

T = TypeVar("T")

_BATCH: Final = 8
"""The most documents a query may have to wait for. Larger batches are no faster on one thread."""
_CACHED: Final = 256
"""How many query vectors are cached (0.4 MB at 384 dimensions)."""
_RETRY_SECONDS: Final = 30.0


class EmbeddingService:
    """Loads a model and runs it: queries first, documents in small batches.

    A model in this process has one thread, because two runs at the same time are slower than one after the other. On a
    server, queries and documents have a thread and a circuit each (see `waiting`).

    Attributes:
        listeners: Called each time that the model's server has come back.

    Args:
        load: Loads the model; see `LazyModel`.
        retry_seconds: The least time between a failure to load and the next attempt.
        reach: Asks the server that runs the model whether it is there; None for a model in this process.
    """

    def __init__(
        self,
        load: Callable[[], Embedder],
        retry_seconds: float = _RETRY_SECONDS,
        *,
        reach: Callable[[], object] | None = None,
    ) -> None:
        self.listeners: list[Callable[[], None]] = []
        self._cached: OrderedDict[tuple[EmbeddingIdentity, str], NDArray[np.float32]] = OrderedDict()
        thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        self._here = self._queries = self._documents = Lane(thread)
        self._served: list[ServerLane] = []
        submit = thread.submit
        if reach is not None:
            self._served = [
                ServerLane("queries", lambda: self._probe(reach, lambda model: model.embed_query(PROBE))),
                ServerLane(
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
        if self.state is ModelState.READY:
            return self.start().result().identity
        async with self._documents.in_time(None):
            return (await self._model.get()).identity

    async def embed_documents(self, texts: Sequence[str], within: float | None = None) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension), once the model is loaded.

        Where a caller waits (see `waiting`), this fails at once while the model's server is away.

        Args:
            texts: The documents.
            within: The most seconds to wait; None for no limit.

        Raises:
            EmbeddingUnavailableError: If the model cannot be loaded, fails, or does not answer in time.
        """
        async with self._documents.in_time(within):
            if len(texts) <= _BATCH:
                return await self._embed_batch(texts)
            import numpy as np  # noqa: PLC0415 - deferred: slow import

            dimension = (await self._model.get()).identity.dimension
            vectors = np.empty((len(texts), dimension), dtype=np.float32)
            # A batch is padded to its longest text, so texts of similar length go together.
            order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
            for start in range(0, len(order), _BATCH):
                rows = order[start : start + _BATCH]
                # One batch at a time, so that a cancelled call leaves nothing in the queue.
                vectors[rows] = await self._embed_batch([texts[row] for row in rows])
        return vectors

    async def embed_query(self, text: str, within: float | None = None) -> NDArray[np.float32]:
        """Return an array of shape (dimension,), once the model is loaded. It is read-only.

        Queries that wait at the same time are embedded as one batch. The last few hundred are cached, so that a
        repeated query, or its next page, costs nothing.

        Args:
            text: The query.
            within: The most seconds to wait; None for no limit. With a limit, this fails at once while the model's
                server is away.

        Raises:
            EmbeddingUnavailableError: If the model cannot be loaded, fails, or does not answer in time.
        """
        if self.state is ModelState.READY:
            known = (self.start().result().identity, text)
            if known in self._cached:
                self._cached.move_to_end(known)
                return self._cached[known]
        async with self._queries.in_time(within):
            model = await self._model.get()
            with self._model.errors("failed"):
                vector = await self._queries.turns.embed_query(model, text)
        # Later callers get this same array from the cache.
        vector.flags.writeable = False
        self._cached[model.identity, text] = vector
        if len(self._cached) > _CACHED:
            self._cached.popitem(last=False)
        return vector

    async def stop(self) -> None:
        """Stop what goes on in the background, then `close`."""
        for lane in self._served:
            await lane.close()
        self.close()

    def close(self) -> None:
        """Cancel what is waiting and accept no more work. Does not wait for what is running."""
        for lane in (self._here, *self._served):
            lane.turns.close()

    async def run_for_query(self, work: Callable[[], T]) -> T:
        """Run another model's work for a query in this model's thread, ahead of queued documents."""
        return await self._here.turns.run_for_query(work)

    async def _embed_batch(self, texts: Sequence[str]) -> NDArray[np.float32]:
        model = await self._model.get()
        with self._model.errors("failed"):
            return await self._documents.turns.run(lambda: model.embed_documents(texts))

    async def _probe(self, reach: Callable[[], object], request: Callable[[Embedder], object]) -> None:
        """Ask whether the server is there, and only then make a request that may take as long as loading a model."""
        async with asyncio.timeout(REACH_SECONDS):
            await asyncio.wrap_future(in_daemon_thread(reach))
        self._model.retry_now()
        model = await self._model.get()
        with self._model.errors("failed"):
            await asyncio.wrap_future(in_daemon_thread(lambda: request(model)))

    def _returned(self) -> None:
        for listener in self.listeners:
            listener()
