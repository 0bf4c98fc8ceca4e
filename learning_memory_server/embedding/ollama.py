"""Models that an Ollama server runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.base import EmbeddingIdentity
from learning_memory_server.embedding.ollama_server import OllamaServer, TextTooLongError, full_name
from learning_memory_server.embedding.probe import PROBE
from learning_memory_server.embedding.prompts import prompts_of
from learning_memory_server.embedding.source import check_dimension
from learning_memory_server.errors import EmbeddingUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import Runtime

_BATCH: Final = 32


class OllamaEmbedder:
    """A model on an Ollama server. Nothing is ever pulled.

    Args:
        model: The model's name, with or without a tag.
        dimension: The length that a vector must have; None accepts the model's.
        url: The server.
        timeout: Seconds without a byte of an answer.

    Raises:
        EmbeddingUnavailableError: If the server does not answer, does not have the model, or it makes vectors of
            another length.
    """

    runtime: Runtime = "ollama"

    def __init__(self, model: str, dimension: int | None, url: str, timeout: float = 60.0) -> None:
        self._model = model
        self._server = OllamaServer(url, timeout)
        self._prompts = prompts_of(model)
        # Before the vectors: should the tag move in between, this digest is no longer right, and that is noticed.
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
        """Return an array of shape (len(texts), dimension).

        Raises:
            EmbeddingUnavailableError: If the server fails, or the model is no longer the one of the identity.
        """
        return self._embed([self._prompts.document + text for text in texts])

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return an array of shape (dimension,).

        Raises:
            EmbeddingUnavailableError: If the server fails, or the model is no longer the one of the identity.
        """
        vector: NDArray[np.float32] = self._embed([self._prompts.query + text])[0]
        return vector

    def _embed(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415 - not before there are vectors

        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        for start in range(0, len(texts), _BATCH):
            made = self._cut_and_embed(texts[start : start + _BATCH])
            if made.shape[1] != self.identity.dimension:
                raise self._changed()
            vectors[start : start + _BATCH] = made
        # Afterwards, so that no vector of a model that has just been pulled passes.
        if self._server.digest_of(self._model) != self.identity.weights:
            raise self._changed()
        return vectors

    def _cut_and_embed(self, texts: list[str]) -> NDArray[np.float32]:
        import numpy as np  # noqa: PLC0415

        try:
            return self._server.embed(self._model, texts)
        except TextTooLongError:
            # Several versions of Ollama refuse what they were asked to cut.
            if len(texts) > 1:
                return np.vstack([self._cut_and_embed([text]) for text in texts])
            if len(texts[0]) <= 1:
                raise
            return self._cut_and_embed([texts[0][: len(texts[0]) // 2]])

    def _changed(self) -> EmbeddingUnavailableError:
        return EmbeddingUnavailableError(
            f"Ollama's {self._model} is another model than when this server started.",
            hint="Run `learning-memory-server hub stop`; the next session makes the index anew with it.",
        )
