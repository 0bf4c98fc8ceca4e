"""The models and engines that the settings name. Each adapter is imported where it is built."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import structlog

from learning_memory_server.embedding.loading import load_embedder, load_packaged
from learning_memory_server.embedding.source import model_folder
from learning_memory_server.embedding.tokens import EstimatedTokens, ModelTokens
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.engines.server_log import urls_of
from learning_memory_server.index.memory_chunks import Chunker
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.system import timeouts
from learning_memory_server.system.files import make_private_directory, mark_rebuildable

if TYPE_CHECKING:
    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity, Reranker
    from learning_memory_server.index.engines.availability import Availability
    from learning_memory_server.index.engines.base import VectorStore
    from learning_memory_server.index.engines.qdrant import QdrantStore
    from learning_memory_server.server.settings import Settings

log = structlog.get_logger()


def model_server(settings: Settings) -> Callable[[], object] | None:
    """Return a check of the embedding model's server, which raises `ModelServerAwayError`; None without a server."""
    if settings.embedding_backend != "ollama":
        return None

    def reach() -> str:
        from learning_memory_server.embedding.extras.ollama import OllamaServer

        return OllamaServer(settings.ollama_url, timeouts.REACH).version()

    return reach


def load_model(settings: Settings, packaged: Callable[[], Embedder] = load_packaged) -> Embedder:
    """Load the embedding model; this can take seconds."""
    if settings.embedding_backend == "hashing":
        from learning_memory_server.embedding.hashing import HashingEmbedder

        return HashingEmbedder()
    if settings.embedding_backend == "ollama":
        from learning_memory_server.embedding.extras.ollama import OllamaEmbedder

        return OllamaEmbedder(settings.embedding_model, settings.ollama_url)
    return load_embedder(settings.embedding_model, packaged)


def redaction_gate(settings: Settings) -> RedactionGate:
    """Return what takes secrets out of what is stored."""
    if not settings.redaction:
        return RedactionGate()
    return RedactionGate(
        build_redactor(settings.redaction_patterns, settings.redaction_allow),
        is_bounded=not (settings.redaction_patterns or settings.redaction_allow),
    )


def load_reranker(model: str) -> Reranker:
    """Load a re-ranking model; this takes seconds."""
    from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker

    return CrossEncoderReranker(model)


def chunkers(settings: Settings) -> Callable[[], Chunker]:
    """Return a function for the chunker of the configured model, with estimates until its tokenizer is there."""
    estimating, exact = Chunker(EstimatedTokens()), list[Chunker]()

    def chunker() -> Chunker:
        if settings.embedding_backend != "sentence-transformers":
            return estimating
        if not exact:
            try:
                exact.append(Chunker(ModelTokens(model_folder(settings.embedding_model))))
            except Exception as error:  # noqa: BLE001 - whatever the library finds wrong with the file
                log.warning("tokenizer.missing", type=type(error).__name__)
                return estimating
        return exact[0]

    return chunker


def open_embedded(settings: Settings, identity: EmbeddingIdentity) -> VectorStore:
    """Return the embedded engine for one identity."""
    from learning_memory_server.index.engines.edge import EdgeStore

    make_private_directory(settings.index_directory)
    mark_rebuildable(settings.index_directory)
    return EdgeStore(settings.index_directory / identity.digest)


def remove_unused_indexes(settings: Settings, identity: EmbeddingIdentity) -> int:
    """Remove the embedded engine's files of every model that is not in use; return how many."""
    used = settings.index_directory / identity.digest if settings.qdrant_url is None else None
    try:
        found = list(settings.index_directory.iterdir()) if settings.index_directory.is_dir() else []
        unused = [path for path in found if path != used and path.is_dir()]
        for path in unused:
            shutil.rmtree(path)
    except OSError as error:
        raise StorageUnavailableError(
            f"An index that is not used cannot be removed ({error.strerror}).",
            hint=f"Remove what is in {settings.index_directory} yourself; it is rebuilt from the journal.",
        ) from error
    return len(unused)


def open_server(
    settings: Settings,
    url: str,
    key: str | None,
    availability: Availability | None = None,
    before_use: Callable[[str, str], None] | None = None,
) -> QdrantStore:
    """Return a Qdrant server for the owner of the storage folder, without a connection.

    `url` may name other nodes than the settings. `before_use` is called with it and the owner before the first point is
    written.
    """
    from learning_memory_server.index.engines.owner import open_owner
    from learning_memory_server.index.engines.qdrant import QdrantStore

    owner = open_owner(settings.owner_file)
    return QdrantStore(
        urls_of(url),
        owner,
        api_key=key,
        allow_plaintext_key=settings.qdrant_allow_plaintext_key,
        availability=availability,
        before_use=partial(before_use, url, owner.name) if before_use else lambda: None,
    )
