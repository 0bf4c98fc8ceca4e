"""Find and identify a model's local files without loading the model."""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import util
from pathlib import Path
from typing import Final

from learning_memory_server.embedding.base import DEFAULT_MODEL, EmbeddingIdentity
from learning_memory_server.embedding.graph import TOKENIZER, Graph, NotRunnableError, Prompts, read_graph, read_object
from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.system import files

RECORD: Final = "learning-memory.json"
_NAME: Final = re.compile(r"[\w.-]+/[\w.-]+", re.ASCII)


def hub_name(model: str) -> str:
    """Return a model's full name on the Hugging Face hub. The owner may be omitted for the library's own models."""
    return model if "/" in model else f"sentence-transformers/{model}"


def is_hub_name(model: str) -> bool:
    """Whether a name has the form of a model name on the hub."""
    return _NAME.fullmatch(hub_name(model)) is not None


def repository_of(model: str) -> Path:
    """Return the folder in the cache that a model has if it was downloaded."""
    from huggingface_hub.constants import HF_HUB_CACHE

    cache = Path(os.environ.get("SENTENCE_TRANSFORMERS_HOME") or HF_HUB_CACHE)
    return cache / f"models--{hub_name(model).replace('/', '--')}"


def recorded_commit(repository: Path) -> str | None:
    """Return the commit of the model that was used first; None if it was never used."""
    commit = read_object(repository / RECORD).get("commit")
    return commit if isinstance(commit, str) else None


def find_snapshot(model: str) -> Path | None:
    """Return the folder of a model's files: for the recorded commit, otherwise for the last downloaded one."""
    if not is_hub_name(model):
        return None
    repository = repository_of(model)
    commit = recorded_commit(repository)
    with suppress(OSError):
        commit = commit or (repository / "refs" / "main").read_text("utf-8").strip()
    found = repository / "snapshots" / commit if commit else None
    return found if found and found.is_dir() else None


def check_first_use(model: str, snapshot: Path, digests: Mapping[str, str]) -> None:
    """Record digests at the first use. Later, raise `EmbeddingUnavailableError` if one differs."""
    repository = snapshot.parent.parent
    record = read_object(repository / RECORD)
    known = record.get("digests")
    recorded: dict[str, str] = known if isinstance(known, dict) else {}
    for name, digest in digests.items():
        if recorded.get(name, digest) != digest:
            raise EmbeddingUnavailableError(
                f"The model {model!r} is not the one that was first used: the SHA-256 of {name} has changed.",
                hint=f"Run `learning-memory-server setup --model {model}`, which repairs it. If you changed it on "
                f"purpose, delete {repository / RECORD} first.",
            )
    if not digests.keys() <= recorded.keys():
        content = {"commit": snapshot.name, "digests": {**recorded, **digests}}
        # A read-only cache gets no record.
        with suppress(OSError):
            files.replace(repository / RECORD, json.dumps(content, indent=1).encode())


DEFAULT_WEIGHTS_SHA256: Final = "4b0d9929267ab7e5886f38429e9e56367e87ed3d46793b04202723510d365405"
"""The digest of the weights that `scripts/default_model.py` makes from the original ones."""

INSTALL_EXTRA: Final = (
    'Install this server again with the extra (in a checkout: pip install ".[sentence-transformers]"; from a wheel: '
    'pip install "FILE.whl[sentence-transformers]"), or run in its environment: pip install "sentence-transformers>=6,<7". '
    "On Linux, docs/how-to/install.md says how to avoid gigabytes of CUDA."
)
"""Each command names a file or the library: until this project is published, its name may be a stranger's package."""

