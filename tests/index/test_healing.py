"""A Qdrant server loses points behind this program's back: that is seen, and made good from the journal."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.errors import ForbiddenCollectionError
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.queries import EntryQuery, ExperienceQuery, MemoryFilter, MemoryQuery
from learning_memory_server.index.writer import IndexWriter
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.services import Services
from tests.index.engines.double import QdrantDouble, Wrong
from tests.index.engines.double_engine import recorded
from tests.services import opened as services_in, run as run_operation
from tests.support import NOON, about, keeping_up, until

pytestmark = pytest.mark.slow

FULL, STRATEGY = Collection.EXPERIENCES_FULL, Collection.EXPERIENCES_STRATEGY
ENTRIES = [about("pool", number) for number in range(6)]
NEVER = 1e6


@dataclass
class Person:
    """Somebody with six entries on the server, and a writer that looks often."""

    services: Services
    double: QdrantDouble
    path: Path

    @property
    def writer(self) -> IndexWriter:
        return self.services.writer

    def places(self) -> dict[str, str]:
        """Return the names on the server, by kind."""
        return {name.rsplit("-", 2)[0]: name for name in self.double.engine.created}

    def outside(self, entry: int) -> str:
        return open_owner(self.path / "qdrant-owner.json").outside(point_id("ghap", ENTRIES[entry].id))

    async def counts(self) -> list[int]:
        counted = await self.services.index.counts()
        return [counted[FULL], counted[STRATEGY]]

    async def complete(self) -> None:
        """Wait until the server has everything again."""
        await until(lambda: self.writer.is_complete and bool(self.double.engine.created), every=0.01)

    async def noticed(self) -> None:
        """Wait until the server is known to be away."""
        await until(lambda: self.writer.missing is None, every=0.01)

    async def has(self, collection: Collection, count: int) -> None:
        """Wait until the server has this many points."""
        await until(lambda: self.count_on_server(collection) == count, every=0.01)

    async def forget(self, entry: int) -> None:
        """Forget an entry, whose points are gone then."""
        doomed = self.services.collector.points_of(self.services.collector.forget([ENTRIES[entry].id], NOON))
        assert await self.writer.remove(doomed)

    async def resolve(self) -> None:
        """Resolve one more entry, which the server does not take."""
        entry = about("pool", 100)
        self.services.collector.add_resolved([entry])
        assert not await self.services.persister.persist(entry)

    def lose_everything(self) -> None:
        """Let the server come back without its volume."""
        with self.double.turn:
            self.double.engine.clear()

    async def mode(self) -> SearchMode:
        query = ExperienceQuery(text="pool", axis=Axis.FULL, limit=3)
        return (await self.services.searcher.search_experiences(query)).mode

    def count_on_server(self, collection: Collection) -> int:
        name = self.places()[collection]
        with self.double.turn:
            client = self.double.engine.client
            return client.count(name).count if client.collection_exists(name) else 0


@asynccontextmanager
async def person(path: Path, double: QdrantDouble, check_every: float = 0.02, **changes: Any) -> AsyncIterator[Person]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("learning_memory_server.system.timeouts.CHECK_EVERY", check_every)
        async with services_in(path, qdrant_url=double.url, **changes) as services:
            services.collector.add_resolved(ENTRIES)
            async with keeping_up(services.writer):
                one = Person(services, double, path)
                await one.complete()
                yield one


@pytest.fixture
async def ann(tmp_path: Path, double: QdrantDouble) -> AsyncIterator[Person]:
    async with person(tmp_path / "ann", double) as one:
        yield one


@pytest.fixture
async def unwatched(tmp_path: Path, double: QdrantDouble) -> AsyncIterator[Person]:
    """Somebody whose writer looks only after a failure."""
    async with person(tmp_path / "ann", double, check_every=NEVER) as one:
        yield one


async def test_points_that_the_server_loses_are_made_again(ann: Person) -> None:
    assert await ann.counts() == [6, 6]
    with ann.double.turn:
        ann.double.engine.client.delete(ann.places()[FULL], [ann.outside(0), ann.outside(3)])
    await ann.has(FULL, 6)
    found = await ann.services.index.vectors(FULL)
    assert {point_id("ghap", entry.id) for entry in ENTRIES} == found.keys()


async def test_a_collection_that_is_dropped_is_made_again_without_a_restart(ann: Person) -> None:
    name = ann.places()[STRATEGY]
    with ann.double.turn:
        ann.double.engine.client.delete_collection(name)
    await ann.has(STRATEGY, 6)
    await ann.complete()
    assert await ann.counts() == [6, 6]


async def test_whoever_may_not_create_collections_is_told_all_that_are_needed(
    tmp_path: Path, double: QdrantDouble
) -> None:
    double.refuse(recorded("read-only key: create"), only=lambda request: request.method == "PUT")
    async with services_in(tmp_path, qdrant_url=double.url) as services:
        with pytest.raises(ForbiddenCollectionError, match="may not create collections") as caught:
            await services.index.open()
        needed = [f"`{spec.name}-{spec.variant}-1`" for spec in await services.index.specs()]
        assert len(needed) == len(Collection)
        assert all(name in str(caught.value.hint) for name in needed)
        assert len([request for request in double.asked if request.method == "PUT"]) == len(needed)


async def test_a_server_that_comes_back_empty_is_filled_again(ann: Person) -> None:
    ann.double.refuse(Wrong.RESETS)
    await ann.noticed()
    ann.lose_everything()
    ann.double.heal()
    await ann.complete()
    assert await ann.counts() == [6, 6]
    assert await ann.mode() is SearchMode.HYBRID


async def test_a_search_finding_no_collection_has_it_made_again(unwatched: Person) -> None:
    unwatched.lose_everything()
    assert await unwatched.mode() is SearchMode.LEXICAL
    await unwatched.complete()
    assert await unwatched.mode() is SearchMode.HYBRID


def lose_some(person: Person, collection: Collection, count: int) -> None:
    """Let the server lose a person's points, whatever they are."""
    name = person.places()[collection]
    with person.double.turn:
        points, _ = person.double.engine.client.scroll(name, limit=count)
        person.double.engine.client.delete(name, [point.id for point in points])


