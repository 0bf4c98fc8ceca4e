"""The composition root: the one place where parts meet."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import structlog

from learning_memory_server.clustering.child import ChildFitting
from learning_memory_server.clustering.experiences import ExperienceClusterer
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.embedding.loading import ModelExporter, load_embedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.indexing.index import VectorIndex
from learning_memory_server.indexing.writer import IndexWriter
from learning_memory_server.journal.files import make_private_directory
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.lock import hold
from learning_memory_server.observation.collector import ObservationCollector
from learning_memory_server.observation.documents import FILTER_FIELDS
from learning_memory_server.observation.persister import ExperienceSource, ObservationPersister
from learning_memory_server.search.searcher import Searcher
from learning_memory_server.values.store import ValueLog, ValueStore

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity
    from learning_memory_server.server.config import Settings
    from learning_memory_server.storage.base import VectorStore

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that tools and commands work with, built once."""

    settings: Settings
    journal: Journal
    collector: ObservationCollector
    embeddings: EmbeddingService
    index: VectorIndex
    writer: IndexWriter
    persister: ObservationPersister
    searcher: Searcher
    clusterer: ExperienceClusterer
    values: ValueStore

    def injectable(self) -> dict[type, object]:
        """Return the services that tools may ask for, by type."""
        offered = (self.collector, self.persister, self.searcher, self.clusterer, self.values)
        return {type(service): service for service in offered}


@asynccontextmanager
async def open_services(
    settings: Settings,
    *,
    purpose: str,
    clock: Clock = utc_now,
    load: Callable[[], Embedder] | None = None,
) -> AsyncIterator[Services]:
    """Hold the journal and the store, and build the services over them.

    Nothing heavy is imported or loaded here; `writer.run` begins that.

    Args:
        settings: What to build.
        purpose: Shown to others who find the journal held.
        clock: Tells the time.
        load: Makes the model, in place of what the settings say; for one that is loaded already.

    Raises:
        AlreadyRunningError: If another process holds the journal or the store.
        JournalUnavailableError: If the journal cannot be used.
    """
    with hold((settings.journal_directory, settings.storage_path), purpose):
        async with services_over(settings, clock, load) as services:
            yield services


@asynccontextmanager
async def services_over(
    settings: Settings, clock: Clock, load: Callable[[], Embedder] | None = None
) -> AsyncIterator[Services]:
    """Build the services over a journal and a storage that this process holds already."""
    journal = Journal(settings.journal_directory)
    for path in journal.recover(clock()):
        log.warning("journal.recovered", set_aside=path.name)
    exporter = ModelExporter()
    services = _build(settings, journal, clock, load or (lambda: load_model(settings, exporter)))
    try:
        yield services
    finally:
        exporter.stop()
        await services.index.close()


def _build(settings: Settings, journal: Journal, clock: Clock, load: Callable[[], Embedder]) -> Services:
    collector = ObservationCollector(journal, clock)
    value_log = ValueLog(journal.values)
    embeddings = EmbeddingService(load)
    index = VectorIndex(
        embeddings,
        lambda identity: _open_store(settings, identity),
        FILTER_FIELDS,
    )
    writer = IndexWriter(index, [ExperienceSource(collector), value_log])
    clusterer = ExperienceClusterer(
        index,
        writer,
        collector,
        ChildFitting(settings.hdbscan_min_cluster_size, settings.hdbscan_min_samples),
        journal.clusters,
        clock,
        settings.min_experiences,
    )
    return Services(
        settings=settings,
        journal=journal,
        collector=collector,
        embeddings=embeddings,
        index=index,
        writer=writer,
        persister=ObservationPersister(writer),
        searcher=Searcher(index, writer, collector),
        clusterer=clusterer,
        values=ValueStore(value_log, clusterer, index, writer, clock),
    )


# The adapters are imported where they are made: each costs between a tenth of a second and several.


def load_model(settings: Settings, exporter: ModelExporter | None = None) -> Embedder:
    """Load the model that the settings name; this takes up to seconds.

    Args:
        settings: Which model, and what runs it.
        exporter: Makes an export that is missing, for the next time.

    Raises:
        EmbeddingUnavailableError: If it cannot be loaded, or makes vectors of another length.
    """
    if settings.embedding_backend == "hashing":
        from learning_memory_server.embedding.hashing import HashingEmbedder  # noqa: PLC0415

        return HashingEmbedder(settings.embedding_dimension or 384)
    if settings.embedding_backend == "ollama":
        from learning_memory_server.embedding.ollama import OllamaEmbedder  # noqa: PLC0415

        return OllamaEmbedder(settings.embedding_model, settings.embedding_dimension, settings.ollama_url)
    return load_embedder(
        settings.embedding_model, settings.embedding_dimension, settings.models_directory, exporter
    )


def _open_store(settings: Settings, identity: EmbeddingIdentity) -> VectorStore:
    """Return the engine for one identity: vectors of two models are never in one collection."""
    if settings.qdrant_url is None:
        from learning_memory_server.storage.edge import EdgeStore  # noqa: PLC0415

        make_private_directory(settings.index_directory)
        return EdgeStore(settings.index_directory / identity.digest)
    from learning_memory_server.storage.qdrant import QdrantStore  # noqa: PLC0415

    key = settings.qdrant_api_key
    return QdrantStore(
        settings.qdrant_url, api_key=key.get_secret_value() if key else None, suffix=identity.digest
    )
