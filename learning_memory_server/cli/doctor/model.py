"""Check the embedding model, whether it works on this machine, and the files of the re-ranking model."""

import asyncio
from collections.abc import Callable, Iterator
from importlib import metadata
from time import monotonic
from typing import Any

from learning_memory_server.cli.command import describe_model
from learning_memory_server.cli.doctor import Finding, Level, about, all_sound, green, red, yellow
from learning_memory_server.embedding.base import DEFAULT_MODEL, PROBE, Embedder
from learning_memory_server.embedding.scale import DEFAULT_SCALE, known_scale
from learning_memory_server.embedding.source import check_packaged, find_reranker, find_source, require_library
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.server.settings import Settings
from learning_memory_server.system import timeouts


def check_model(
    settings: Settings, load: Callable[[], Embedder], *, quick: bool, hub: dict[str, Any] | None = None
) -> Iterator[Finding]:
    """Check the model's files. Unless the hub (with this status) has loaded it, load it and embed a sentence."""
    if settings.embedding_backend == "hashing":
        yield yellow("The hashing backend matches shared words only; it is meant for tests.")
        return
    of_backend = _check_ollama if settings.embedding_backend == "ollama" else _check_here
    sound = yield from all_sound(about("model", of_backend(settings)))
    of_hub = _check_in_hub(hub) if hub else None
    if hub and of_hub:
        yield of_hub
        if of_hub.level is Level.GREEN and settings.embedding_model != DEFAULT_MODEL:
            yield _scale(hub.get("unrelated"), hub.get("scale_failed", ""))
    if quick and not of_hub:
        yield green("Not loaded (--quick).")
    # A hub does not report why its model failed; loading it here does.
    elif sound and not quick and (of_hub is None or of_hub.level is Level.RED):
        yield from _probe(load, settings)


def _check_in_hub(status: dict[str, Any]) -> Finding | None:
    """Report the state of the hub's model; None if the hub has not needed it yet."""
    match status["model"]:
        case "ready":
            return green(f"The hub has loaded it: {describe_model(status)}.")
        case "loading":
            return green("The hub is loading it.")
        case "failed":
            return red("The hub could not load it; run `learning-memory-server hub logs` to see why.")
        case _:
            return None


def _check_ollama(settings: Settings) -> Iterator[Finding]:
    from learning_memory_server.embedding.extras.ollama import OllamaServer

    server, model = OllamaServer(settings.ollama_url, timeouts.DOCTOR_OLLAMA), settings.embedding_model
    yield green(f"Ollama {server.version()} answers at {server.address}.")
    yield green(f"It has {model} (digest {server.digest_of(model)[:12]}).")


def _check_here(settings: Settings) -> Iterator[Finding]:
    model = settings.embedding_model
    try:
        if model == DEFAULT_MODEL:
            check_packaged()
            yield green(f"{DEFAULT_MODEL}: the packaged weights are intact.")
            return
        source = find_source(model)
        if not source.graph:
            require_library(source.obstacle)
    except OSError as error:
        yield red(f"The files of {model} cannot be read ({error.strerror}).")
        return
    yield green(f"{model}, in {source.folder}.")
    if source.graph:
        yield green(f"onnxruntime runs it: {source.graph.description}.")
    else:
        yield from _check_libraries(source.obstacle)


def _check_libraries(obstacle: str) -> Iterator[Finding]:
    versions = f"sentence-transformers {_version('sentence-transformers')} with torch {_version('torch')}"
    yield green(f"{versions} runs it, because {obstacle}.")
    packages = ((found.metadata["Name"] or "").lower() for found in metadata.distributions())
    if any(name.startswith("nvidia-cuda-runtime") for name in packages):
        yield yellow(
            "torch brought gigabytes of CUDA libraries that are not used here. To save the space, install a CPU "
            "build of torch; docs/how-to/install.md says how."
        )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "of unknown version"


def _probe(load: Callable[[], Embedder], settings: Settings) -> Iterator[Finding]:
    from learning_memory_server.embedding.service import EmbeddingService

    embeddings = EmbeddingService(load)
    began = monotonic()
    try:
        vector = asyncio.run(embeddings.embed_query(PROBE))
        identity = asyncio.run(embeddings.identity())
    except LearningMemoryError as error:
        yield red(_explained(error))
        return
    finally:
        embeddings.close()
    yield green(
        f"Loaded by {embeddings.runtime}, and made a vector of length {len(vector)}, in {monotonic() - began:.1f} s."
    )
    if settings.embedding_model != DEFAULT_MODEL:
        known = known_scale(identity, settings.scales_file)
        yield _scale(known.unrelated if known else None)


def _scale(unrelated: float | None, failure: str = "") -> Finding:
    """Report the scale of a model other than the default one, if measured."""
    if unrelated is not None:
        return green(
            f"Its scale was measured: texts about different things have a cosine of {unrelated:.2f} "
            f"({DEFAULT_SCALE.unrelated:.2f} with the default model). The thresholds follow it."
        )
    return yellow(
        "Its scale is not measured yet; a hub does that in the background. Until then, it gives no advice, "
        f"and searches leave no weak match out. {failure and f'The last attempt failed: {failure}'}".rstrip()
    )


def _explained(error: LearningMemoryError) -> str:
    cause = f" ({error.__cause__})" if error.__cause__ else ""
    return " ".join(filter(None, (error.message + cause, error.hint_for(in_doctor=True))))


def check_reranker(model: str) -> Iterator[Finding]:
    """Check that the model's files and the library that runs them are installed."""
    try:
        folder = find_reranker(model)
        require_library()
        yield green(f"The files of {model} are in {folder}.")
    except LearningMemoryError as error:
        yield yellow(f"{error.in_doctor} Searches work, but their results are not re-ranked.")
