"""The port to an embedding model."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

DEFAULT_MODEL: Final = "all-MiniLM-L6-v2"
"""The model that comes with this package."""

Runtime = Literal["onnxruntime", "sentence-transformers", "ollama", "hashing"]
"""What computes the vectors; two runtimes of one model make the same ones."""

TEXT_TEMPLATE_VERSION: Final = 1
"""Raised when the text that is embedded for a record changes: its old vectors no longer compare."""


@dataclass(frozen=True, slots=True)
class EmbeddingIdentity:
    """Everything that decides whether two vectors may be compared.

    Args:
        provider: The backend, such as `sentence-transformers`.
        model: The model's name.
        weights: A hash of the weights, or the backend's own version of them.
        dimension: The length of a vector.
        max_tokens: Where the model cuts its input; 0 if it does not.
        template: The version of the texts that are embedded.
        definition: What else decides, such as prompts and pooling; nothing where the name and the weights say it all.
    """

    provider: str
    model: str
    weights: str
    dimension: int
    max_tokens: int
    template: int = TEXT_TEMPLATE_VERSION
    definition: str = ""

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that differ whenever any part differs."""
        parts = asdict(self)
        if not self.definition:
            # Collections bear the digests of a time when there was no such part.
            del parts["definition"]
        canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]


class Embedder(Protocol):
    """A loaded model. Called from one thread at a time."""

    @property
    def identity(self) -> EmbeddingIdentity:
        """What the vectors may be compared with."""
        ...

    @property
    def runtime(self) -> Runtime:
        """What computes the vectors."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension), each row of length 1."""
        ...

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return an array of shape (dimension,) and length 1."""
        ...


class Reranker(Protocol):
    """A loaded model that reads a query and a text together. Called from one thread at a time."""

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each text answers the query: an array of shape (len(texts),), from 0 to 1."""
        ...
