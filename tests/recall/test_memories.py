from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.errors import DiskFullError, StorageUnavailableError
from learning_memory_server.index.engines.base import Hit, SparseVector
from learning_memory_server.index.queries import MemoryFilter, MemoryQuery
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.recall.memories import MemorySearcher
from learning_memory_server.recall.recall import Recall
from tests.capture.memories.shelf import LONG, Shelf, open_shelf
from tests.support import CAROL, NOON

if TYPE_CHECKING:
    from learning_memory_server.index.engines.base import Vector

MODES = pytest.mark.parametrize("mode", [SearchMode.LEXICAL, SearchMode.HYBRID])
HYBRID = pytest.mark.parametrize("mode", [SearchMode.HYBRID])
LEXICAL = pytest.mark.parametrize("mode", [SearchMode.LEXICAL])


@pytest.fixture
async def library(shelf: Shelf, mode: SearchMode) -> Shelf:
    """Five memories, in services whose searches have the test's mode."""
    if mode is SearchMode.HYBRID:
        await shelf.ready()
    await shelf.add("postgres is the database", tags=["db", "decision"], timestamp="2026-01-31")
    await shelf.add("redis is the database of the cache", tags=["db"], source="a.md", timestamp="2026-02-01T00:00:00Z")
    await shelf.add("the database has a replica", tags=["decision"], timestamp="2026-02-01T23:59:59.5Z")
    await shelf.add("a database of butterflies", CAROL, timestamp="2026-02-02")
    await shelf.add("nothing of the kind")
    return shelf


async def found(shelf: Shelf, text: str = "database", *, limit: int = 4, **where: Any) -> list[str]:
    result = await shelf.searcher.search(MemoryQuery(text, limit, MemoryFilter(**where)))
    return sorted(item.memory.text.split()[0] for item in result.found if item.score > 0)


def day(number: int) -> datetime:
    return datetime(2026, 2, number, tzinfo=UTC)


@HYBRID
async def test_a_query_without_terms_is_a_semantic_search(library: Shelf) -> None:
    assert (await library.searcher.search(MemoryQuery("=> ?!"))).mode is SearchMode.SEMANTIC


@MODES
async def test_a_search_says_what_ranked_it(library: Shelf, mode: SearchMode) -> None:
    result = await library.searcher.search(MemoryQuery("butterflies"))
    assert result.mode is mode
    assert result.found[0].memory.text == "a database of butterflies"
    assert result.found[0].chunk == "a database of butterflies"
    assert all(0 <= item.score <= 1 for item in result.found)


@MODES
@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ({}, ["a", "postgres", "redis", "the"]),
        ({"tags": ("db",)}, ["postgres", "redis"]),
        ({"tags": ("db", "decision")}, ["postgres"]),
        ({"tags": ("DB",)}, []),
        ({"source": "a.md"}, ["redis"]),
        ({"project": CAROL.project}, ["a"]),
        ({"start": day(1)}, ["a", "redis", "the"]),
        ({"end": day(2) - timedelta(microseconds=1)}, ["postgres", "redis", "the"]),
        ({"start": day(1), "end": day(1)}, ["redis"]),
        ({"start": day(1), "tags": ("decision",)}, ["the"]),
    ],
)
async def test_filters_restrict_a_search(library: Shelf, where: dict[str, Any], expected: list[str]) -> None:
    assert await found(library, **where) == expected


@MODES
async def test_filters_apply_before_the_best_are_taken(library: Shelf) -> None:
    for number in range(60):
        await library.add(f"database database database {number}")
    assert await found(library, limit=1, source="a.md") == ["redis"]


@MODES
async def test_each_memory_is_found_once_with_its_best_chunk(mode: SearchMode, shelf: Shelf) -> None:
    long, short = await shelf.add(LONG), await shelf.add("topic77 in short, and much else besides it")
    if mode is SearchMode.HYBRID:
        await shelf.ready()
    result = await shelf.searcher.search(MemoryQuery("paragraph that tells of topic77", 5))
    assert sorted(item.memory.id for item in result.found) == sorted([long.memory.id, short.memory.id])
    (item,) = (item for item in result.found if item.memory == long.memory)
    assert "topic77 " in item.chunk


