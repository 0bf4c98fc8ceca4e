"""Plain methods that searches are compared with, in the same run.

`dense` is a scan over the model's vectors, `bm25` the bm25s package, stemmed as its documentation recommends, and
`random` a random order. Each is a function of a query and a number, and returns that many (id, score) pairs, best
first.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from typing import Any

import bm25s
import numpy as np
import Stemmer
from numpy.typing import NDArray

from learning_memory_server.embedding.base import Embedder

Documents = Sequence[tuple[str, str]]
Scored = list[tuple[str, float]]
Method = Callable[[str, int], Scored]


def plain_dense(documents: Documents, vectors: NDArray[np.float32], embedder: Embedder) -> Method:
    """Return a scan over the documents' vectors, scored by cosine similarity.

    Args:
        documents: (id, text) pairs.
        vectors: Their embeddings, shape (len(documents), dimension), unit length.
        embedder: The model that made them and embeds the queries.
    """

    def search(text: str, limit: int) -> Scored:
        cosines = vectors @ embedder.embed_queries([text])[0]
        best = np.argsort(-cosines, kind="stable")[:limit]
        return [(documents[row][0], float(cosines[row])) for row in best]

    return search


def plain_bm25(documents: Documents) -> Method:
    """Return a search of the bm25s package over the documents, (id, text) pairs."""
    # It logs every step, whatever the level of all others.
    logging.getLogger("bm25s").setLevel(logging.WARNING)
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> Any:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    index = bm25s.BM25()
    index.index(tokens([text for _, text in documents]), show_progress=False)

    def search(text: str, limit: int) -> Scored:
        depth = min(limit, len(documents))
        rows, scores = index.retrieve(tokens([text]), k=depth, show_progress=False)
        found = zip(rows[0], scores[0], strict=True)
        # The package fills the list up with documents that share no word with the query.
        return [(documents[row][0], float(score)) for row, score in found if score > 0]

    return search


def at_random(documents: Documents) -> Method:
    """Return a search that draws documents, (id, text) pairs, and gives them random scores."""
    generator = random.Random(0)
    ids = [key for key, _ in documents]

    def search(_: str, limit: int) -> Scored:
        drawn = generator.sample(ids, min(limit, len(ids)))
        scores = sorted((generator.random() for _ in drawn), reverse=True)
        return list(zip(drawn, scores, strict=True))

    return search
