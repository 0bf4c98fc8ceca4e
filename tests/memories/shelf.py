"""Memories over a journal and a store that can be told to fail, put together as the composition root does."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.embedding.tokens import EstimatedTokens
from learning_memory_server.indexing.document import Collection
from learning_memory_server.indexing.index import VectorIndex
from learning_memory_server.indexing.reranking import Reranking
from learning_memory_server.indexing.writer import IndexWriter
from learning_memory_server.journal.journal import Journal
from learning_memory_server.memories.cutting import Cutter
from learning_memory_server.memories.documents import SHAPES
from learning_memory_server.memories.log import MemoryLog
from learning_memory_server.memories.searcher import DEADLINE, MemorySearcher
from learning_memory_server.memories.store import Added, MemoryStore
from learning_memory_server.storage.edge import EdgeStore
from tests.support import ALICE, FaultyStore, TickingClock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from learning_memory_server.domain.caller import Caller
    from learning_memory_server.embedding.base import Embedder, Reranker
    from learning_memory_server.memories.store import Tell

LONG = "\n\n".join(
    f"Paragraph {number} tells of topic{number} and of nothing else. " * 8 for number in range(150)
)
"""A text of more chunks than a caller waits for."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Memories and what they are kept by."""

    journal: Journal
    store: FaultyStore
    index: VectorIndex
    writer: IndexWriter
    log: MemoryLog
    memories: MemoryStore
    reranking: Reranking
    searcher: MemorySearcher

    async def ready(self) -> None:
        """Open the index and bring it up to date, as the background task does first."""
        await self.writer.complete()

    async def add(
        self, text: str, caller: Caller = ALICE, tell: Tell | None = None, **metadata: Any
    ) -> Added:
        return await self.memories.add(caller, text, metadata, tell)

    async def points(self) -> int:
        """How many points there are in the index."""
        return (await self.index.counts())[Collection.MEMORIES.value]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the index up to date in the background, as the server does."""
        task = asyncio.create_task(self.writer.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def open_shelf(
    path: Path,
    *,
    load: Callable[[], Embedder] = HashingEmbedder,
    load_reranker: Callable[[], Reranker] | None = None,
    cutter: Cutter | None = None,
    deadline: float = DEADLINE,
) -> AsyncIterator[Shelf]:
    """Build the parts over a directory, and release them at the end."""
    clock, cuts = TickingClock(), cutter or Cutter(EstimatedTokens())
    journal = Journal(path / "journal")
    journal.recover(clock())
    store = FaultyStore(EdgeStore(path / "index"))
    embeddings = EmbeddingService(load)
    index = VectorIndex(embeddings, lambda _: store, SHAPES)
    reranking = Reranking(embeddings, load_reranker)
    log = MemoryLog(journal.memories, lambda: cuts)
    writer = IndexWriter(index, [log])
    try:
        yield Shelf(
            journal=journal,
            store=store,
            index=index,
            writer=writer,
            log=log,
            memories=MemoryStore(log, writer, clock),
            reranking=reranking,
            searcher=MemorySearcher(index, writer, log, reranking, deadline),
        )
    finally:
        store.down = None
        store.gate.set()
        await index.close()
