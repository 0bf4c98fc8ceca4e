"""A model's files on this machine, found and identified without loading the model."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Any, Final

from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.errors import EmbeddingUnavailableError

DEFAULT_WEIGHTS_SHA256: Final = "4b0d9929267ab7e5886f38429e9e56367e87ed3d46793b04202723510d365405"
"""The weights that `scripts/default_model.py` makes from the original ones."""

INSTALL_EXTRA: Final = (
    'Install this server again with the extra (in a checkout: pip install ".[sentence-transformers]"; from a wheel: '
    'pip install "FILE.whl[sentence-transformers]"), or run in its environment: pip install "sentence-transformers>=6,<7" '
    '"onnx>=1.17". On Linux, docs/install.md says how to avoid gigabytes of CUDA.'
)
"""No line names this project alone: until it is published, an index would offer somebody else's package."""

_EXPORT_VERSION: Final = 3
"""Raise it when exports are made differently: old ones are then no longer found, and are removed eventually."""

_ENTRY_POINTS: Final = ("modules.json", "config.json")
"""A folder with either file is a model: the library's list of parts, or the description of a bare transformer."""
_DEFINITIONS: Final = ("*.json", "*.txt", "*.model", "*/*.json")
"""The files other than weights that determine the vectors: modules, tokenizer, vocabulary, pooling."""
_WEIGHTS: Final = (("*.safetensors", "*/*.safetensors"), ("*.bin", "*/*.bin"))
"""The first kind that exists is used; older models have the second."""
_VOCABULARY: Final = ("tokenizer.json", "vocab.*", "*.model", "*.tiktoken", "whitespacetokenizer_config.json")
"""One of them must exist, here or in a part's folder. Otherwise the library makes a tokenizer without words."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model on this machine: the packaged one, or a folder of sentence-transformers."""

    name: str  # the model's name in an identity; the location of its folder does not matter to its vectors
    folder: Path
    weights: str  # the SHA-256 of its weights
    definition: str
    """A hash of the other files that determine the vectors; empty for the default model, whose tokenizer and graph
    never change without its weights."""

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that change with any file that determines the vectors."""
        beginning = f"{_EXPORT_VERSION}\n{self.name}\n{self.weights}"
        return _definition_digest(self.folder, beginning)[:12]


def find_source(model: str) -> ModelSource:
    """Return where the model's files are. No network is used, and no model library imported.

    Args:
        model: The default model's name, the absolute path of a folder, or a name in the library's local cache.
    """
    if model == DEFAULT_MODEL:
        source = packaged_source()
        if weights_digest(source.folder) != source.weights:
            raise EmbeddingUnavailableError(
                f"The packaged weights of {DEFAULT_MODEL} are damaged or missing.",
                hint="Reinstall learning-memory-server.",
            )
        return source
    found = _find_folder(
        model, "embedding model", "embedding_model", "sentence-transformers model", f" for {DEFAULT_MODEL}"
    )
    name = found.name if Path(model).is_absolute() else model
    return ModelSource(name, found, weights_digest(found), _definition_digest(found, "")[:16])


def find_reranker(model: str) -> Path:
    """Return the folder of a re-ranking model. No network is used, and no model library imported."""
    found = _find_folder(model, "re-ranking model", "reranker_model", "cross-encoder")
    if not is_reranker(found):
        raise EmbeddingUnavailableError(
            f"{model!r} is not a re-ranking model.",
            hint="Set reranker_model to a cross-encoder, such as cross-encoder/ms-marco-MiniLM-L6-v2.",
        )
    return found


def is_reranker(folder: Path) -> bool:
    """Return whether, by its files, a model scores a query and a text together.

    The library would turn any model into a re-ranker by giving it a last layer of random weights.
    """
    described = _read_json(folder / "config_sentence_transformers.json").get("model_type")
    architectures = _read_json(folder / "config.json").get("architectures") or [""]
    return described == "CrossEncoder" or (
        described is None and str(architectures[0]).endswith("ForSequenceClassification")
    )


def require_library() -> None:
    """Check that the optional dependency for other models is installed. It is not imported, which takes seconds."""
    for package in ("sentence-transformers", "torch"):
        if util.find_spec(package.replace("-", "_")) is None:
            raise EmbeddingUnavailableError(
                f"This model needs the extra sentence-transformers: the package {package} is not installed.",
                hint=INSTALL_EXTRA,
            )


def packaged_source() -> ModelSource:
    """Return the default model. Its weights are not read; loading it checks them."""
    return ModelSource(DEFAULT_MODEL, packaged_model(), DEFAULT_WEIGHTS_SHA256, "")


def packaged_model() -> Path:
    """Return the folder of the default model."""
    return Path(__file__).with_name("minilm")


def hub_name(model: str) -> str:
    """Return a model's full name on the Hugging Face hub; the library's own models may omit their owner."""
    return model if "/" in model else f"sentence-transformers/{model}"


def cache_directory() -> str | None:
    """Return where the library keeps downloaded models; None for the default of the hub's client."""
    return os.environ.get("SENTENCE_TRANSFORMERS_HOME")


def weights_digest(folder: Path) -> str:
    """Return the SHA-256 of the weights in a model folder, or an empty text if there are none."""
    found = _weight_files(folder)
    if not found:
        return ""
    digest = hashlib.sha256()
    for path in found:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_dimension(model: str, wanted: int | None, actual: int) -> None:
    """Check the length of a model's vectors against the setting."""
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
    # Even with local_files_only, the library asks huggingface.co for revisions. It reads this once, when imported.
    os.environ["HF_HUB_OFFLINE"] = "1"


def _find_folder(model: str, kind: str, setting: str, contents: str, otherwise: str = "") -> Path:
    """Return the folder of a model that has weights and a vocabulary."""
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
    """Return the content of a model's JSON file, or an empty dict if it cannot be read."""
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
