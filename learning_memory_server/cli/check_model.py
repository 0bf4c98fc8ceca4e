"""Checks of the embedding model: its library or server, its weights, and whether it makes vectors."""

from __future__ import annotations

from importlib import metadata, util
from time import monotonic
from typing import TYPE_CHECKING, Final

from learning_memory_server.cli.finding import Level, green, red, yellow
from learning_memory_server.embedding import exports
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.probe import PROBE
from learning_memory_server.embedding.source import find_source
from learning_memory_server.errors import LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from learning_memory_server.cli.finding import Finding
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.server.config import Settings

_CPU_ONLY: Final = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
_OLLAMA_SECONDS: Final = 10.0


async def check_model(
    settings: Settings, load: Callable[[], Embedder], *, quick: bool, of_hub: Finding | None = None
) -> AsyncIterator[Finding]:
    """Look at the model, and load it and embed a sentence.

    Args:
        settings: Which model, and what runs it.
        load: Loads it.
        quick: Do not load it.
        of_hub: What is known from a hub, which knows more if it has loaded it.
    """
    if settings.embedding_backend == "hashing":
        yield yellow("model", "The hashing backend finds shared words only; it is meant for tests.")
        return
    of_backend = _check_ollama if settings.embedding_backend == "ollama" else _check_sentence_transformers
    sound = True
    for finding in of_backend(settings):
        sound = sound and finding.level is not Level.RED
        yield finding
    if of_hub:
        yield of_hub
    if quick and not of_hub:
        yield green("model", "Not loaded (--quick).")
    # A hub that failed does not tell why; trying it here does.
    elif sound and not quick and (of_hub is None or of_hub.level is Level.RED):
        yield await _probe(settings, load)


def _check_ollama(settings: Settings) -> Iterator[Finding]:
    from learning_memory_server.embedding.ollama_server import OllamaServer  # noqa: PLC0415

    server, model = OllamaServer(settings.ollama_url, _OLLAMA_SECONDS), settings.embedding_model
    try:
        yield green("model", f"Ollama {server.version()} answers at {server.address}.")
        yield green("model", f"It has {model} (digest {server.digest_of(model)[:12]}).")
    except LearningMemoryError as error:
        yield red("model", error.sentence)


def _check_sentence_transformers(settings: Settings) -> Iterator[Finding]:
    missing = False
    for finding in _check_libraries():
        missing = missing or finding.level is Level.RED
        yield finding
    if not missing or settings.embedding_model == DEFAULT_MODEL:
        yield from _check_files(settings)


def _check_libraries() -> Iterator[Finding]:
    for module, package in (("sentence_transformers", "sentence-transformers"), ("torch", "torch")):
        # Found, not imported: that takes seconds, and loading the model shows whether it works.
        if util.find_spec(module) is None:
            install = _CPU_ONLY if module == "torch" else f"pip install {package}"
            yield red("model", f"The package {package} is not installed; run: {install}")
        elif module == "torch" and any(_is_cuda(found) for found in metadata.distributions()):
            yield yellow(
                "model",
                f"torch came with gigabytes of CUDA that are not used here; to do without: {_CPU_ONLY}",
            )
        else:
            yield green("model", f"{package} {_version(package)} is installed.")


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _is_cuda(distribution: metadata.Distribution) -> bool:
    return (distribution.metadata["Name"] or "").lower().startswith("nvidia-cuda-runtime")


def _check_files(settings: Settings) -> Iterator[Finding]:
    model, models = settings.embedding_model, settings.models_directory
    try:
        source = find_source(model)
    except LearningMemoryError as error:
        yield red("model", error.sentence)
        return
    except OSError as error:
        yield red("model", f"The files of {model} cannot be read ({error.strerror}).")
        return
    if model == DEFAULT_MODEL:
        yield green("model", f"{model}, the packaged weights are the known ones.")
    else:
        yield green("model", f"{model}, in {source.folder}.")
    failure = exports.failure_of(models, source)
    if exports.has_export(models, source):
        yield green("model", "There is an export, so that it loads without torch.")
    elif failure is not None:
        yield yellow(
            "model",
            f"It could not be exported, so it loads slowly and needs more memory ({failure}). This is tried again with "
            f"other versions of the packages, or after: rm '{exports.failure_path(models, source)}'",
        )
    else:
        yield green(
            "model",
            "There is no export yet; a server makes it after its first start, unless the model is unusual.",
        )


async def _probe(settings: Settings, load: Callable[[], Embedder]) -> Finding:
    from learning_memory_server.embedding.service import EmbeddingService  # noqa: PLC0415

    embeddings = EmbeddingService(load)
    began = monotonic()
    try:
        vector = await embeddings.embed_query(PROBE)
    except LearningMemoryError as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        return red("model", " ".join(filter(None, (error.message + cause, error.hint))))
    finally:
        embeddings.close()
    sentence = f"Loaded by {embeddings.runtime}, and made a vector of length {len(vector)}, in {monotonic() - began:.1f} s."
    if embeddings.runtime == "sentence-transformers" and exports.has_export(
        settings.models_directory, find_source(settings.embedding_model)
    ):
        return yellow("model", f"{sentence} The export does not work; the next server replaces it.")
    return green("model", sentence)
