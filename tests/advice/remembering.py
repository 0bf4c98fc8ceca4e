"""The packaged model of all situations, which reads each text once."""

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from benchmarks.ranking import Wrapped
from learning_memory_server.embedding.base import Embedder, Vectors
from learning_memory_server.embedding.loading import load_packaged


class Remembering(Wrapped):
    """The packaged model, which reads each text once."""

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self._vectors: dict[tuple[bool, str], Vectors] = {}

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self._all(texts, self._inner.embed_documents, is_query=False)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self._all(texts, self._inner.embed_queries, is_query=True)

    def _all(self, texts: Sequence[str], embed: Callable[[list[str]], Vectors], *, is_query: bool) -> Vectors:
        for text in texts:
            if (is_query, text) not in self._vectors:
                self._vectors[is_query, text] = embed([text])[0]
        return np.array([self._vectors[is_query, text] for text in texts], dtype=np.float32)


@cache
def model() -> Embedder:
    """Return the model of all situations."""
    return Remembering(load_packaged())
