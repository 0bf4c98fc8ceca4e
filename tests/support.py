"""What the tests share: a clock, entries, a store with faults, and the parts put together."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.ghap import Ghap, Lesson, Resolution, Revision, RootCause
from learning_memory_server.domain.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.indexing.index import VectorIndex
from learning_memory_server.indexing.reranking import Reranking
from learning_memory_server.indexing.writer import IndexWriter
from learning_memory_server.journal.journal import Journal
from learning_memory_server.observation.collector import ObservationCollector
from learning_memory_server.observation.documents import SHAPES
from learning_memory_server.observation.persister import ExperienceSource, ObservationPersister
from learning_memory_server.search.searcher import Searcher
from learning_memory_server.storage.edge import EdgeStore
from learning_memory_server.values.log import ValueLog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Sequence
    from pathlib import Path

    from learning_memory_server.domain.moment import Clock
    from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity
    from learning_memory_server.errors import LearningMemoryError
    from learning_memory_server.storage.base import (
        CollectionSpec,
        Filter,
        Hit,
        Payload,
        Point,
        Record,
        SparseVector,
        Vector,
        VectorStore,
    )

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALICE = Caller("acme/shop", "a" * 16)
BOB = Caller("acme/shop", "b" * 16)
CAROL = Caller("acme/site", "c" * 16)
CONFIRMED = Resolution(OutcomeStatus.CONFIRMED, "The requests passed.", NOON + timedelta(hours=1))


class TickingClock:
    """A clock that is one step later each time it is read."""

    def __init__(self, start: datetime = NOON, step: timedelta = timedelta(seconds=1)) -> None:
        self.now = start
        self.step = step

    def __call__(self) -> datetime:
        self.now += self.step
        return self.now


def ghap(**changes: Any) -> Ghap:
    """An open entry of Alice's, with the given parts changed."""
    return replace(
        Ghap(
            id="ghap_20260301_120000_ffffff",
            project=ALICE.project,
            agent_session=ALICE.session,
            created_at=NOON,
            domain=Domain.DEBUGGING,
            strategy=Strategy.READ_THE_ERROR,
            goal="Stop the checkout from timing out",
            hypothesis="The database pool runs dry under load",
            action="Raise the pool's size",
            prediction="Requests stop waiting for a connection",
        ),
        **changes,
    )


def full_ghap() -> Ghap:
    """A resolved entry with every part there is."""
    return ghap(
        history=(Revision(NOON + timedelta(minutes=5), "an old belief", "an old action", "an old outlook"),),
        notes=("the log shows nothing", "a second note"),
        resolution=Resolution(
            OutcomeStatus.FALSIFIED,
            "Requests waited as before.",
            NOON + timedelta(hours=1),
            surprise="The pool was never full.",
            root_cause=RootCause(RootCauseCategory.MISLEADING_SYMPTOM, "The load balancer queued them."),
            lesson=Lesson("Measuring at every hop", "Look in front of the service first"),
        ),
    )


def numbered(number: int, **changes: Any) -> Ghap:
    """A confirmed entry with an id and times of its own; a higher number is a later one."""
    at = NOON + timedelta(minutes=number)
    given = {
        "id": f"ghap_20260301_120000_{number:06x}",
        "created_at": at,
        "resolution": replace(CONFIRMED, resolved_at=at + timedelta(seconds=30)),
    }
    return ghap(**{**given, **changes})


TOPICS = {
    "pool": "database connection pool exhausted timeout checkout",
    "cache": "stale cache invalidation header browser refresh",
    "types": "mypy generic variance protocol annotation overload",
}


def about(topic: str, number: int) -> Ghap:
    """A gold entry whose every text speaks of a topic, and of one thing of its own."""
    words = TOPICS[topic]
    return numbered(
        number,
        goal=f"{words} goal{number}",
        hypothesis=f"{words} because{number}",
        action=f"{words} change",
        prediction=f"{words} then{number} settles down",
        resolution=replace(
            CONFIRMED,
            result=f"{words} solved",
            resolved_at=NOON + timedelta(minutes=number, seconds=30),
            lesson=Lesson(f"{words} first"),
        ),
    )


