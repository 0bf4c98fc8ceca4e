"""A model without weights that hashes words into a vector. For tests, and for machines without torch."""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from learning_memory_server.embedding.base import EmbeddingIdentity, Runtime, Vectors


class HashingEmbedder:
    """Texts are near if they share words: feature hashing (Weinberger et al. 2009), identical on every machine."""

    runtime: Runtime = "hashing"
    tokenizer = None

    def __init__(self, dimension: int = 384) -> None:
        self.identity = EmbeddingIdentity("hashing", "words", "1", dimension, 0)

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        vectors = np.zeros((len(texts), self.identity.dimension), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.casefold()) or [""]:
                digest = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
                row[(digest >> 1) % self.identity.dimension] += 1.0 if digest & 1 else -1.0
            if not row.any():
                row[0] = 1.0
        normalised: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalised

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self.embed_documents(texts)
