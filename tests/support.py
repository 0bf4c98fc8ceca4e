"""What the tests share: a clock, entries, a store with faults, and the parts put together."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from learning_memory_server.capture.entries.collector import ObservationCollector, ObservationPersister
from learning_memory_server.embedding.base import Embedder, EmbeddingIdentity
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.index.document import SHAPES
from learning_memory_server.index.engines.base import Hit, VectorStore
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.kept_files import OutdatedPoints
from learning_memory_server.index.writer import IndexWriter
from learning_memory_server.journal.codec import JournalRecord, digest
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.log import Log
from learning_memory_server.lessons.clustering.clusterer import Clusterer
from learning_memory_server.lessons.clusters.clusters import AxisFit
from learning_memory_server.lessons.clusters.fitting import FitRequest, fit
from learning_memory_server.lessons.values.log import ValueLog, VerdictLog
from learning_memory_server.model.advice import AdviceKind, Citation, Effect
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Lesson, Resolution, Revision, RootCause, Run
from learning_memory_server.model.moment import Clock
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy
from learning_memory_server.recall.recall import ExperienceSearcher, Recall, Reranking
from tests.faulty_store import FaultyStore
from tests.sparing_store import SparingStore

_T = TypeVar("_T")

MINUTES: Final = 300.0
"""Seconds after which a test is taken to hang. No machine is so slow that one needs them."""

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


PARTS: Final[dict[str, Any]] = {
    "domain": Domain.DEBUGGING,
    "strategy": Strategy.READ_THE_ERROR,
    "goal": "Stop the checkout from timing out",
    "hypothesis": "The database pool runs dry under load",
    "action": "Raise the pool's size",
    "prediction": "Requests stop waiting for a connection",
}
"""What an entry begins with, where a test states nothing else."""


def ghap(**changes: Any) -> Ghap:
    """An open entry of Alice's, with the given parts changed."""
    owned = {"id": "ghap_20260301_120000_ffffff", "project": ALICE.project, "agent_session": ALICE.session}
    return Ghap(**{**owned, "created_at": NOON, **PARTS, **changes})


def full_ghap() -> Ghap:
    """A resolved entry with every part there is."""
    return ghap(
        history=(Revision(NOON + timedelta(minutes=5), "an old belief", "an old action", "an old outlook", 0.8),),
        confidence=0.6,
        first_confidence=0.9,
        notes=("the log shows nothing", "a second note"),
        resolution=Resolution(
            OutcomeStatus.FALSIFIED,
            "Requests waited as before.",
            NOON + timedelta(hours=1),
            surprise="The pool was never full.",
            root_cause=RootCause(RootCauseCategory.MISLEADING_SYMPTOM, "The load balancer queued them."),
            lesson=Lesson("Measuring at every hop", "Look in front of the service first"),
            cited=(Citation("ghap_20260301_110000_000000", AdviceKind.EXPERIENCE, Effect.HELPED),),
        ),
        runs=(Run(NOON, "pytest -q", 1, failed=2),),
    )


def numbered(number: int, **changes: Any) -> Ghap:
    """A confirmed entry with its own id and times; a higher number is a later one."""
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
    """A gold entry of an earlier session: each text is about a topic and a thing that no other entry mentions."""
    words = TOPICS[topic]
    return numbered(
        number,
        agent_session="0ea41e50ea41e5e0",
        goal=f"{words} goal{number}",
        hypothesis=f"{words} because{number}",
        action=f"{words} change",
        prediction=f"{words} then{number} settles down",
        resolution=replace(
            CONFIRMED,
            result=f"{words} solved",
            resolved_at=NOON + timedelta(minutes=number, seconds=30),
            # No two of them say the same.
            lesson=Lesson(f"{words} first", f"{words} goal{number} because{number} then{number} settles{number}"),
        ),
    )


def start(collector: ObservationCollector, caller: Caller = ALICE, **changes: Any) -> Ghap:
    """Start an entry and return it."""
    return collector.start(caller, **{**PARTS, **changes}).entry


def confirm(collector: ObservationCollector, caller: Caller = ALICE, ghap_id: str | None = None) -> Ghap:
    """Resolve an entry as confirmed."""
    return collector.resolve(caller, ghap_id, status=OutcomeStatus.CONFIRMED, result="It did.")


