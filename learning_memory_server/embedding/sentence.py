"""Models of the sentence-transformers library, from a package or a folder on this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.embedding.base import DEFAULT_MODEL, EmbeddingIdentity
from learning_memory_server.embedding.source import check_dimension, find_source
from learning_memory_server.errors import EmbeddingUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import Runtime

_BATCH: Final = 32


class SentenceEmbedder:
    """A sentence-transformers model on the CPU. Nothing is ever fetched.

    Args:
        model: `all-MiniLM-L6-v2`, which comes with this package, or the absolute path of a model folder, or the
            name of a model in the library's local cache.
        dimension: The length that a vector must have; None accepts the model's.

    Raises:
        EmbeddingUnavailableError: If the model is not on this machine, is not what it should be, or
            makes vectors of another length.
    """

    runtime: Runtime = "sentence-transformers"

    def __init__(self, model: str = DEFAULT_MODEL, dimension: int | None = None) -> None:
        source = find_source(model)
        # Idle OpenMP threads that spin slow every other process; torch reads this at its import.
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        import torch  # noqa: PLC0415 - seconds, and only here
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415
        from transformers.utils import logging as transformers_logging  # noqa: PLC0415

        transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
        # A second thread made a query 14 times slower on a busy two-core machine.
        torch.set_num_threads(1)
        try:
            self.model = SentenceTransformer(str(source.folder), device="cpu", local_files_only=True)
        except (
            Exception
        ) as error:  # a file may be damaged in as many ways as there are libraries that read it
            raise _unusable(model, error) from error
        actual = self.model.get_embedding_dimension() or len(self.embed_query("x"))
        check_dimension(model, dimension, actual)
        self.identity = EmbeddingIdentity(
            provider="sentence-transformers",
            model=source.name,
            weights=source.weights,
            dimension=actual,
            max_tokens=self.model.max_seq_length or 0,
            definition=source.definition,
        )

    @property
    def is_exportable(self) -> bool:
        """Whether the model is known to be what an export makes: a transformer, a mean or CLS pooling, unit length."""
        from sentence_transformers.sentence_transformer.modules import (  # noqa: PLC0415
            Normalize,
            Pooling,
            Transformer,
        )

        modules: list[Any] = list(self.model)
        if [type(module) for module in modules] not in (
            [Transformer, Pooling],
            [Transformer, Pooling, Normalize],
        ):
            return False
        transformer, pooling = modules[:2]
        return (
            bool(self.identity.weights)
            and self.identity.max_tokens > 0
            and self.model.truncate_dim is None
            and transformer.modality_config.keys() == {"text"}
            and transformer.tokenizer.is_fast
            and transformer.tokenizer.padding_side == "right"
            and not (transformer.query_length or transformer.document_length or transformer.query_expansion)
            and not transformer.processing_kwargs
            and pooling.pooling_mode in ("mean", "cls")
            and pooling.include_prompt
        )

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        return self.model.encode_document(
            list(texts), batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return an array of shape (dimension,)."""
        return self.model.encode_query(text, normalize_embeddings=True, show_progress_bar=False)


def _unusable(model: str, error: Exception) -> EmbeddingUnavailableError:
    """Say what to do about a model that is on this machine and cannot be loaded."""
    if "trust_remote_code" in str(error):
        hint = "It brings code of its own, which this server never runs: choose another model."
    else:
        hint = "Run `learning-memory-server doctor`. If its files are damaged, remove them and get them anew."
    return EmbeddingUnavailableError(
        f"The embedding model {model!r} could not be loaded ({type(error).__name__}).", hint=hint
    )
