"""Load the packaged model, now or ahead of its first use, or another model. Importing this module is quick."""

from collections.abc import Callable, Mapping

from learning_memory_server.embedding.base import DEFAULT_MODEL, Embedder
from learning_memory_server.embedding.source import find_source, loading_errors
from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.errors import EmbeddingUnavailableError


def load_packaged() -> Embedder:
    """Load the packaged model."""
    from learning_memory_server.embedding.onnx_runtime import open_packaged

    try:
        return open_packaged()
    except Exception as error:  # any exception of the libraries for a missing or damaged file
        raise EmbeddingUnavailableError(
            f"The packaged model {DEFAULT_MODEL} could not be loaded ({type(error).__name__}).",
            hint="Reinstall learning-memory-server. If it still fails, `learning-memory-server doctor` says why.",
        ) from error


def load_ahead(raw: Mapping[str, object], load: Callable[[], Embedder] = load_packaged) -> Callable[[], Embedder]:
    """Start to load the packaged model in a thread if the settings use it. Return a function that waits for it."""
    backend, model = raw.get("embedding_backend"), raw.get("embedding_model")
    if backend not in (None, "sentence-transformers") or model not in (None, DEFAULT_MODEL):
        return load
    loading = in_daemon_thread(load)

    def loaded() -> Embedder:
        return load() if loading.done() and loading.exception() else loading.result()

    return loaded


def load_embedder(model: str, packaged: Callable[[], Embedder] = load_packaged) -> Embedder:
    """Load a model, for onnxruntime if possible, otherwise for the library of the extra.

    Args:
        model: The default model's name, or an argument of `find_source`.
        packaged: Loads the packaged model, or waits for one that is being loaded.
    """
    if model == DEFAULT_MODEL:
        return packaged()
    source = find_source(model)
    with loading_errors("embedding", model):
        if source.graph:
            from learning_memory_server.embedding.onnx_runtime import OnnxEmbedder

            return OnnxEmbedder(source)
        from learning_memory_server.embedding.extras.sentence import SentenceEmbedder

        return SentenceEmbedder(source)
