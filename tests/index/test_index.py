"""How often a far server is waited for: what does not depend on one another is asked at once."""

import asyncio
import gc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import EmbeddingUnavailableError, NoAnswerError, StorageUnavailableError
from learning_memory_server.index.document import Collection, WholeDocument, digest_of, documents_of, point_id
from learning_memory_server.index.engines.base import Filter
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.queries import ExperienceQuery, MemoryQuery
from learning_memory_server.index.ranking.hybrid import Query
from learning_memory_server.index.recipe import embed
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.services import Services
from learning_memory_server.system.waiting import Budget
from tests.advice.parts import MeasuredModel
from tests.embedding.gated import SlowLoad
from tests.index.engines.double import QdrantDouble, serving
from tests.lessons.values.parts import CACHE, GOOD, POOL
from tests.server.test_waits import call
from tests.services import opened as services_in, run as run_operation
from tests.support import Parts, about, full_ghap, numbered, open_parts

DOCUMENT = WholeDocument(Collection.VALUES, point_id("value", "v"), "measure first", {"value_id": "v"})


async def test_every_collection_exists_and_is_empty_once_the_index_is_open(parts: Parts) -> None:
    assert parts.index.is_open
    assert await parts.index.counts() == dict.fromkeys(map(str, Collection), 0)


async def test_a_server_is_given_up_after_a_while_and_an_engine_in_this_process_is_not() -> None:
    def index(*, is_on_server: bool) -> VectorIndex:
        return VectorIndex(
            EmbeddingService(HashingEmbedder), lambda _: pytest.fail("never opened"), {}, is_on_server=is_on_server
        )

    with pytest.raises(NoAnswerError, match=r"^The index did not answer in time\.$"):
        async with index(is_on_server=True).with_budget(Budget(index=0)).limited():
            await asyncio.sleep(0.01)
    async with index(is_on_server=False).with_budget(Budget(index=0)).limited():
        await asyncio.sleep(0.01)


async def test_a_written_document_is_found_by_its_words(parts: Parts) -> None:
    await parts.index.write([DOCUMENT])

    (hit,) = await parts.nearest(Collection.VALUES, "measure", 5)

    assert hit.id == DOCUMENT.point_id
    assert hit.score == pytest.approx(2**-0.5, abs=1e-5)


async def test_a_write_that_is_cancelled_before_it_begins_leaves_nothing_behind(parts: Parts) -> None:
    for change in (parts.index.write([DOCUMENT], np.ones((1, 4), np.float32)), parts.index.remove([DOCUMENT.point_id])):
        writing = asyncio.create_task(change)
        await asyncio.sleep(0)
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
    # What was made and never awaited says so now, which is an error here.
    gc.collect()


async def test_documents_go_to_their_own_collections(parts: Parts) -> None:
    await parts.index.write([DOCUMENT, *documents_of(full_ghap())])

    counts = await parts.index.counts()
    assert {name for name, count in counts.items() if count == 1} == set(counts) - {"memories"}


async def test_only_collections_that_were_written_have_a_new_generation(parts: Parts) -> None:
    before = {name: parts.index.generation(name) for name in Collection}
    await parts.index.write(documents_of(numbered(1)))
    after = {name: parts.index.generation(name) for name in Collection}

    grown = {name for name in Collection if after[name] > before[name]}
    assert grown == {Collection.EXPERIENCES_FULL, Collection.EXPERIENCES_STRATEGY}


async def test_a_failed_write_does_not_change_the_generation(parts: Parts) -> None:
    parts.store.failures = [StorageUnavailableError("down")]
    with pytest.raises(StorageUnavailableError):
        await parts.index.write([DOCUMENT])

    assert parts.index.generation(Collection.VALUES) == 0


async def test_a_document_is_stored_with_its_payload_and_its_vector(parts: Parts) -> None:
    documents = [documents_of(numbered(n, goal=f"goal {n}"))[0] for n in range(5)]
    await parts.index.write(documents)

    ids = [document.point_id for document in documents]
    records = await parts.store.retrieve(Collection.EXPERIENCES_FULL, ids, with_vectors=True)

    assert [record.payload for record in records] == [
        {**document.payload, "digest": digest_of(document)} for document in documents
    ]
    for record, document in zip(records, documents, strict=True):
        assert record.vector is not None
        (made,) = await embed(parts.embeddings, [document])
        np.testing.assert_allclose(record.vector, made, atol=1e-6)


