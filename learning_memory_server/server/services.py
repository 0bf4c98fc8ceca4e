"""The composition root: the one place where parts meet."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.clustering.child import ChildFitting
from learning_memory_server.clustering.experiences import ExperienceClusterer
from learning_memory_server.clustering.kept_fits import KeptFits
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.embedding.loading import ModelExporter, load_embedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.embedding.tokens import EstimatedTokens, ModelTokens, model_folder
from learning_memory_server.indexing.index import VectorIndex
from learning_memory_server.indexing.reranking import Reranking
from learning_memory_server.indexing.writer import IndexWriter
from learning_memory_server.journal.files import make_private_directory
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.lock import hold
from learning_memory_server.memories.cutting import Cutter
from learning_memory_server.memories.documents import SHAPES as MEMORY_SHAPES
from learning_memory_server.memories.log import MemoryLog
from learning_memory_server.memories.searcher import MemorySearcher
from learning_memory_server.memories.store import MemoryStore
from learning_memory_server.observation.collector import ObservationCollector
from learning_memory_server.observation.documents import SHAPES
from learning_memory_server.observation.persister import ExperienceSource, ObservationPersister
from learning_memory_server.search.searcher import Searcher
from learning_memory_server.server.statistics import Statistics
from learning_memory_server.values.log import ValueLog
from learning_memory_server.values.store import ValueStore
from learning_memory_server.values.witness_log import WitnessLog
from learning_memory_server.values.witnesses import Witnesses

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity, Reranker
    from learning_memory_server.indexing.writer import DocumentSource
    from learning_memory_server.server.config import Settings
    from learning_memory_server.storage.base import VectorStore

log = structlog.get_logger()

ALL_SHAPES: Final = {**SHAPES, **MEMORY_SHAPES}
"""What searches filter on, in every collection."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that tools and commands work with, built once."""

    settings: Settings
    clock: Clock
    journal: Journal
    collector: ObservationCollector
    embeddings: EmbeddingService
    index: VectorIndex
    reranking: Reranking
    sources: tuple[DocumentSource, ...]
    writer: IndexWriter
    persister: ObservationPersister
    searcher: Searcher
    clusterer: ExperienceClusterer
    value_log: ValueLog
    values: ValueStore
    memory_log: MemoryLog
    memories: MemoryStore
    memory_searcher: MemorySearcher
    statistics: Statistics

    def injectable(self) -> dict[type, object]:
        """Return the services that tools may ask for, by type."""
        offered = (
            self.collector,
            self.persister,
            self.searcher,
            self.clusterer,
            self.values,
            self.memories,
            self.memory_searcher,
            self.statistics,
        )
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
    refitting = asyncio.create_task(services.clusterer.run())
    try:
        yield services
    finally:
        refitting.cancel()
        await asyncio.gather(refitting, return_exceptions=True)
        await services.clusterer.close()
        exporter.stop()
        await services.index.close()


def _build(settings: Settings, journal: Journal, clock: Clock, load: Callable[[], Embedder]) -> Services:
    collector = ObservationCollector(journal, clock)
    value_log = ValueLog(journal.values)
    embeddings = EmbeddingService(load)
    index = VectorIndex(embeddings, lambda identity: _open_store(settings, identity), ALL_SHAPES)
    reranking = Reranking(
        embeddings,
        partial(load_reranker, settings.reranker_model) if settings.reranker_model else None,
    )
    memory_log = MemoryLog(journal.memories, _cutters(settings))
    sources = (ExperienceSource(collector), value_log, memory_log)
    writer = IndexWriter(index, sources)
    clusterer = ExperienceClusterer(
        index,
        writer,
        collector,
        ChildFitting(settings.hdbscan_min_cluster_size, settings.hdbscan_min_samples),
        journal.clusters,
        KeptFits(
            settings.clusters_directory,
            f"{settings.hdbscan_min_cluster_size} {settings.hdbscan_min_samples}",
        ),
        clock,
        settings.min_experiences,
    )
    return Services(
        settings=settings,
        clock=clock,
        journal=journal,
        collector=collector,
        embeddings=embeddings,
        index=index,
        reranking=reranking,
        sources=sources,
        writer=writer,
        persister=ObservationPersister(writer),
        searcher=Searcher(index, writer, collector, reranking),
        clusterer=clusterer,
        value_log=value_log,
        values=ValueStore(
            value_log,
            Witnesses(WitnessLog(journal.evidence), collector, index, clock),
            collector,
            clusterer,
            index,
            writer,
            clock,
        ),
        memory_log=memory_log,
        memories=MemoryStore(memory_log, writer, clock),
        memory_searcher=MemorySearcher(index, writer, memory_log, reranking),
        statistics=Statistics(settings, journal, collector, value_log, memory_log, embeddings, writer),
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


def load_reranker(model: str) -> Reranker:
    """Load a re-ranking model; this takes seconds.

    Raises:
        EmbeddingUnavailableError: If it is not on this machine, or cannot be used.
    """
    from learning_memory_server.embedding.sentence import CrossEncoderReranker  # noqa: PLC0415 - leads to torch

    return CrossEncoderReranker(model)


def _cutters(settings: Settings) -> Callable[[], Cutter]:
    """Return what gives the cutter of the model that the settings name, whether or not it is loaded yet.

    Chunks that are cut by an estimate are cut anew once the model's own tokenizer is found: a model may be fetched
    while the server runs.
    """
    estimating, exact = Cutter(EstimatedTokens()), list[Cutter]()

    def cutter() -> Cutter:
        if settings.embedding_backend != "sentence-transformers":
            return estimating
        if not exact:
            try:
                exact.append(Cutter(ModelTokens(model_folder(settings.embedding_model))))
            except Exception as error:  # noqa: BLE001 - whatever the library finds wrong with the file
                log.warning("tokenizer.missing", reason=f"{type(error).__name__}: {error}")
                return estimating
        return exact[0]

    return cutter


def _open_store(settings: Settings, identity: EmbeddingIdentity) -> VectorStore:
    """Return the engine for one identity: vectors of two models are never in one collection."""
    if settings.qdrant_url is None:
        return open_embedded(settings, identity)
    key = settings.qdrant_api_key
    return open_server(settings, identity, settings.qdrant_url, key.get_secret_value() if key else None)


def open_embedded(settings: Settings, identity: EmbeddingIdentity) -> VectorStore:
    """Return the embedded engine for one identity."""
    from learning_memory_server.storage.edge import EdgeStore  # noqa: PLC0415

    make_private_directory(settings.index_directory)
    return EdgeStore(settings.index_directory / identity.digest)


def open_server(settings: Settings, identity: EmbeddingIdentity, url: str, key: str | None) -> VectorStore:
    """Return a Qdrant server for one identity. Nothing is asked of it yet.

    Args:
        settings: How a cluster spreads new collections.
        identity: Whose vectors it is for.
        url: The server, which need not be that of the settings.
        key: Its key.
    """
    from learning_memory_server.storage.qdrant import QdrantStore  # noqa: PLC0415
    from learning_memory_server.storage.qdrant_schema import Spread  # noqa: PLC0415

    spread = Spread(
        settings.qdrant_shard_number,
        settings.qdrant_replication_factor,
        settings.qdrant_write_consistency_factor,
    )
    return QdrantStore(url, api_key=key, suffix=identity.digest, spread=spread)