@pytest.fixture
async def crowded(shelf: Shelf) -> Shelf:
    """Two long texts, one with more chunks than a search fetches, and five notes that match worse than any of those."""
    await shelf.add("\n\n".join([LONG] * 10))
    await shelf.add(LONG)
    for number in range(5):
        await shelf.add(f"note {number} is short", tags=["note"])
    await shelf.ready()
    return shelf


@pytest.mark.slow
async def test_no_long_text_hides_the_other_memories(crowded: Shelf) -> None:
    result = await crowded.searcher.search(MemoryQuery("and of nothing else", 7))
    assert len({item.memory.id for item in result.found}) == len(result.found) == 7
    assert [item.memory.text.startswith(LONG) for item in result.found] == [True] * 2 + [False] * 5
    assert not result.is_partial


@pytest.mark.slow
async def test_a_search_that_runs_out_of_time_says_that_it_is_partial(crowded: Shelf) -> None:
    hasty = MemorySearcher(Recall(crowded.index, crowded.writer, crowded.reranking), crowded.log, patience=0)
    result = await hasty.search(MemoryQuery("and of nothing else", 7))
    assert result.is_partial
    assert 1 <= len(result.found) <= 2


@pytest.mark.slow
async def test_a_search_that_misses_nothing_is_not_partial_however_short_the_time(crowded: Shelf) -> None:
    hasty = MemorySearcher(Recall(crowded.index, crowded.writer, crowded.reranking), crowded.log, patience=0)
    where = MemoryFilter(tags=("note",))
    result = await hasty.search(MemoryQuery("and of nothing else", 7, where))
    assert (len(result.found), result.is_partial) == (5, False)


WORDS = " ".join(f"w{number}" for number in range(30))


class ByName(HashingEmbedder):
    """A model that embeds texts with `north` like the query, those with another word as given, others at right angles.

    Args:
        words: The first two dimensions of texts with a word; the others are 0.
    """

    def __init__(self, **words: tuple[float, float]) -> None:
        super().__init__()
        self._words = {"north": (1.0, 0.0), **words}

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.identity.dimension), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            vector[:2] = next((place for word, place in self._words.items() if word in text), (0.0, 1.0))
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self.embed_documents([f"north {text}" for text in texts])


