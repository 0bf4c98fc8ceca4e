"""The composition root: the only place where the services are built and wired together."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.advice.asking.asker import Asker
from learning_memory_server.advice.citing import Citing
from learning_memory_server.advice.finder import LessonFinder
from learning_memory_server.advice.lessons import Lessons
from learning_memory_server.advice.names import Names
from learning_memory_server.advice.observer import Observer
from learning_memory_server.advice.room import Room
from learning_memory_server.advice.sessions import Sessions
from learning_memory_server.advice.sources.files import WrongBeliefsSource
from learning_memory_server.advice.sources.lessons import LessonsSource
from learning_memory_server.advice.sources.open_entries import OpenEntriesSource
from learning_memory_server.advice.sources.place import PlaceSource
from learning_memory_server.advice.sources.rules import RulesSource
from learning_memory_server.advice.sources.ties import TiesSource
from learning_memory_server.advice.sources.values import ValuesSource
from learning_memory_server.advice.ties import Ties
from learning_memory_server.capture.entries.collector import ObservationPersister
from learning_memory_server.capture.entries.open_entries import SESSIONS, LiveSessions
from learning_memory_server.capture.memories.store import MemoryLog, MemoryStore
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import JournalUnavailableError, StorageUnavailableError
from learning_memory_server.hooks.hooks import Hooks
from learning_memory_server.index.document import SHAPES
from learning_memory_server.index.engines.availability import Availability
from learning_memory_server.index.engines.server_log import ServerLog
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.kept_files import OutdatedPoints
from learning_memory_server.index.memory_chunks import SHAPES as MEMORY_SHAPES
from learning_memory_server.index.writer import IndexWriter
from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.clusters.child import ChildFitting
from learning_memory_server.lessons.clusters.clusterer import ExperienceClusterer
from learning_memory_server.lessons.files.anchoring import Anchoring
from learning_memory_server.lessons.values.store import ValueStore
from learning_memory_server.model.moment import Clock, utc_now
from learning_memory_server.recall.memories import MemorySearcher
from learning_memory_server.recall.recall import ExperienceSearcher, Recall, Reranking
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.redaction.redactor import build_redactor
from learning_memory_server.rules.applying import Rules
from learning_memory_server.rules.pause import PAUSE, RulePause
from learning_memory_server.server.claims import claims_of
from learning_memory_server.server.composition import backends
from learning_memory_server.server.composition.statistics import Statistics
from learning_memory_server.server.composition.stores import Stores
from learning_memory_server.server.dashboard.document import Dashboard
from learning_memory_server.server.exclusion import Exclusion
from learning_memory_server.sharing.review import Review
from learning_memory_server.sharing.shared import SHARED, SharedLessons
from learning_memory_server.system.locking import hold

if TYPE_CHECKING:
    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity
    from learning_memory_server.index.engines.base import VectorStore
    from learning_memory_server.index.reconciling import DocumentSource
    from learning_memory_server.lessons.clusters.fitting import Fitting
    from learning_memory_server.server.settings import Settings

log = structlog.get_logger()

ALL_SHAPES: Final = {**SHAPES, **MEMORY_SHAPES}  # What the documents of each collection have in common


class Indexed(Stores):
    """The index of what is kept, and what writes and searches it."""

    memory_log: MemoryLog

    def __init__(self, settings: Settings, journal: Journal, clock: Clock, load: Callable[[], Embedder]) -> None:
        self.live = LiveSessions(clock, settings.storage_path / SESSIONS)
        memories = MemoryLog(journal.memories, backends.chunkers(settings))
        super().__init__(settings, journal, clock, memories, self.live.is_live)
        self.redaction = backends.redaction_gate(settings)
        self.servers = ServerLog(journal.servers)
        self.claims = claims_of(settings)
        self.exclusion = Exclusion.of(settings)
        self.embeddings = EmbeddingService(load, reach=backends.model_server(settings))
        reranker = settings.reranker_model
        self.reranking = Reranking(self.embeddings, partial(backends.load_reranker, reranker) if reranker else None)
        self.outdated = OutdatedPoints(settings.outdated_file)
        self.availability: Availability | None = None
        if settings.qdrant_url:
            self.availability = Availability()
        open_engine = partial(_open_store, settings, self.outdated, self.availability, self.note_server)
        self.index = VectorIndex(
            self.embeddings,
            open_engine,
            ALL_SHAPES,
            is_on_server=self.availability is not None,
            scales=settings.scales_file,
        )
        self.shared = SharedLessons(
            settings.storage_path / SHARED,
            self.redaction if settings.redaction else RedactionGate(build_redactor()),
            lambda: self.writer.server_returned(),  # noqa: PLW0108 - it needs this to be built
            self.effects.counts,
        )
        self.sources: tuple[DocumentSource, ...] = (self.collector, self.value_log, memories, self.shared)
        self.writer = IndexWriter(self.index, self.sources, self.outdated)
        self.embeddings.listeners.append(self.writer.model_returned)
        if self.availability:
            self.availability.listeners.append(self.writer.server_returned)
        self.persister = ObservationPersister(self.writer)
        self.searcher = ExperienceSearcher(Recall(self.index, self.writer, self.reranking), self.collector, self.shared)
        self.memories = MemoryStore(memories, self.writer, clock)
        self.memory_searcher = MemorySearcher(Recall(self.index, self.writer, self.reranking), memories)

    def read_journal(self) -> None:
        """Read what calls need, all of it: the first that needs a part would keep the others waiting."""
        for read in (
            self.collector.load,
            self.value_log.forgotten_ids,
            self.verdicts.forgotten_ids,
            self.advice_log.forgotten_ids,
            self.failure_log.forgotten_ids,
            self.memory_log.forgotten_ids,
            self.answers.forgotten_ids,
            self.rule_log.forgotten_ids,
            self.rule_counts.forgotten_ids,
            self.journal.names.forgotten_ids,
        ):
            # A log that cannot be read fails the calls that need it, not the others.
            with suppress(JournalUnavailableError):
                read()

    def note_server(self, url: str, owner: str) -> None:
        """Note in the journal that a Qdrant server is about to get points of an owner. It gets none if this fails."""
        try:
            self.servers.use(url, owner, self.clock())
        except JournalUnavailableError as error:
            raise StorageUnavailableError(
                f"The Qdrant server is not used: the journal could not note that it is. {error.message}",
                hint=error.own_hint,
                doctor=error.doctor,
            ) from error


class Services(Indexed):
    """Everything that tools and commands work with, built once per process."""

    def __init__(
        self, settings: Settings, journal: Journal, clock: Clock, load: Callable[[], Embedder], fitting: Fitting
    ) -> None:
        super().__init__(settings, journal, clock, load)
        collector, index, values, verdicts = self.collector, self.index, self.value_log, self.verdicts
        self.clusterer = ExperienceClusterer(
            index, self.writer, collector, fitting, journal.clusters, clock, settings.min_experiences
        )
        self.values = ValueStore(values, verdicts, collector, self.clusterer, index, self.writer, clock)
        lessons = Lessons(
            collector,
            self.effects,
            self.freshness,
            is_everywhere=settings.advice_scope == "all",
            answers=self.answers,
            shared=self.shared,
        )
        finder = LessonFinder(lessons, index)
        self.citing = Citing(collector, values, self.shared, self.memory_log)
        self.anchoring = Anchoring(collector, self.redaction)
        self.ties = Ties(self.failure_log, collector)
        names = Names(lessons)
        self.rules = Rules(self.rule_log, self.rule_counts, self.redaction, clock)
        sources = (
            RulesSource(self.rules),
            TiesSource(self.ties),
            OpenEntriesSource(collector),
            PlaceSource(lessons, names),
            LessonsSource(finder, names, self.advice_log, self.ties),
            ValuesSource(finder, values, verdicts),
            WrongBeliefsSource(collector, self.freshness),
        )
        self.room = Room(sources, lessons, self.entry_notes)
        self.advisor = Advisor(
            room=self.room,
            values=values,
            log=self.advice_log,
            sessions=Sessions(
                self.redaction,
                RulePause(settings.storage_path / PAUSE),
                lambda state: self.rules.save(state.rules.end()),
            ),
            observer=Observer(
                collector=collector,
                failures=self.failure_log,
                anchoring=self.anchoring,
                names=names,
                rules=self.rule_log,
                redaction=self.redaction,
                clock=clock,
            ),
            rules=self.rules,
            asker=Asker(finder, collector, self.redaction, is_on=settings.questions),
            live=self.live,
            clock=clock,
        )
        self.hooks = Hooks(self.advisor)
        self.review = Review(self.answers, collector, self.shared, self.value_log)
        self.statistics = Statistics(self)
        self.dashboard = Dashboard(self)

    def injectable(self) -> dict[type, object]:
        """Return the services that tools can request, by type."""
        return {type(service): service for service in vars(self).values()}


@asynccontextmanager
async def open_services(
    settings: Settings,
    *,
    purpose: str,
    clock: Clock = utc_now,
    load: Callable[[], Embedder] | None = None,
    fitting: Fitting | None = None,
) -> AsyncIterator[Services]:
    """Lock the journal and the storage folder, and build the services over them, without loading anything heavy.

    `purpose` describes this process. `load` and `fitting` replace the model and fits in child processes. Raises
    `AlreadyRunningError`, `LockUnavailableError` or `JournalUnavailableError`.
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
    """Build the services over a journal and a storage folder that this process has already locked."""
    journal = Journal(settings.journal_directory)
    for path in journal.recover(clock()):
        log.warning("journal.recovered", set_aside=path.name)
    fitting = fitting or ChildFitting(settings.hdbscan_min_cluster_size, settings.hdbscan_min_samples)
    services = Services(settings, journal, clock, load or partial(backends.load_model, settings, packaged), fitting)
    try:
        yield services
    finally:
        services.advisor.close()
        await services.anchoring.close()
        await services.clusterer.close()
        await services.writer.stop()
        if services.availability:
            await services.availability.close()
        await services.index.close()


def _open_store(
    settings: Settings,
    outdated: OutdatedPoints,
    availability: Availability | None,
    before_use: Callable[[str, str], None],
    identity: EmbeddingIdentity,
) -> VectorStore:
    """Open the engine for one model. While points are outdated, so are other indexes left from earlier times."""
    if outdated.ids():
        with suppress(StorageUnavailableError):
            backends.remove_unused_indexes(settings, identity)
    if settings.qdrant_url is None:
        return backends.open_embedded(settings, identity)
    return backends.open_server(settings, settings.qdrant_url, settings.qdrant_key, availability, before_use)
