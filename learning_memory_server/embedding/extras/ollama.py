"""Models that an Ollama server runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.base import PROBE, EmbeddingIdentity, Runtime
from learning_memory_server.embedding.extras.ollama_server import OllamaServer, TextTooLongError, full_name
from learning_memory_server.embedding.prompts import prompts_of
from learning_memory_server.embedding.source import check_dimension
from learning_memory_server.errors import EmbeddingUnavailableError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_BATCH: Final = 32


class OllamaEmbedder:
    """A model on an Ollama server. Nothing is ever pulled.

    Args:
        model: The model's name, with or without a tag.
        dimension: The length that a vector must have; None accepts the model's.
        url: The server.
        timeout: Seconds to wait for the next byte of a reply.
    """

    runtime: Runtime = "ollama"
    tokenizer = None  # it is in the server

    def __init__(self, model: str, dimension: int | None, url: str, timeout: float = 60.0) -> None:
        self._model = model
        self._server = OllamaServer(url, timeout)
        self._prompts = prompts_of(model)
        # Read before embedding: if the tag moves in between, the stale digest is noticed.
        digest = self._server.digest_of(model)
        max_tokens = self._server.context_length(model)
        actual = self._server.embed(model, [self._prompts.document + PROBE]).shape[1]
        check_dimension(model, dimension, actual)
        self.identity = EmbeddingIdentity(
            provider="ollama",
            model=full_name(model),
            weights=digest,
            dimension=actual,
            max_tokens=max_tokens,
            definition=self._prompts.definition,
        )

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        return self._embed([self._prompts.document + text for text in texts])

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        return self._embed([self._prompts.query + text for text in texts])

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415 - deferred: slow import

        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            made = self._embed_truncated(texts[start : start + _BATCH])
            if made.shape[1] != self.identity.dimension:
                raise self._changed()
            vectors[start : start + _BATCH] = made
        # Checked afterwards, so that no vector of a newly pulled model gets through.
        if self._server.digest_of(self._model) != self.identity.weights:
            raise self._changed()
        return vectors

    def _embed_truncated(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415

        try:
            return self._server.embed(self._model, texts)
        except TextTooLongError:
            # Some versions of Ollama reject texts that they were asked to truncate.
            if len(texts) > 1:
                return np.vstack([self._embed_truncated([text]) for text in texts])
            if len(texts[0]) <= 1:
                raise
            return self._embed_truncated([texts[0][: len(texts[0]) // 2]])

    def _changed(self) -> EmbeddingUnavailableError:
        return EmbeddingUnavailableError(
            f"Ollama's {self._model} has changed since this server started.",
            hint="Run `learning-memory-server hub stop`; the next session rebuilds the index with it.",
        )