@pytest.mark.parametrize("lost", [2, 6])
@pytest.mark.parametrize(
    "query",
    [
        ExperienceQuery("pool"),
        ExperienceQuery("pool", Axis.STRATEGY),
        ExperienceQuery("pool", where=EntryQuery(domain=ENTRIES[0].domain, since=NOON)),
        ExperienceQuery("pool", limit=6, min_score=0.0),
    ],
    ids=["axis full", "one axis", "a filter", "as many as there are"],
)
async def test_a_search_that_finds_too_little_is_lexical_and_what_is_lost_is_made_again_at_once(
    unwatched: Person, query: ExperienceQuery, lost: int
) -> None:
    search = partial(unwatched.services.searcher.search_experiences, query)
    lose_some(unwatched, Collection.of(query.axis), lost)
    found = await search()
    assert (found.mode, len(found.found)) == (SearchMode.LEXICAL, 6)
    await unwatched.complete()
    assert unwatched.count_on_server(Collection.of(query.axis)) == 6
    found = await search()
    assert (found.mode, len(found.found)) == (SearchMode.HYBRID, 6)


async def test_a_memory_search_finding_little_is_lexical_too(unwatched: Person) -> None:
    for number in range(3):
        text = "\n\n".join(f"Pool {number}, chapter {n}. {'It is closed last. ' * 60}" for n in range(4))
        await unwatched.services.memories.add(Caller("garden", "test"), text, {"source": "a book"})
    await unwatched.complete()
    chunks = unwatched.count_on_server(Collection.MEMORIES)
    assert chunks > 3
    query = MemoryQuery("pool", where=MemoryFilter(source="a book"))
    search = partial(unwatched.services.memory_searcher.search, query)
    for lost in (1, chunks):
        lose_some(unwatched, Collection.MEMORIES, lost)
        found = await search()
        assert (found.mode, len(found.found)) == (SearchMode.LEXICAL, 3)
        await unwatched.complete()
        assert unwatched.count_on_server(Collection.MEMORIES) == chunks
        assert (await search()).mode is SearchMode.HYBRID


