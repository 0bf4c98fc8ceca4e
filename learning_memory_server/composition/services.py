"""The composition root: the only place where the services are built and wired together."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.advice.finder import AdviceFinder
from learning_memory_server.advice.log import AdviceLog
from learning_memory_server.composition.backends import (
    chunkers,
    load_model,
    load_reranker,
    open_store,
    redaction_gate,
    remove_unused_indexes,
    server_circuits,
)
from learning_memory_server.composition.statistics import Statistics
from learning_memory_server.dashboard.document import Dashboard
from learning_memory_server.dashboard.frames import FrameStore
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.embedding.loading import ModelExporter
from learning_memory_server.embedding.packaged import load_packaged
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.experience_clusters.child import ChildFitting
from learning_memory_server.experience_clusters.clusterer import ExperienceClusterer
from learning_memory_server.failures.log import FailureLog
from learning_memory_server.failures.shield import Shield
from learning_memory_server.hooks.hooks import Hooks
from learning_memory_server.hooks.sessions import Sessions
from learning_memory_server.indexing.index import VectorIndex
from learning_memory_server.indexing.outdated import OutdatedPoints
from learning_memory_server.indexing.writer import CHECK_EVERY, IndexWriter
from learning_memory_server.journal.journal import Journal
from learning_memory_server.locking import hold
from learning_memory_server.memories.documents import SHAPES as MEMORY_SHAPES
from learning_memory_server.memories.log import MemoryLog
from learning_memory_server.memories.searcher import MemorySearcher
from learning_memory_server.memories.store import MemoryStore
from learning_memory_server.observation.collector import ObservationCollector
from learning_memory_server.observation.documents import SHAPES
from learning_memory_server.observation.persister import ExperienceSource, ObservationPersister
from learning_memory_server.observation.searcher import ExperienceSearcher
from learning_memory_server.search.reranking import Reranking
from learning_memory_server.values.judge import ValueJudge
from learning_memory_server.values.listing import ValueListing
from learning_memory_server.values.log import ValueLog
from learning_memory_server.values.store import ValueStore
from learning_memory_server.values.verdict_log import VerdictLog
from learning_memory_server.views.context_views import SessionContext

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from datetime import datetime
    from pathlib import Path

    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity
    from learning_memory_server.experience_clusters.fitting import Fitting
    from learning_memory_server.indexing.comparing import DocumentSource
    from learning_memory_server.redaction.gate import RedactionGate
    from learning_memory_server.settings import Settings
    from learning_memory_server.storage.base import VectorStore
    from learning_memory_server.storage.qdrant_requests import Circuits

log = structlog.get_logger()

ALL_SHAPES: Final = {**SHAPES, **MEMORY_SHAPES}
"""What the documents of each collection have in common."""


@dataclass(frozen=True, slots=True)
class Services:
    """Everything that tools and commands work with, built once per process."""

    settings: Settings
    redaction: RedactionGate
    clock: Clock
    journal: Journal
    collector: ObservationCollector
    embeddings: EmbeddingService
    index: VectorIndex
    reranking: Reranking
    sources: tuple[DocumentSource, ...]
    outdated: OutdatedPoints
    writer: IndexWriter
    circuits: Circuits | None
    persister: ObservationPersister
    searcher: ExperienceSearcher
    clusterer: ExperienceClusterer
    value_log: ValueLog
    verdicts: VerdictLog
    values: ValueStore
    value_judge: ValueJudge
    value_listing: ValueListing
    advice_log: AdviceLog
    advisor: Advisor
    failure_log: FailureLog
    shield: Shield
    memory_log: MemoryLog
    memories: MemoryStore
    memory_searcher: MemorySearcher
    session_context: SessionContext
    hooks: Hooks
    statistics: Statistics
    dashboard: Dashboard

    def injectable(self) -> dict[type, object]:
        """Return the services that tools can request, by type."""
        offered = (
            self.collector,
            self.persister,
            self.searcher,
            self.clusterer,
            self.values,
            self.value_judge,
            self.value_listing,
            self.advisor,
            self.memories,
            self.memory_searcher,
            self.session_context,
            self.hooks,
            self.statistics,
            self.redaction,
            self.dashboard,
        )
        return {type(service): service for service in offered}


@asynccontextmanager
async def open_services(
    settings: Settings,
    *,
    purpose: str,
    clock: Clock = utc_now,
    load: Callable[[], Embedder] | None = None,
    fitting: Fitting | None = None,
) -> AsyncIterator[Services]:
    """Lock the journal and the storage folder, and build the services over them.

    This imports and loads nothing heavy; `writer.run` starts that.

    Args:
        settings: The settings.
        purpose: How the lock file describes this process to others.
        clock: Returns the current time.
        load: Returns an embedding model to use instead of the one in the settings, such as one already loaded.
        fitting: Runs cluster fits; by default each in a child process.

    Raises:
        AlreadyRunningError: If another process has locked the journal or the storage folder.
        JournalUnavailableError: If the journal cannot be used.
        LockUnavailableError: If a folder cannot be locked.
    """
    with hold(settings.journal_directory, settings.storage_path, purpose):
        async with services_over(settings, clock, load, fitting) as services:
            yield services


@asynccontextmanager
async def services_over(
    settings: Settings,
    clock: Clock,
    load: Callable[[], Embedder] | None = None,
    fitting: Fitting | None = None,
    *,
    packaged: Callable[[], Embedder] = load_packaged,
) -> AsyncIterator[Services]:
    """Build the services over a journal and a storage folder that this process has already locked.

    Args:
        settings: The settings.
        clock: Returns the current time.
        load: See `open_services`.
        fitting: See `open_services`.
        packaged: Loads the packaged model, or waits for one that is being loaded.
    """
    journal = Journal(settings.journal_directory)
    if journal.is_older():
        _back_up(journal, settings.backups_directory, clock())
    for path in journal.recover(clock()):
        log.warning("journal.recovered", set_aside=path.name)
    exporter = ModelExporter()
    fitting = fitting or ChildFitting(settings.hdbscan_min_cluster_size, settings.hdbscan_min_samples)
    services = _build(
        settings, journal, clock, load or partial(load_model, settings, exporter, packaged), fitting
    )
    # Earlier versions stored fits here, whose labels are words of the texts.
    shutil.rmtree(settings.storage_path / "clusters", ignore_errors=True)
    try:
        yield services
    finally:
        await services.clusterer.close()
        exporter.stop()
        await services.writer.stop()
        if services.circuits:
            await services.circuits.close()
        await services.index.close()


def _back_up(journal: Journal, folder: Path, at: datetime) -> None:
    """Back up a journal into which this program is about to write the first lines of a newer format.

    Programs of the older format could not read it any more, but they can read the backup.
    """
    from learning_memory_server.archive.backups import back_up  # noqa: PLC0415 - slow, and once per format

    if backup := back_up(journal, folder, at):
        log.info("journal.backed_up", backup=backup.path.name)


def _build(
    settings: Settings, journal: Journal, clock: Clock, load: Callable[[], Embedder], fitting: Fitting
) -> Services:
    redaction = redaction_gate(settings)
    collector = ObservationCollector(journal, clock)
    value_log, verdicts = ValueLog(journal.values), VerdictLog(journal.verdicts)
    advice_log = AdviceLog(journal.advice)
    failure_log = FailureLog(journal.failures)
    shield = Shield(failure_log, redaction, clock)
    embeddings = EmbeddingService(load)
    outdated = OutdatedPoints(settings.outdated_file)
    circuits = server_circuits() if settings.qdrant_url else None
    index = VectorIndex(embeddings, partial(_open_store, settings, outdated, circuits), ALL_SHAPES)
    reranking = Reranking(
        embeddings,
        partial(load_reranker, settings.reranker_model) if settings.reranker_model else None,
    )
    memory_log = MemoryLog(journal.memories, chunkers(settings))
    sources = (ExperienceSource(collector), value_log, memory_log)
    writer = IndexWriter(index, sources, outdated, CHECK_EVERY if settings.qdrant_url else None)
    if circuits:
        circuits.listeners.append(writer.server_returned)
    clusterer = ExperienceClusterer(
        index,
        writer,
        collector,
        fitting,
        journal.clusters,
        clock,
        settings.min_experiences,
    )
    value_listing = ValueListing(value_log, verdicts, collector, index)
    advisor = Advisor(
        AdviceFinder(collector, index, value_log, verdicts, is_everywhere=settings.advice_scope == "all"),
        advice_log,
        collector,
        value_log,
        clock,
        withheld=settings.advice_withheld,
    )
    session_context = SessionContext(collector, value_listing, advisor, settings.budget_bytes)
    statistics = Statistics(
        settings,
        journal,
        collector,
        value_log,
        verdicts,
        advice_log,
        memory_log,
        embeddings,
        writer,
        redaction,
    )
    return Services(
        settings=settings,
        redaction=redaction,
        clock=clock,
        journal=journal,
        collector=collector,
        embeddings=embeddings,
        index=index,
        reranking=reranking,
        sources=sources,
        outdated=outdated,
        writer=writer,
        circuits=circuits,
        persister=ObservationPersister(writer),
        searcher=ExperienceSearcher(index, writer, collector, reranking),
        clusterer=clusterer,
        value_log=value_log,
        verdicts=verdicts,
        values=ValueStore(value_log, verdicts, collector, clusterer, index, writer, clock),
        value_judge=ValueJudge(value_log, verdicts, collector, index, clock),
        value_listing=value_listing,
        advice_log=advice_log,
        advisor=advisor,
        failure_log=failure_log,
        shield=shield,
        memory_log=memory_log,
        memories=MemoryStore(memory_log, writer, clock),
        memory_searcher=MemorySearcher(index, writer, memory_log, reranking),
        session_context=session_context,
        hooks=Hooks(
            collector,
            session_context,
            advisor,
            shield,
            Sessions(),
            clock,
            check_in_calls=settings.check_in_calls,
        ),
        statistics=statistics,
        dashboard=Dashboard(
            journal=journal,
            collector=collector,
            index=index,
            clusterer=clusterer,
            values=value_log,
            verdicts=verdicts,
            advice=advice_log,
            failures=failure_log,
            memories=memory_log,
            statistics=statistics.collect,
            clock=clock,
            frames=FrameStore(settings.map_directory),
        ),
    )


def _open_store(
    settings: Settings, outdated: OutdatedPoints, circuits: Circuits | None, identity: EmbeddingIdentity
) -> VectorStore:
    """Open the engine. While points are outdated, so is every other index that is left from earlier times."""
    if outdated.ids():
        with suppress(StorageUnavailableError):
            remove_unused_indexes(settings, identity)
    return open_store(settings, identity, circuits)