async def test_before_the_model_is_loaded_nothing_waits(tmp_path: Path) -> None:
    load = SlowLoad[Embedder](HashingEmbedder(16))
    async with open_parts(tmp_path, load=load) as parts:
        parts.embeddings.start()
        with pytest.raises(EmbeddingUnavailableError, match="not loaded yet") as refused:
            await parts.index.write([DOCUMENT])
        assert refused.value.hint == (
            "Call again in a few seconds. If this lasts, `learning-memory-server doctor` says why."
        )
        with pytest.raises(EmbeddingUnavailableError, match="not loaded yet"):
            await parts.index.search_hybrid(Query(Collection.VALUES, "x", 1, Filter()))
        load.release.set()
        await parts.embeddings.identity()
        with pytest.raises(StorageUnavailableError, match="not open yet"):
            await parts.index.write([DOCUMENT])


async def test_an_engine_that_cannot_be_opened_is_closed_and_retried(tmp_path: Path) -> None:
    async with open_parts(tmp_path) as parts:
        assert not parts.index.is_open
        parts.store.down = StorageUnavailableError("damaged")
        with pytest.raises(StorageUnavailableError, match="damaged"):
            await parts.index.open()

        assert parts.store.closed
        assert not parts.index.is_open


async def test_it_is_opened_once_and_closed_with_the_engine(parts: Parts) -> None:
    first = parts.store.inner
    await parts.index.open()
    assert parts.store.inner is first
    await parts.index.close()

    assert parts.store.closed
    assert not parts.index.is_open


# More than a search fetches at first, and all with the same text: every search has ties at its limit.
ENTRIES = [*(numbered(n, goal="the same goal") for n in range(70)), *(about("pool", n) for n in range(20))]


TIMES = 8


@pytest.fixture(scope="module")
def double() -> Iterator[QdrantDouble]:
    with serving() as server:
        yield server


@pytest.fixture
async def services(tmp_path: Path, double: QdrantDouble) -> AsyncIterator[Services]:
    async with services_in(tmp_path, qdrant_url=double.url) as opened:
        opened.collector.add_resolved(ENTRIES)
        await run_operation(opened, "complete")
        # What is asked at once must overlap, however fast this machine is.
        double.delay = 0.03
        yield opened
        double.delay = 0.0


async def trips(double: QdrantDouble, doing: Callable[[], Awaitable[Any]], most: int) -> Any:
    """Do something in at most this many round trips, and return its result.

    A busy machine may send late what is asked at once, so the best of several times counts.
    """
    counts: list[int] = []
    while not counts or min(counts) > most:
        double.round_trips()
        result = await doing()
        counts.append(double.round_trips())
        assert len(counts) <= TIMES, counts
    return result


@pytest.mark.slow
async def test_a_search_waits_three_times_at_most_and_a_write_once(services: Services, double: QdrantDouble) -> None:
    for axis in (Axis.FULL, Axis.STRATEGY):
        for text in ("the same goal", "pool number 7"):
            query = ExperienceQuery(text, axis)
            found = await trips(double, lambda: services.searcher.search_experiences(query), 3)  # noqa: B023
            assert found.mode is SearchMode.HYBRID

    services.collector.add_resolved([numbered(500)])
    await trips(double, lambda: services.persister.persist(numbered(500)), 1)
    await trips(double, lambda: services.writer.remove([point_id("ghap", ENTRIES[0].id)]), 1)
    caller, texts = (Caller("garden", "test"), iter(f"Close the pool {number} times." for number in range(TIMES)))
    await trips(double, lambda: services.memories.add(caller, next(texts), {}), 1)
    await trips(double, lambda: services.memory_searcher.search(MemoryQuery("pool")), 3)


@pytest.mark.slow
async def test_connections_are_kept(services: Services, double: QdrantDouble) -> None:
    before = double.connections
    for _ in range(5):
        await services.searcher.search_experiences(ExperienceQuery("pool"))
    # As many at once as a search needs, and no more however many searches.
    assert double.connections - before <= 5


@pytest.mark.slow
async def test_values_are_asked_for_beside_the_experiences(tmp_path: Path) -> None:
    with serving() as double:
        given = {"qdrant_url": double.url, "min_experiences": 12, "load": MeasuredModel}
        async with services_in(tmp_path, **given) as services:
            services.collector.add_resolved([*POOL, *CACHE])
            await run_operation(services, "complete")
            await call(services, "get_clusters", axis="full")
            await call(services, "store_value", text=GOOD, cluster_id="full_0", axis="full")
            double.delay = 0.03
            found = await trips(double, lambda: call(services, "search_experiences", query=GOOD), 2)
    assert [each["text"] for each in found["values"]] == [GOOD]