TEXTS = st.text(min_size=1, max_size=60).map(str.strip).filter(bool)
MOMENTS = st.datetimes(datetime(2000, 1, 1), datetime(2099, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
CONFIDENCES = st.none() | st.floats(0, 1)
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
        history=st.lists(st.builds(Revision, MOMENTS, TEXTS, TEXTS, TEXTS, CONFIDENCES), max_size=3).map(tuple),
        confidence=CONFIDENCES,
        first_confidence=CONFIDENCES,
        notes=st.lists(TEXTS, max_size=3).map(tuple),
        runs=st.lists(
            st.builds(Run, MOMENTS, TEXTS, st.integers(0, 255), *[st.none() | st.integers(0, 9)] * 3), max_size=2
        ).map(tuple),
        orphaned=st.booleans(),
        resolution=resolutions,
    )


class SilentModel(HashingEmbedder):
    """A model that does not answer while `released` is cleared, as on a server that accepts and says nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()
        self.released.set()

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.released.wait(MINUTES)
        return super().embed_documents(texts)


class InProcessFitting:
    """Runs fits in this process: a child takes a second to start, and only its own tests need one.

    Args:
        min_cluster_size: As for `Clusterer`.
        min_samples: As for `Clusterer`.
    """

    def __init__(self, min_cluster_size: int | None = None, min_samples: int = 3) -> None:
        self._clusterer = Clusterer(min_cluster_size, min_samples)

    async def fit(self, prepare: Callable[[], Awaitable[FitRequest]]) -> AxisFit:
        return fit(await prepare(), self._clusterer)

    async def close(self) -> None:
        """Nothing is kept."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The services over a journal and a store, as the composition root puts them together."""

    journal: Journal
    clock: Clock
    collector: ObservationCollector
    embeddings: EmbeddingService
    store: FaultyStore
    index: VectorIndex
    writer: IndexWriter
    persister: ObservationPersister
    searcher: ExperienceSearcher
    values: ValueLog
    verdicts: VerdictLog

    async def ready(self) -> None:
        """Open the index and bring it up to date, as the background task does first."""
        await self.index.open()
        await self.writer.find_pending()
        await self.writer.reconciler.catch_up()

    async def learn(self, *entries: Ghap) -> None:
        """Keep resolved entries and index them."""
        for entry in self.collector.add_resolved(entries):
            assert await self.persister.persist(entry)

    async def nearest(self, collection: str, text: str, limit: int) -> list[Hit]:
        """Return the points that are nearest by their vectors alone."""
        vector = await self.embeddings.embed_query(text)
        return await self.store.search(collection, vector, limit=limit)

    def running(self) -> AbstractAsyncContextManager[None]:
        return keeping_up(self.writer)


@asynccontextmanager
async def keeping_up(writer: IndexWriter) -> AsyncIterator[None]:
    """Keep the index up to date in the background, as the server does."""
    task = asyncio.create_task(writer.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def until(is_so: Callable[[], bool], every: float = 0.5) -> None:
    """Wait until something is so, for five minutes at most. On a `FastForwardLoop` these are milliseconds."""
    async with asyncio.timeout(MINUTES):
        while not is_so():
            await asyncio.sleep(every)


@contextmanager
def within(seconds: float, what: str = "") -> Iterator[None]:
    """Require that a block takes no more than this of the event loop's time."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    yield
    assert loop.time() - began <= seconds, what


@asynccontextmanager
async def open_parts(
    path: Path,
    *,
    clock: Clock | None = None,
    load: Callable[[], Embedder] = HashingEmbedder,
    store_in: Callable[[Path], VectorStore] = SparingStore,
) -> AsyncIterator[Parts]:
    """Build the parts over a directory, and release them at the end."""
    ticking = clock or TickingClock()
    journal = Journal(path / "journal")
    journal.recover(ticking())
    collector = ObservationCollector(journal, ticking)
    embeddings = EmbeddingService(load)
    store = FaultyStore(store_in(path / "index"))

    def open_store(_identity: EmbeddingIdentity) -> VectorStore:
        if store.closed:
            # It was discarded after a failure, and is opened again over the same files.
            store.inner, store.closed = store_in(path / "index"), False
        return store

    index = VectorIndex(embeddings, open_store, SHAPES, is_on_server=True)
    values = ValueLog(journal.values)
    writer = IndexWriter(index, [collector, values], OutdatedPoints(path / "outdated.json"))
    parts = Parts(
        journal=journal,
        clock=ticking,
        collector=collector,
        embeddings=embeddings,
        store=store,
        index=index,
        writer=writer,
        persister=ObservationPersister(writer),
        searcher=ExperienceSearcher(Recall(index, writer, Reranking(embeddings, None)), collector),
        values=values,
        verdicts=VerdictLog(journal.verdicts),
    )
    try:
        yield parts
    finally:
        store.down = None
        await writer.stop()
        await index.close()


def reloaded(journal: Journal) -> ObservationCollector:
    """What a new process makes of the journal."""
    journal.recover(NOON)
    return ObservationCollector(Journal(journal.path), TickingClock())


def forget(log: Log, kind: str, *names: str, at: datetime = NOON) -> None:
    """Write tombstones of some ids, as another program may have."""
    log.append([JournalRecord.tombstone(kind, name, at) for name in names])


def in_format(line: bytes, version: int) -> bytes:
    """Return a line of the journal as if a program of another format had written it."""
    body = {name: part for name, part in json.loads(line).items() if name != "sum"} | {"v": version}
    body["sum"] = digest(body)
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def ids(entries: list[Ghap]) -> list[str]:
    return [entry.id for entry in entries]


@asynccontextmanager
async def in_one_task(context: AbstractAsyncContextManager[_T]) -> AsyncIterator[_T]:
    """Enter and leave a context in the same task, as anyio demands; the two halves of a fixture are in two."""
    entered, done = asyncio.get_running_loop().create_future(), asyncio.Event()

    async def hold() -> None:
        async with context as value:
            entered.set_result(value)
            await done.wait()

    task = asyncio.create_task(hold())
    await asyncio.wait([entered, task], return_when=asyncio.FIRST_COMPLETED)
    try:
        if not task.done():
            yield await entered
    finally:
        done.set()
        await task


async def cancel(task: asyncio.Task[Any]) -> None:
    """Cancel a task, and wait for its end."""
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class ListeningEmbedder(HashingEmbedder):
    """Notes which texts it embeds."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += texts
        return super().embed_documents(texts)