def start(collector: ObservationCollector, caller: Caller = ALICE, **changes: Any) -> Ghap:
    """Start an entry and return it."""
    parts: dict[str, Any] = {
        "domain": Domain.DEBUGGING,
        "strategy": Strategy.READ_THE_ERROR,
        "goal": "Stop the checkout from timing out",
        "hypothesis": "The database pool runs dry under load",
        "action": "Raise the pool's size",
        "prediction": "Requests stop waiting for a connection",
    }
    return collector.start(caller, **{**parts, **changes}).entry


def confirm(collector: ObservationCollector, caller: Caller = ALICE, ghap_id: str | None = None) -> Ghap:
    """Resolve an entry as confirmed."""
    return collector.resolve(caller, ghap_id, status=OutcomeStatus.CONFIRMED, result="It did.")


TEXTS = st.text(min_size=1, max_size=60).map(str.strip).filter(bool)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
RESOLUTIONS = st.builds(
    Resolution,
    st.sampled_from(OutcomeStatus),
    TEXTS,
    MOMENTS,
    surprise=st.none() | TEXTS,
    root_cause=st.none() | st.builds(RootCause, st.sampled_from(RootCauseCategory), TEXTS),
    lesson=st.none() | st.builds(Lesson, TEXTS, st.none() | TEXTS),
    auto_captured=st.booleans(),
)


def ghaps(resolutions: st.SearchStrategy[Resolution | None] = RESOLUTIONS) -> st.SearchStrategy[Ghap]:
    """Any entry that the domain allows."""
    return st.builds(
        Ghap,
        id=st.from_regex(r"ghap_[0-9]{8}_[0-9]{6}_[0-9a-f]{6}", fullmatch=True),
        project=TEXTS,
        agent_session=st.from_regex(r"[0-9a-f]{16}", fullmatch=True),
        created_at=MOMENTS,
        domain=st.sampled_from(Domain),
        strategy=st.sampled_from(Strategy),
        goal=TEXTS,
        hypothesis=TEXTS,
        action=TEXTS,
        prediction=TEXTS,
        history=st.lists(st.builds(Revision, MOMENTS, TEXTS, TEXTS, TEXTS), max_size=3).map(tuple),
        notes=st.lists(TEXTS, max_size=3).map(tuple),
        orphaned=st.booleans(),
        resolution=resolutions,
    )


class FaultyStore:
    """A real store that records what is written, and that can be told to fail or to wait.

    Args:
        inner: The store that does the work.
    """

    def __init__(self, inner: VectorStore) -> None:
        self.inner = inner
        self.down: LearningMemoryError | None = None
        """Raised by every reading and writing while it is set."""
        self.failures: list[LearningMemoryError] = []
        """Raised by the next upserts, one each."""
        self.gate = asyncio.Event()
        """Upserts wait for it."""
        self.gate.set()
        self.entered = asyncio.Event()
        """Set when an upsert begins."""
        self.attempts: list[float] = []
        """The loop's time of each upsert."""
        self.flushes = 0
        self.closed = False

    async def ensure(self, spec: CollectionSpec) -> Payload:
        self._check()
        return await self.inner.ensure(spec)

    async def drop(self, collection: str) -> None:
        self._check()
        await self.inner.drop(collection)

    async def promote(self, source: str, target: str) -> None:
        self._check()
        await self.inner.promote(source, target)

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        self.attempts.append(asyncio.get_running_loop().time())
        self.entered.set()
        await self.gate.wait()
        self._check()
        if self.failures:
            raise self.failures.pop(0)
        await self.inner.upsert(collection, points)

    async def retrieve(
        self, collection: str, ids: Sequence[str], *, with_vectors: bool = False
    ) -> list[Record]:
        self._check()
        return await self.inner.retrieve(collection, ids, with_vectors=with_vectors)

    async def scroll(
        self,
        collection: str,
        *,
        where: Filter | None = None,
        with_vectors: bool = False,
    ) -> list[Record]:
        self._check()
        return await self.inner.scroll(collection, where=where, with_vectors=with_vectors)

    async def count(self, collection: str) -> int:
        self._check()
        return await self.inner.count(collection)

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        self._check()
        await self.inner.delete(collection, ids)

    async def search(
        self,
        collection: str,
        vector: Vector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: Collection[str] | None = None,
    ) -> list[Hit]:
        self._check()
        return await self.inner.search(collection, vector, limit=limit, where=where, ids=ids)

    async def search_terms(
        self,
        collection: str,
        query: SparseVector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: Collection[str] | None = None,
    ) -> list[Hit]:
        self._check()
        return await self.inner.search_terms(collection, query, limit=limit, where=where, ids=ids)

    async def flush(self) -> None:
        self._check()
        self.flushes += 1
        await self.inner.flush()

    async def close(self) -> None:
        self.closed = True
        await self.inner.close()

    def _check(self) -> None:
        if self.down is not None:
            raise self.down