_LIBRARY: Final = "sentence-transformers"
_ENTRY_POINTS: Final = ("modules.json", "config.json")  # A folder with any of these files is a model
_DEFINITIONS: Final = ("*.json", "*.txt", "*.model", "*/*.json")  # Files other than weights that affect vectors
_WEIGHTS: Final = (("*.safetensors", "*/*.safetensors"), ("*.bin", "*/*.bin"))
"""The first existing kind is used; older models have the second."""
_VOCABULARY: Final = (TOKENIZER, "vocab.*", "*.model", "*.tiktoken", "whitespacetokenizer_config.json")
"""At least one must exist, here or in a module's folder: otherwise the library makes a tokenizer without words."""


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A local model: the packaged one, or a folder in the layout of sentence-transformers."""

    provider: str  # the backend's name in an identity
    name: str  # the model's name in an identity; the folder's location does not matter
    folder: Path
    weights: str  # the SHA-256 of its weights
    definition: str  # Other parameters that determine the vectors; empty for the default model
    graph: Graph | None  # the parameters for onnxruntime; None if only the library can run it
    obstacle: str = ""  # the reason why onnxruntime cannot run it

    def identity(self, dimension: int, max_tokens: int) -> EmbeddingIdentity:
        """Return the identity of the model's vectors."""
        return EmbeddingIdentity(self.provider, self.name, self.weights, dimension, max_tokens, self.definition)


def find_source(model: str) -> ModelSource:
    """Return a model's files and their identity, without network access or a model library.

    Args:
        model: The absolute path of a folder, or a name in the local cache; optionally followed by `/` and an ONNX file.
    """
    folder = _find_folder(model, "embedding model", "embedding_model", f" for {DEFAULT_MODEL}")
    stated, wanted = split_file(model)
    is_folder = Path(stated).is_absolute()
    name = folder.name if is_folder else stated
    graph, obstacle = None, ""
    try:
        graph = read_graph(folder, name, onnx_files(folder), wanted)
    except NotRunnableError as error:
        obstacle = str(error)
        if wanted or not _weight_files(folder):
            raise EmbeddingUnavailableError(
                f"The embedding model {model!r} cannot be run: {obstacle}.",
                hint="Correct its files, or choose another model; docs/how-to/models.md names some.",
            ) from error
    if graph is None:
        digests = {"weights": _digest(_weight_files(folder)), "definition": _definition_digest(folder)[:16]}
        source = ModelSource(_LIBRARY, name, folder, digests["weights"], digests["definition"], None, obstacle)
    else:
        # Weights above 2 GB are in a separate file, next to the graph.
        parts = sorted((folder / graph.file).parent.glob(f"{Path(graph.file).name}*"))
        digests = {graph.file: _digest(parts), TOKENIZER: file_digest(folder / TOKENIZER)}
        definition = f"{graph.definition} {digests[TOKENIZER][:16]}"
        source = ModelSource("onnxruntime", name, folder, digests[graph.file], definition, graph)
    if not is_folder:
        check_first_use(stated, folder, digests)
    return source


def packaged_source() -> ModelSource:
    """Return the default model. Its weights are verified only when it is loaded."""
    graph = Graph("model.onnx", 256, "in the graph", Prompts(), lowercase=False)
    return ModelSource(_LIBRARY, DEFAULT_MODEL, packaged_model(), DEFAULT_WEIGHTS_SHA256, "", graph)


def check_packaged() -> None:
    """Verify the weights of the default model."""
    if file_digest(packaged_model() / "weights.bin") != DEFAULT_WEIGHTS_SHA256:
        raise EmbeddingUnavailableError(
            f"The packaged weights of {DEFAULT_MODEL} are damaged.", hint="Reinstall learning-memory-server."
        )


def packaged_model() -> Path:
    """Return the folder of the default model."""
    return Path(__file__).with_name("minilm")


def model_folder(model: str) -> Path:
    """Return the folder of an embedding model, without reading its weights."""
    if model == DEFAULT_MODEL:
        return packaged_model()
    return _find_folder(model, "embedding model", "embedding_model", f" for {DEFAULT_MODEL}")


def find_reranker(model: str) -> Path:
    """Return the folder of a re-ranking model, without network access and without importing a model library."""
    found = _find_folder(model, "re-ranking model", "reranker_model")
    if not is_reranker(found):
        raise EmbeddingUnavailableError(
            f"{model!r} is not a re-ranking model.",
            hint="Set reranker_model to a cross-encoder, such as cross-encoder/ms-marco-MiniLM-L6-v2.",
        )
    return found