class Noting:
    """Gives every text the best score, and records what it reads."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def scores(self, _query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.read += texts
        return np.ones(len(texts), dtype=np.float32)


async def test_the_best_of_all_rounds_are_re_ranked_not_those_of_the_first(tmp_path: Path) -> None:
    model = Noting()
    async with open_shelf(tmp_path, load=lambda: ByName(close=(0.98, 0.2)), load_reranker=lambda: model) as shelf:
        # Each fills one of the two searches of the first round, and scores badly in the other.
        await shelf.add("\n\n".join(f"north {'far away ' * 50}{number}" for number in range(60)))
        # The shorter stand out a little, so that terms count.
        await shelf.add("\n\n".join(f"{WORDS} {'x ' * (number % 15)}{number}" for number in range(60)))
        # This one is good in both, but the best in neither.
        both = await shelf.add(f"{WORDS} close {'sea ' * 20}")
        await shelf.ready()
        await shelf.reranking.loaded()
        result = await shelf.searcher.search(MemoryQuery(WORDS, 3))
    assert result.mode is SearchMode.RERANKED
    assert result.found[0].memory == both.memory
    assert "close" in model.read[0]
    assert len(result.found) == 3


@MODES
async def test_scores_descend_and_ties_are_ordered_by_id(mode: SearchMode, shelf: Shelf) -> None:
    for number in range(6):
        await shelf.add("the very same text", kind=number % 3, number=number)
    if mode is SearchMode.HYBRID:
        await shelf.ready()
    result = await shelf.searcher.search(MemoryQuery("the very same text"))
    order = [(-item.score, item.memory.id) for item in result.found]
    assert len(order) == 6
    assert order == sorted(order)


@HYBRID
async def test_min_similarity_compares_the_cosine(library: Shelf) -> None:
    text = "2026-02-02 a database of butterflies"
    everything = await library.searcher.search(MemoryQuery(text, 10))
    close = await library.searcher.search(MemoryQuery(text, 10, min_similarity=0.95))
    assert len(everything.found) == 5
    assert [item.memory.project for item in close.found] == [CAROL.project]


async def test_a_similarity_below_0_counts_as_0_so_shared_terms_are_found_anyway(tmp_path: Path) -> None:
    async with open_shelf(tmp_path, load=lambda: ByName(south=(-1, 0))) as shelf:
        await shelf.ready()
        added = await shelf.add("south of the lighthouse")
        (item,) = (await shelf.searcher.search(MemoryQuery("lighthouse"))).found
        none = await shelf.searcher.search(MemoryQuery("lighthouse", min_similarity=0.01))
    assert item.memory == added.memory
    assert item.explanation.closeness == pytest.approx(-1)
    assert item.explanation.similarity == 0
    assert item.score > 0
    assert none.found == []


async def test_memories_that_are_not_similar_enough_do_not_hide_one_that_is(tmp_path: Path) -> None:
    async with open_shelf(tmp_path, load=lambda: ByName(close=(0.3, 0.954))) as shelf:
        # Many chunks without them make the words rare.
        await shelf.add(LONG)
        await shelf.ready()
        # More than a search for one memory considers in a round; all of them rank above the one that is similar.
        for number in range(12):
            await shelf.add(f"{WORDS} {number}")
        similar = await shelf.add("close by the sea")
        result = await shelf.searcher.search(MemoryQuery(WORDS, 1, min_similarity=0.2))
    assert [item.memory for item in result.found] == [similar.memory]
    assert not result.is_partial


@LEXICAL
async def test_min_similarity_means_nothing_to_a_lexical_search(library: Shelf) -> None:
    result = await library.searcher.search(MemoryQuery("butterflies", min_similarity=1))
    assert len(result.found) == 1


@HYBRID
async def test_a_deleted_memory_is_not_found_even_while_its_points_are_there(library: Shelf) -> None:
    library.log.forget([library.log.all()[3].id], NOON)
    assert await found(library, "butterflies database") == ["postgres", "redis", "the"]
    assert await library.points() == 5


async def test_pending_memories_are_found_lexically(shelf: Shelf) -> None:
    added = await shelf.add("postgres is the database")
    assert not added.is_indexed
    assert await found(shelf) == ["postgres"]


class Failing:
    """Makes the next searches of a shelf's store fail, in order."""

    def __init__(self, shelf: Shelf, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0
        self._inner = shelf.store.inner
        shelf.store.inner = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def search(self, collection: str, query: Vector | SparseVector, **options: Any) -> list[Hit]:
        # Each search of the index asks by terms, too.
        if not isinstance(query, SparseVector):
            self.calls += 1
            if self.errors:
                raise self.errors.pop(0)
        return await self._inner.search(collection, query, **options)


@HYBRID
@pytest.mark.slow
async def test_a_lost_connection_is_retried_twice(library: Shelf) -> None:
    failing = Failing(library, *[StorageUnavailableError("lost")] * 2)
    assert (await library.searcher.search(MemoryQuery("database"))).mode is SearchMode.HYBRID
    assert failing.calls == 3


@HYBRID
@pytest.mark.slow
async def test_after_three_tries_the_journal_answers(library: Shelf) -> None:
    failing = Failing(library, *[StorageUnavailableError("lost")] * 4)
    result = await library.searcher.search(MemoryQuery("butterflies"))
    assert result.mode is SearchMode.LEXICAL
    assert [item.memory.project for item in result.found] == [CAROL.project]
    assert failing.calls == 3


@HYBRID
async def test_a_permanent_failure_is_not_tried_again(library: Shelf) -> None:
    failing = Failing(library, *[DiskFullError("full")] * 4)
    assert (await library.searcher.search(MemoryQuery("butterflies"))).mode is SearchMode.LEXICAL
    assert failing.calls == 1
