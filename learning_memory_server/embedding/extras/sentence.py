"""Local models for the sentence-transformers library, which is an optional dependency."""

import os
from collections.abc import Sequence
from copy import copy
from typing import Final

from learning_memory_server.embedding.base import Runtime, Vectors
from learning_memory_server.embedding.source import ModelSource, find_reranker, loading_errors, require_library
from learning_memory_server.embedding.tokens import EstimatedTokens
from learning_memory_server.errors import EmbeddingUnavailableError

_BATCH: Final = 32
_BATCH_TOKENS: Final = 512  # Estimated tokens in a batch, with padding: torch keeps the memory of its largest batch
_PAIR_TOKENS: Final = 256  # Tokens of a query and a text together; the longer of the two is truncated


class SentenceEmbedder:
    """A model run by the sentence-transformers library on the CPU. Nothing is ever downloaded."""

    runtime: Runtime = "sentence-transformers"

    def __init__(self, source: ModelSource) -> None:
        _prepare_torch(source.obstacle)
        from sentence_transformers import SentenceTransformer

        self._model = SentenceTransformer(str(source.folder), device="cpu", local_files_only=True)
        dimension = self._model.get_embedding_dimension() or self.embed_queries(["x"]).shape[1]
        self.identity = source.identity(dimension, self._model.max_seq_length or 0)
        # A copy: the model changes its own tokenizer's truncation while it embeds.
        self.tokenizer = copy(getattr(self._model.tokenizer, "backend_tokenizer", None))

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        longest = max(EstimatedTokens().count(texts), default=0)
        tokens = min(longest, self._model.max_seq_length or longest)
        return self._model.encode_document(
            list(texts),
            batch_size=max(1, _BATCH_TOKENS // max(1, tokens)),
            normalize_embeddings=True,
            show_progress_bar=False,
        )

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self._model.encode_query(list(texts), normalize_embeddings=True, show_progress_bar=False)


class CrossEncoderReranker:
    """A cross-encoder of the sentence-transformers library on the CPU. Nothing is ever downloaded."""

    def __init__(self, model: str) -> None:
        folder = find_reranker(model)
        _prepare_torch()
        from sentence_transformers import CrossEncoder
        from torch.nn import Sigmoid

        with loading_errors("re-ranking", model):
            self._model = CrossEncoder(str(folder), device="cpu", local_files_only=True)
        if self._model.num_labels != 1:
            raise EmbeddingUnavailableError(
                f"The re-ranking model {model!r} gives {self._model.num_labels} numbers for a text, not one score.",
                hint="Choose a cross-encoder that was trained to rank.",
            )
        # Never above the model's own limit: a position beyond it would be an error.
        self._model.max_seq_length = min(self._model.max_seq_length or _PAIR_TOKENS, _PAIR_TOKENS)
        self._to_unit = Sigmoid()  # Some models have their own activation, but all scores must be from 0 to 1

    def scores(self, query: str, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts),), from 0 to 1."""
        pairs = [(query, text) for text in texts]
        scores: Vectors = self._model.predict(
            pairs, batch_size=_BATCH, activation_fn=self._to_unit, show_progress_bar=False
        )
        # Written so that NaN fails the check.
        if not (scores >= 0).all():
            raise EmbeddingUnavailableError("The re-ranking model returns scores that are not numbers.")
        return scores


def _prepare_torch(obstacle: str = "") -> None:
    # Idle OpenMP threads that spin slow down all other processes. Torch reads this variable at import.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    require_library(obstacle)
    import torch
    from huggingface_hub import constants
    from transformers.utils import logging as transformers_logging

    # Even with local_files_only, the libraries ask huggingface.co for revisions. The variable of this name would keep
    # this process from a download that a person asks for later.
    constants.HF_HUB_OFFLINE = True
    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    torch.set_num_threads(1)  # A second thread made a query 14 times slower on a busy two-core machine