def is_reranker(folder: Path) -> bool:
    """Whether a model scores a query and a text together, according to its files."""
    described = read_object(folder / "config_sentence_transformers.json").get("model_type")
    architectures = read_object(folder / "config.json").get("architectures") or [""]
    return described == "CrossEncoder" or (
        described is None and str(architectures[0]).endswith("ForSequenceClassification")
    )


def require_library(obstacle: str = "") -> None:
    """Raise an error if the optional library is missing. `obstacle` is the reason why onnxruntime is not enough."""
    for package in ("sentence-transformers", "torch"):
        if util.find_spec(package.replace("-", "_")) is None:
            reason = f"{obstacle}, and " if obstacle else ""
            raise EmbeddingUnavailableError(
                f"This model needs the extra sentence-transformers: {reason}the package {package} is not installed.",
                hint=INSTALL_EXTRA,
            )


@contextmanager
def loading_errors(kind: str, model: str) -> Iterator[None]:
    """Translate any exception of a library for a local model that cannot be loaded."""
    try:
        yield
    except EmbeddingUnavailableError:
        raise
    except Exception as error:  # each library raises its own exceptions for a damaged file
        hint = "If its files are damaged, remove them and download them again."
        if needs_own_code := "trust_remote_code" in str(error):
            hint = "It needs its own code, which this server never runs: choose another model."
        raise EmbeddingUnavailableError(
            f"The {kind} model {model!r} could not be loaded ({type(error).__name__}).",
            hint=hint,
            doctor=None if needs_own_code else "",
        ) from error


def split_file(model: str) -> tuple[str, str]:
    """Split a model's name or folder from the path of an ONNX file after it; the path is empty if there is none."""
    path = Path(model)
    if path.suffix != ".onnx":
        return model, ""
    if path.is_absolute():
        folder = path.parent.parent if path.parent.name == "onnx" else path.parent
        return str(folder), path.relative_to(folder).as_posix()
    parts = model.split("/")
    return "/".join(parts[:2]), "/".join(parts[2:])


def onnx_files(folder: Path) -> list[str]:
    """Return the paths of the ONNX files in a model's folder."""
    found = (path for pattern in ("*.onnx", "onnx/*.onnx") for path in folder.glob(pattern))
    return [path.relative_to(folder).as_posix() for path in found]


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return _digest([path])


def _digest(paths: Sequence[Path]) -> str:
    """Return the SHA-256 of the concatenated files."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            hashlib.file_digest(file, lambda: digest)
    return digest.hexdigest()


def _definition_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    files = {path for pattern in _DEFINITIONS for path in folder.glob(pattern)}
    for path in sorted(files):
        digest.update(os.fsencode(f"\n{path.relative_to(folder)}\n{file_digest(path)}"))
    return digest.hexdigest()


def _find_folder(model: str, kind: str, setting: str, otherwise: str = "") -> Path:
    """Return the folder of a model that has weights and a vocabulary. Raises EmbeddingUnavailableError otherwise."""
    stated, _ = split_file(model)
    is_folder = Path(stated).is_absolute()
    found = Path(stated) if is_folder else find_snapshot(stated)
    if found is None or not any((found / name).is_file() for name in _ENTRY_POINTS):
        raise EmbeddingUnavailableError(
            f"The {kind} {model!r} is not on this machine.",
            hint=f"Set {setting} to the folder of a model, or leave it out{otherwise}."
            if is_folder
            else f"Run `learning-memory-server setup --model {model}`, or leave {setting} out{otherwise}. "
            "A folder is named by its absolute path.",
        )
    weights = _weight_files(found) or onnx_files(found)
    for part, those in (("weights", weights), ("vocabulary", _vocabulary_files(found))):
        if not those:
            raise EmbeddingUnavailableError(
                f"The {kind} {model!r} is incomplete: it has no {part}.",
                hint="Copy the whole folder." if is_folder else f"Run `learning-memory-server setup --model {model}`.",
            )
    return found


def _weight_files(folder: Path) -> list[Path]:
    for patterns in _WEIGHTS:
        if found := sorted(path for pattern in patterns for path in folder.glob(pattern)):
            return found
    return []


def _vocabulary_files(folder: Path) -> list[Path]:
    return [path for name in _VOCABULARY for pattern in (name, f"*/{name}") for path in folder.glob(pattern)]
