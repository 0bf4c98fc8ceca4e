"""A model that waits, and the time for what it waits for to arrive."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import numpy as np
from numpy.typing import NDArray

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService


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
        assert self.allowed.acquire(timeout=30)
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


async def settle() -> None:
    """Let runnable tasks run until they wait."""
    for _ in range(20):
        await asyncio.sleep(0)