@dataclass(frozen=True, slots=True)
class Memory:
    """The services over a journal and a store, as the composition root puts them together."""

    journal: Journal
    clock: Clock
    collector: ObservationCollector
    embeddings: EmbeddingService
    store: FaultyStore
    index: VectorIndex
    writer: IndexWriter
    persister: ObservationPersister
    searcher: Searcher
    values: ValueLog

    async def ready(self) -> None:
        """Open the index and bring it up to date, as the background task does first."""
        await self.index.open()
        await self.writer.find_pending()
        await self.writer.catch_up()

    async def learn(self, *entries: Ghap) -> None:
        """Keep resolved entries and index them."""
        for entry in self.collector.add_resolved(entries):
            assert await self.persister.persist(entry)

    async def nearest(self, collection: str, text: str, limit: int) -> list[Hit]:
        """Return the points that are nearest by meaning alone."""
        vector = await self.embeddings.embed_query(text)
        return await self.store.search(collection, vector, limit=limit)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep the index up to date in the background, as the server does."""
        task = asyncio.create_task(self.writer.run())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@asynccontextmanager
async def open_memory(
    path: Path,
    *,
    clock: Clock | None = None,
    load: Callable[[], Embedder] = HashingEmbedder,
) -> AsyncIterator[Memory]:
    """Build the parts over a directory, and release them at the end."""
    ticking = clock or TickingClock()
    journal = Journal(path / "journal")
    journal.recover(ticking())
    collector = ObservationCollector(journal, ticking)
    embeddings = EmbeddingService(load)
    store = FaultyStore(EdgeStore(path / "index"))

    def open_store(_identity: EmbeddingIdentity) -> VectorStore:
        if store.closed:
            # It was given up after a failure, and is opened anew over the same files.
            store.inner, store.closed = EdgeStore(path / "index"), False
        return store

    index = VectorIndex(embeddings, open_store, SHAPES)
    values = ValueLog(journal.values)
    writer = IndexWriter(index, [ExperienceSource(collector), values])
    memory = Memory(
        journal=journal,
        clock=ticking,
        collector=collector,
        embeddings=embeddings,
        store=store,
        index=index,
        writer=writer,
        persister=ObservationPersister(writer),
        searcher=Searcher(index, writer, collector, Reranking(embeddings, None)),
        values=values,
    )
    try:
        yield memory
    finally:
        store.down = None
        await index.close()


def reloaded(journal: Journal) -> ObservationCollector:
    """What a new process makes of the journal."""
    journal.recover(NOON)
    return ObservationCollector(Journal(journal.path), TickingClock())


def ids(entries: list[Ghap]) -> list[str]:
    return [entry.id for entry in entries]
