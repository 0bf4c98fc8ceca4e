"""A collection for the retrieval benchmark: memories are added and searched as the tools do it.

The services are the server's own, over the embedded engine with timing added.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from learning_memory_server.capture.memories.store import MemoryLog, MemoryStore
from learning_memory_server.embedding.base import DEFAULT_MODEL, Embedder, Reranker, Runtime
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.embedding.source import model_folder
from learning_memory_server.embedding.tokens import ModelTokens
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import Hit, Record, SparseVector
from learning_memory_server.index.engines.edge import EdgeStore
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.kept_files import OutdatedPoints
from learning_memory_server.index.memory_chunks import SHAPES, Chunker, point_ids
from learning_memory_server.index.queries import MemoryQuery
from learning_memory_server.index.ranking.terms import encode_query
from learning_memory_server.index.writer import IndexWriter
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.recall.memories import MemorySearcher
from learning_memory_server.recall.recall import Recall, Reranking

Stages = dict[str, list[float]]

EMBEDDING = "embed the query"
MEANING = "semantic search"
WORDS = "lexical search"
READING = "read what is shown"
FUSION = "fuse, and the rest"
_CALLER = Caller("benchmark", "0123456789abcdef")
_NAME = "document"
"""The metadata field with a memory's document id; two documents may have the same text."""


class Ranking:
    """A searchable collection of memories.

    Attributes:
        stages: The milliseconds of each part of a search, by its name; one number per search.

    Args:
        folder: An empty folder, for the journal and the engine's files.
        embedder: The model.
        reranker: The cross-encoder used by `rerank`.
    """

    def __init__(self, folder: Path, embedder: Embedder, reranker: Reranker | None = None) -> None:
        self.stages: Stages = defaultdict(list)
        self._store = TimedStore(folder / "index", self.stages)
        self._runner = asyncio.Runner()
        embeddings = EmbeddingService(lambda: TimedEmbedder(embedder, self.stages))
        self._index = VectorIndex(embeddings, lambda _: self._store, SHAPES)
        journal = Journal(folder / "journal")
        journal.recover(utc_now())
        chunker = Chunker(ModelTokens(model_folder(DEFAULT_MODEL)))
        self._log = MemoryLog(journal.memories, lambda: chunker)
        self._writer = IndexWriter(self._index, [self._log], OutdatedPoints(folder / "outdated.json"))
        self._memories = MemoryStore(self._log, self._writer, utc_now)
        # Without a deadline: a real search has one because the user waits for the model.
        reranking, none = (Reranking(embeddings, (lambda: reranker) if reranker else None), Reranking(embeddings, None))
        self._searcher = MemorySearcher(Recall(self._index, self._writer, none), self._log, math.inf)
        self._reranker = MemorySearcher(Recall(self._index, self._writer, reranking), self._log, math.inf)
        self._runner.run(self._writer.complete())
        self._runner.run(reranking.loaded())
        self._keys: dict[str, str] = {}

    def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """Add documents, (id, text) pairs, as memories."""
        for key, text in documents:
            added = self._runner.run(self._memories.add(_CALLER, text.strip(), {_NAME: key}))
            self._keys |= dict.fromkeys(point_ids(added.memory.id, added.chunks), key)
        self._runner.run(self._writer.complete())

    def search_all(self, text: str, limit: int) -> list[str]:
        """Return the ids of the best documents by hybrid search without a floor, best first."""
        return self._found(self._searcher, MemoryQuery(text, limit, min_score=0.0), SearchMode.HYBRID)

    def search(self, text: str, limit: int) -> list[str]:
        """Return the ids of the best documents by hybrid search, best first."""
        before = {name: len(self.stages[name]) for name in (EMBEDDING, MEANING, WORDS, READING)}
        started = time.perf_counter()
        found = self._found(self._searcher, MemoryQuery(text, limit), SearchMode.HYBRID)
        rest = 1000 * (time.perf_counter() - started)
        for name, count in before.items():
            # A part may have run twice, or not at all for a repeated query.
            self.stages[name][count:] = [sum(self.stages[name][count:])]
            rest -= self.stages[name][-1]
        self.stages[FUSION].append(rest)
        return found

    def rerank(self, text: str, limit: int) -> list[str]:
        """Return the ids of the best documents after re-ranking, best first, without a deadline."""
        return self._found(self._reranker, MemoryQuery(text, limit), SearchMode.RERANKED)

    def _found(self, searcher: MemorySearcher, query: MemoryQuery, mode: SearchMode) -> list[str]:
        answer = self._runner.run(searcher.search(query))
        if answer.mode is not mode:
            raise RuntimeError(f"the search was {answer.mode}, not {mode}")
        return [each.memory.metadata[_NAME] for each in answer.found]

    def search_words(self, text: str, limit: int) -> list[str]:
        """Return the ids of the best documents by lexical search, best first."""
        terms = SparseVector(*encode_query(text))
        # A document has several chunks if it is long.
        asked = EdgeStore.search(self._store, Collection.MEMORIES, terms, limit=5 * limit)
        return list(dict.fromkeys(self._keys[hit.id] for hit in self._runner.run(asked)))[:limit]

    def close(self) -> None:
        """Release the engine."""
        self._runner.run(self._index.close())
        self._runner.close()


