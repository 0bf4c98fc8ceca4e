"""The model as the services see it: loading in the background, and one text at a time."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from learning_memory_server.errors import EmbeddingUnavailableError, LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity

    T = TypeVar("T")


class ModelState(StrEnum):
    """Where the model is in its life."""

    IDLE = "idle"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


class EmbeddingService:
    """Loads a model in a thread of its own, and runs it there.

    Args:
        load: Makes the model; slow, so it is called in the thread, once, after `start`.
    """

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        # One thread: a model that runs twice at a time is slower than twice in turn.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedding")
        self._model: Future[Embedder] | None = None

    @property
    def state(self) -> ModelState:
        """Where the model is in its life."""
        if self._model is None:
            return ModelState.IDLE
        if not self._model.done():
            return ModelState.LOADING
        return ModelState.FAILED if self._model.exception() else ModelState.READY

    def start(self) -> Future[Embedder]:
        """Begin to load, unless that was begun before, and return at once."""
        if self._model is None:
            self._model = self._thread.submit(self._load)
        return self._model

    async def identity(self) -> EmbeddingIdentity:
        """Wait for the model and return what its vectors may be compared with.

        Raises:
            EmbeddingUnavailableError: If it cannot be loaded.
        """
        # Shielded: a caller that gives up must not cancel the model for everybody.
        try:
            return (await asyncio.shield(asyncio.wrap_future(self.start()))).identity
        except LearningMemoryError:
            raise
        except Exception as error:
            # Whatever a model library raises, its meaning here is one: no vectors.
            raise EmbeddingUnavailableError(
                f"The embedding model could not be loaded ({type(error).__name__}).",
                hint="Run `learning-memory-server doctor`.",
            ) from error

    async def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension), once the model is loaded."""
        return await self._run(lambda model: model.embed_documents(texts))

    async def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return an array of shape (dimension,), once the model is loaded."""
        return await self._run(lambda model: model.embed_query(text))

    def close(self) -> None:
        """Take no more work. What runs in the thread is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    async def _run(self, work: Callable[[Embedder], T]) -> T:
        await self.identity()
        model = self.start().result()
        return await asyncio.wrap_future(self._thread.submit(work, model))
