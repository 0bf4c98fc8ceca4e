"""Memories over a journal and a store that can be made to fail, composed as in the server."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from learning_memory_server.capture.memories.store import Added, MemoryLog, MemoryStore
from learning_memory_server.embedding.base import Embedder, Reranker
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.embedding.tokens import EstimatedTokens
from learning_memory_server.index.document import Collection
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.kept_files import OutdatedPoints
from learning_memory_server.index.memory_chunks import SHAPES, Chunker
from learning_memory_server.index.writer import IndexWriter
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.memory import Memory
from learning_memory_server.recall.memories import MemorySearcher
from learning_memory_server.recall.recall import Recall, Reranking
from tests.faulty_store import FaultyStore
from tests.sparing_store import SparingStore
from tests.support import ALICE, MINUTES, NOON, TickingClock, keeping_up

TEXT = "We chose Postgres.\n\nIt has partial indexes."
LONG = "\n\n".join(f"Paragraph {number} tells of topic{number} and of nothing else. " * 8 for number in range(150))
"""A text of more chunks than a caller waits for."""
UNHURRIED: Final = MINUTES
"""Seconds for a search, so that its mode does not depend on the machine."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Memories and the services that keep them."""

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

    async def add(self, text: str, caller: Caller = ALICE, **metadata: Any) -> Added:
        return await self.memories.add(caller, text, metadata)

    async def points(self) -> int:
        """Return the number of points in the index."""
        return (await self.index.counts())[Collection.MEMORIES.value]

    def running(self) -> AbstractAsyncContextManager[None]:
        return keeping_up(self.writer)


def reloaded(path: Path) -> list[Memory]:
    """Return what a new process reads from the journal."""
    journal = Journal(path / "journal")
    journal.recover(NOON)
    return MemoryLog(journal.memories, lambda: Chunker(EstimatedTokens())).all()


@asynccontextmanager
async def open_shelf(
    path: Path,
    *,
    load: Callable[[], Embedder] = HashingEmbedder,
    load_reranker: Callable[[], Reranker] | None = None,
    chunker: Chunker | None = None,
    deadline: float = UNHURRIED,
) -> AsyncIterator[Shelf]:
    """Build the parts over a directory, and release them at the end."""
    clock, chunks = TickingClock(), chunker or Chunker(EstimatedTokens())
    journal = Journal(path / "journal")
    journal.recover(clock())
    store = FaultyStore(SparingStore(path / "index"))
    embeddings = EmbeddingService(load)
    index = VectorIndex(embeddings, lambda _: store, SHAPES, is_on_server=True)
    reranking = Reranking(embeddings, load_reranker)
    log = MemoryLog(journal.memories, lambda: chunks)
    writer = IndexWriter(index, [log], OutdatedPoints(path / "outdated.json"))
    try:
        yield Shelf(
            journal=journal,
            store=store,
            index=index,
            writer=writer,
            log=log,
            memories=MemoryStore(log, writer, clock),
            reranking=reranking,
            searcher=MemorySearcher(Recall(index, writer, reranking), log, deadline),
        )
    finally:
        store.down = None
        store.gate.set()
        await index.close()