@contextmanager
def open_ranking(
    documents: Sequence[tuple[str, str]],
    vectors: NDArray[np.float32],
    embedder: Embedder,
    reranker: Reranker | None = None,
) -> Iterator[Ranking]:
    """Build the collection to measure, and remove it at the end.

    Args:
        documents: (id, text) pairs.
        vectors: The documents' embeddings, shape (len(documents), dimension), so that no text is embedded twice.
        embedder: The model that made them and embeds the queries.
        reranker: The cross-encoder, if there is one.
    """
    known = KnownTexts(embedder, dict(zip((text.strip() for _, text in documents), vectors, strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        ranking = Ranking(Path(folder), known, reranker)
        try:
            started = time.perf_counter()
            ranking.add(documents)
            print(f"  add all documents              {time.perf_counter() - started:8.2f} s")
            yield ranking
        finally:
            ranking.close()


class TimedStore(EdgeStore):
    """The embedded engine, with timing."""

    def __init__(self, path: Path, stages: Stages) -> None:
        super().__init__(path)
        self._stages = stages

    async def search(self, collection: str, query: Any, **options: Any) -> list[Hit]:
        """Time a semantic or a lexical search."""
        with timed(self._stages, WORDS if isinstance(query, SparseVector) else MEANING):
            return await super().search(collection, query, **options)

    async def retrieve(self, *args: Any, **options: Any) -> list[Record]:
        """Time the retrieval of points."""
        with timed(self._stages, READING):
            return await super().retrieve(*args, **options)


class Wrapped:
    """A model that does what another does, but for what a subclass changes."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.identity = inner.identity
        self.runtime: Runtime = inner.runtime
        self.tokenizer = inner.tokenizer

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        return self._inner.embed_documents(texts)

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        return self._inner.embed_queries(texts)


class TimedEmbedder(Wrapped):
    """A model that times queries."""

    def __init__(self, inner: Embedder, stages: Stages) -> None:
        super().__init__(inner)
        self._stages = stages

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Time the embedding of queries."""
        with timed(self._stages, EMBEDDING):
            return self._inner.embed_queries(texts)


class KnownTexts(Wrapped):
    """A model that caches document embeddings."""

    def __init__(self, inner: Embedder, vectors: dict[str, NDArray[np.float32]]) -> None:
        super().__init__(inner)
        self._vectors = vectors

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors."""
        if new := [text for text in dict.fromkeys(texts) if text not in self._vectors]:
            self._vectors |= dict(zip(new, self._inner.embed_documents(new), strict=True))
        return np.stack([self._vectors[text] for text in texts])


@contextmanager
def timed(stages: Stages, name: str) -> Iterator[None]:
    """Record the milliseconds of a block under a name."""
    started = time.perf_counter()
    yield
    stages[name].append(1000 * (time.perf_counter() - started))


def measures(found: Sequence[Sequence[str]], relevant: Sequence[set[str]]) -> dict[str, float]:
    """Return recall at four depths, nDCG@10 and the mean reciprocal rank, from 0 to 1, over all queries.

    Args:
        found: The ids found for each query, best first; an id that is not found has reciprocal rank 0.
        relevant: The relevant ids for each query, at least one.
    """
    totals: dict[str, float] = defaultdict(float)
    for keys, wanted in zip(found, relevant, strict=True):
        hits = [key in wanted for key in keys]
        for depth in (1, 5, 10, 20):
            totals[f"recall@{depth}"] += sum(hits[:depth]) / len(wanted)
        ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
        gain = sum(1 / math.log2(place + 2) for place, hit in enumerate(hits[:10]) if hit)
        totals["ndcg@10"] += gain / ideal
        totals["mrr"] += 1 / (hits.index(True) + 1) if True in hits else 0
    return {name: round(total / len(found), 4) for name, total in totals.items()}
