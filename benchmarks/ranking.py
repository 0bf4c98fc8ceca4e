"""What the retrieval benchmarks measure: a collection that takes texts and answers queries.

It is the server's own: the index over the embedded engine, and the search that every tool goes through.
"""

from __future__ import annotations

import asyncio
import math
import tempfile
import time
from collections import defaultdict
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from learning_memory_server.domain.vocabulary import SearchMode
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.embedding.terms import encode_query
from learning_memory_server.indexing.document import Collection, Query, WholeDocument, point_id
from learning_memory_server.indexing.index import VectorIndex
from learning_memory_server.indexing.reranking import Reranking
from learning_memory_server.storage.base import Filter, SparseVector
from learning_memory_server.storage.edge import EdgeStore

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import Embedder, Reranker, Runtime
    from learning_memory_server.storage.base import Hit, Record

    Stages = dict[str, list[float]]

EMBEDDING = "embed the query"
MEANING = "search by meaning"
WORDS = "search by words"
READING = "read what is shown"
FUSION = "fuse, and the rest"
RERANKING = "re-rank the best"


class Ranking:
    """A searchable collection of memories.

    Attributes:
        stages: The milliseconds that each part of a search took, by its name; one number a search.

    Args:
        folder: An empty one, for the engine's files.
        embedder: The model.
        reranker: What reads the best results once more, if anything does.
    """

    def __init__(self, folder: Path, embedder: Embedder, reranker: Reranker | None = None) -> None:
        self.stages: Stages = defaultdict(list)
        self.store = TimedStore(folder, self.stages)
        self._runner = asyncio.Runner()
        embeddings = EmbeddingService(lambda: TimedEmbedder(embedder, self.stages))
        self._index = VectorIndex(embeddings, lambda _: self.store, {})
        self._reranking = Reranking(embeddings, (lambda: reranker) if reranker else None)
        self._texts: dict[str, str] = {}
        self._runner.run(self._index.open())
        self._runner.run(self._reranking.loaded())

    def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """Index documents, each an id and a text."""
        self._texts |= dict(documents)
        self._runner.run(
            self._index.write(
                [
                    WholeDocument(Collection.MEMORIES, point_id("memory", key), text, {"key": key})
                    for key, text in documents
                ]
            )
        )

    def search(self, text: str, limit: int) -> list[str]:
        """Return the ids of the best documents by meaning and by words, best first."""
        before = {name: len(self.stages[name]) for name in (EMBEDDING, MEANING, WORDS, READING)}
        started = time.perf_counter()
        matches = self._runner.run(
            self._index.search_hybrid(Query(Collection.MEMORIES, text, limit, Filter()))
        )
        rest = 1000 * (time.perf_counter() - started)
        for name, count in before.items():
            # A part may have been done twice, or not at all for a query that was asked before.
            self.stages[name][count:] = [sum(self.stages[name][count:])]
            rest -= self.stages[name][-1]
        self.stages[FUSION].append(rest)
        return [match.payload["key"] for match in matches]

    def rerank(self, text: str, limit: int) -> list[str]:
        """Return the ids of the best documents re-ranked, best first, however long that takes."""
        return self._runner.run(self._rerank(text, limit))

    async def _rerank(self, text: str, limit: int) -> list[str]:
        query = Query(Collection.MEMORIES, text, max(limit, self._reranking.depth), Filter())
        found = await self._index.search_hybrid(query)
        keys = [match.payload["key"] for match in found]
        with timed(self.stages, RERANKING):
            scores, mode = await self._reranking.rerank(
                text,
                [match.score for match in found],
                lambda count: [self._texts[key] for key in keys[:count]],
                math.inf,
            )
        if found and mode is not SearchMode.RERANKED:
            raise RuntimeError("the model failed to re-rank")
        order = sorted(range(len(found)), key=lambda row: (-scores[row], found[row].id))
        return [keys[row] for row in order[:limit]]

    def search_words(self, text: str, limit: int) -> list[str]:
        """Return the ids of the best documents by words alone, best first."""
        terms = SparseVector(*encode_query(text))
        asked = EdgeStore.search_terms(self.store, Collection.MEMORIES, terms, limit=limit)
        return [hit.payload["key"] for hit in self._runner.run(asked)]

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
    """Make the collection that is to be measured, and remove it at the end.

    Args:
        documents: (id, text) pairs.
        vectors: The documents' embeddings, of shape (len(documents), dimension), so that no text is embedded twice.
        embedder: Made them, and embeds the queries.
        reranker: What reads the best results once more, if anything does.
    """
    known = KnownTexts(embedder, dict(zip((text for _, text in documents), vectors, strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        ranking = Ranking(Path(folder), known, reranker)
        try:
            started = time.perf_counter()
            ranking.add(documents)
            print(f"  index all documents            {time.perf_counter() - started:8.2f} s")
            yield ranking
        finally:
            ranking.close()


class TimedStore(EdgeStore):
    """The embedded engine with a watch."""

    def __init__(self, path: Path, stages: Stages) -> None:
        super().__init__(path)
        self._stages = stages

    async def search(self, *args: Any, **options: Any) -> list[Hit]:  # noqa: ANN401 - the port's
        """Note the time of a search by meaning."""
        with timed(self._stages, MEANING):
            return await super().search(*args, **options)

    async def search_terms(self, *args: Any, **options: Any) -> list[Hit]:  # noqa: ANN401 - the port's
        """Note the time of a search by words."""
        with timed(self._stages, WORDS):
            return await super().search_terms(*args, **options)

    async def retrieve(self, *args: Any, **options: Any) -> list[Record]:  # noqa: ANN401 - the port's
        """Note the time of reading points."""
        with timed(self._stages, READING):
            return await super().retrieve(*args, **options)


class TimedEmbedder:
    """A model with a watch for queries."""

    def __init__(self, inner: Embedder, stages: Stages) -> None:
        self._inner = inner
        self._stages = stages
        self.identity = inner.identity
        self.runtime: Runtime = inner.runtime

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors."""
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Note the time of the embedding."""
        with timed(self._stages, EMBEDDING):
            return self._inner.embed_query(text)


class KnownTexts:
    """A model that remembers what documents it has embedded before."""

    def __init__(self, inner: Embedder, vectors: dict[str, NDArray[np.float32]]) -> None:
        self._inner = inner
        self._vectors = vectors
        self.identity = inner.identity
        self.runtime: Runtime = inner.runtime
        self.embed_query = inner.embed_query

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors."""
        if any(text not in self._vectors for text in texts):
            return self._inner.embed_documents(texts)
        return np.stack([self._vectors[text] for text in texts])


@contextmanager
def timed(stages: Stages, name: str) -> Iterator[None]:
    """Add the milliseconds of a block to the others of that name."""
    started = time.perf_counter()
    yield
    stages[name].append(1000 * (time.perf_counter() - started))


def measures(found: Sequence[Sequence[str]], relevant: Sequence[set[str]]) -> dict[str, float]:
    """Return recall at four depths, nDCG@10 and the mean reciprocal rank, from 0 to 1, over all queries.

    Args:
        found: The ids found for each query, best first; the reciprocal rank of what is not among them is 0.
        relevant: The ids that should be found, at least one for each query.
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
