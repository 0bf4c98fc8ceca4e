"""A model that waits, and the time for what it waits for to arrive."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from tests.support import MINUTES

_Model = TypeVar("_Model")


class Gated(HashingEmbedder):
    """Embeds each batch of documents only when allowed to, and records what it was asked for."""

    def __init__(self) -> None:
        super().__init__(16)
        self.began = threading.Event()
        self.allowed = threading.Semaphore(0)
        self.calls: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls.append(f"{len(texts)} documents")
        self.began.set()
        assert self.allowed.acquire(timeout=MINUTES)
        return super().embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += ["query"] * len(texts)
        return HashingEmbedder(16).embed_queries(texts)


@asynccontextmanager
async def busy(model: Gated, texts: Sequence[str] = ("a document",)) -> AsyncIterator[EmbeddingService]:
    """A service whose model is embedding documents, until the block ends or `allowed` is released."""
    service = EmbeddingService(lambda: model)
    documents = asyncio.create_task(service.embed_documents(texts))
    assert await asyncio.to_thread(model.began.wait, 30)
    try:
        yield service
    finally:
        model.allowed.release()
        await documents
        service.close()


class SlowLoad(Generic[_Model]):
    """A loader that waits to be released; each call ends with the next of the given ends, and the last one stays."""

    def __init__(self, *ends: _Model | Exception) -> None:
        self.release = threading.Event()
        self.ends = list(ends)
        self.threads: list[str] = []

    def __call__(self) -> _Model:
        self.threads.append(threading.current_thread().name)
        assert self.release.wait(30)
        end = self.ends.pop(0) if len(self.ends) > 1 else self.ends[0]
        if isinstance(end, Exception):
            raise end
        return end


async def settle() -> None:
    """Let runnable tasks run until they wait."""
    for _ in range(20):
        await asyncio.sleep(0)
