"""The port to an embedding model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
    from tokenizers import Tokenizer

Vectors: TypeAlias = "NDArray[np.float32]"  # One vector, or one per row. A string, so that numpy is not imported for it

DEFAULT_MODEL: Final = "all-MiniLM-L6-v2"  # The model included in this package

Runtime = Literal["onnxruntime", "sentence-transformers", "ollama", "hashing"]
"""The library that computes the vectors. All runtimes of a model compute the same vectors."""


@dataclass(frozen=True, slots=True)
class EmbeddingIdentity:
    """Everything that determines whether two vectors are comparable."""

    provider: str  # the backend, such as `sentence-transformers`
    model: str
    weights: str  # a hash of the weights, or the backend's own version
    dimension: int
    max_tokens: int  # the number of tokens after which the model truncates its input; 0 for no limit
    definition: str = ""  # Other relevant parameters, such as prompts and pooling; empty if there are none

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that depend on every field."""
        canonical = json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:12]


class Embedder(Protocol):
    """A loaded model. Called from one thread at a time, unless a server runs it."""

    @property
    def identity(self) -> EmbeddingIdentity:
        """The identity of its vectors: only vectors with the same identity are comparable."""

    @property
    def runtime(self) -> Runtime:
        """The library that computes the vectors."""

    @property
    def tokenizer(self) -> Tokenizer | None:
        """The model's tokenizer, None if unknown. Encoding is thread-safe."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension), each row of length 1."""

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension), within 1e-5 of the vectors for one text at a time."""


class Reranker(Protocol):
    """A loaded model that reads a query together with a text. Called from one thread at a time."""

    def scores(self, query: str, texts: Sequence[str]) -> Vectors:
        """Return a score from 0 to 1 for how well each text answers the query: an array of shape (len(texts),)."""


PROBE: Final = "The nightly import failed: after the 3rd retry, pool.close() was never called. 接続が閉じられない é"
"""Words, digits, code, and special tokens: its vector shows whether two models are the same. A change of this text
rebuilds indexes."""

_AGREEMENT: Final = 0.999  # A cosine that the same model exceeds on any runtime, and that no other model reaches


def same_model(kept: Sequence[float] | ArrayLike, probe: ArrayLike) -> bool:
    """Whether two vectors of the probe have the same direction, up to rounding; `kept` may have any type."""
    import numpy as np

    try:
        left, right = (np.asarray(vector, dtype=np.float64) for vector in (kept, probe))
    except (TypeError, ValueError):
        return False
    if left.ndim != 1 or left.shape != right.shape:
        return False
    lengths = float(np.linalg.norm(left) * np.linalg.norm(right))
    return lengths > 0 and bool(left @ right / lengths > _AGREEMENT)  # NaN compares as false, so it never agrees