async def test_what_is_left_out_for_its_score_or_pending_or_forgotten_is_not_lost(unwatched: Person) -> None:
    added = await unwatched.services.memories.add(Caller("garden", "test"), "The pool is closed last.", {})
    await unwatched.complete()
    unwatched.double.refuse(recorded("disk full: upsert"), only=lambda request: request.method == "PUT")
    await unwatched.resolve()
    unwatched.services.collector.forget([ENTRIES[0].id], NOON)
    for strict in (ExperienceQuery("pool"), ExperienceQuery("pool", min_score=1.0)):
        assert (await unwatched.services.searcher.search_experiences(strict)).mode is SearchMode.HYBRID
    dissimilar = MemoryQuery("pool", min_similarity=1.0)
    found = await unwatched.services.memory_searcher.search(dissimilar)
    assert (found.found, found.mode) == ([], SearchMode.HYBRID)
    await unwatched.services.memories.delete(added.memory.id)
    assert (await unwatched.services.memory_searcher.search(dissimilar)).mode is SearchMode.HYBRID
    assert unwatched.writer.missing is not None


async def test_a_write_finding_no_collection_has_it_made_again(unwatched: Person) -> None:
    unwatched.lose_everything()
    await unwatched.resolve()
    await unwatched.complete()
    assert await unwatched.counts() == [7, 7]


async def test_a_restored_volume_brings_back_nothing_that_was_forgotten(ann: Person) -> None:
    name, forgotten = ann.places()[FULL], ann.outside(2)
    with ann.double.turn:
        (before,) = ann.double.engine.client.retrieve(name, [forgotten], with_vectors=True)
    await ann.forget(2)
    assert ann.count_on_server(FULL) == 5
    with ann.double.turn:
        from qdrant_client import models

        back = models.PointStruct(id=before.id, vector=before.vector, payload=before.payload)  # type: ignore[arg-type]
        ann.double.engine.client.upsert(name, [back])
    await ann.has(FULL, 5)


async def test_while_the_server_is_away_nothing_is_said_to_be_complete(ann: Person) -> None:
    ann.double.refuse(Wrong.RESETS)
    await ann.noticed()
    assert (await ann.services.statistics.collect())["index"]["complete"] is False
    assert await ann.mode() is SearchMode.LEXICAL
    ann.double.heal()
    await ann.complete()


async def test_somebody_elses_changes_are_none_of_ones_business(
    ann: Person, tmp_path: Path, double: QdrantDouble
) -> None:
    async with person(tmp_path / "bob", double) as bob:
        assert ann.count_on_server(FULL) == 12
        await run_operation(bob.services, "reindex", axis=None)
        await bob.forget(0)
        assert await bob.counts() == [5, 5]
        assert await ann.counts() == [6, 6]
        await until(lambda: ann.writer.missing == bob.writer.missing == 0, every=0.01)


async def test_what_another_model_left_on_the_server_is_forgotten_with_the_rest(
    tmp_path: Path, double: QdrantDouble
) -> None:
    async with person(tmp_path / "ann", double):
        pass
    first = list(double.engine.created)
    async with person(tmp_path / "ann", double, load=lambda: HashingEmbedder(64)) as ann:
        assert len(double.engine.created) == 2 * len(first)
        await ann.forget(0)

        def counts() -> list[int]:
            with double.turn:
                return [double.engine.client.count(name).count for name in double.engine.created if "full" in name]

        # The earlier model's when the index is complete.
        await until(lambda: counts() == [5, 5], every=0.01)
        await ann.forget(1)
        assert counts() == [4, 4]
