"""Searches that can answer with nothing, and those that never do."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from learning_memory_server.embedding.base import EmbeddingIdentity
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.index.entry_query import EntryQuery, ExperienceQuery, SearchResult
from learning_memory_server.index.memory_query import MemoryFilter, MemoryQuery
from learning_memory_server.index.ranking.fusion import Explanation
from learning_memory_server.index.ranking.threshold import LeftOut, Threshold, measured_for, passing
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, SearchMode
from learning_memory_server.server.views.score_views import left_out_note
from tests.capture.memories.shelf import open_shelf
from tests.support import Parts, numbered, open_parts

SHORT = "lasagne pool"
LONG = "lasagne pool oven beach tomato guitar puppy"


class Measured(HashingEmbedder):
    """A model whose identity has a threshold."""

    def __init__(self) -> None:
        super().__init__(384)
        self.identity = identity("all-MiniLM-L6-v2")


def identity(model: str, dimension: int = 384) -> EmbeddingIdentity:
    return EmbeddingIdentity("hashing", model, "1", dimension, 0)


def test_the_threshold_rises_with_the_collection_and_is_lower_for_long_questions() -> None:
    measured = measured_for(identity("all-MiniLM-L6-v2"))
    assert measured
    assert measured.of_search(SHORT, 81) == pytest.approx(0.1637, abs=1e-4)
    assert measured.of_search(SHORT, 6_267) == pytest.approx(0.2268, abs=1e-4)
    assert measured.of_search(LONG, 81) == pytest.approx(0.1187, abs=1e-4)
    assert measured.of_search(LONG.rpartition(" ")[0], 81) == measured.of_search(SHORT, 81)
    assert measured.of_search(SHORT, 0) == measured.of_search(SHORT, 1) == pytest.approx(0.1)


def test_a_model_has_a_threshold_if_one_was_measured_for_its_family() -> None:
    assert measured_for(identity("sentence-transformers/all-MiniLM-L6-v2")) == measured_for(
        identity("all-MiniLM-L6-v2")
    )
    assert measured_for(identity("all-mpnet-base-v2", 768)) is None
    assert measured_for(identity("all-MiniLM-L6-v2", 256)) is None


def test_a_measured_threshold_is_compared_with_the_score_before_re_ranking() -> None:
    read = Explanation(mode=SearchMode.RERANKED, bm25=0, cosine=0.8, reranked=0.01)
    assert Threshold(0.2, is_asked=False).passes(read)
    assert not Threshold(0.2, is_asked=True).passes(read)


@dataclass(frozen=True)
class Result:
    explanation: Explanation


def test_once_the_best_reaches_the_threshold_the_others_need_two_thirds_of_it() -> None:
    def at(*scores: float) -> list[Result]:
        return [Result(Explanation(mode=SearchMode.HYBRID, bm25=0, cosine=score / 0.45)) for score in scores]

    found = at(0.31, 0.25, 0.19)
    kept, left_out = passing(found, Threshold(0.3, is_asked=False))
    assert kept == found[:2]
    assert left_out
    assert left_out.count == 1
    assert left_out.least == pytest.approx(0.2)
    assert passing(found[1:], Threshold(0.3, is_asked=False)) == ([], LeftOut(2, 0.3))
    assert passing(found, Threshold(0.3, is_asked=True)) == (found[:1], LeftOut(2, 0.3))
    assert passing(found, None) == (found, None)


async def stocked(parts: Parts) -> None:
    await parts.ready()
    await parts.learn(*(numbered(number) for number in range(1, 6)))


async def search(parts: Parts, text: str, **arguments: object) -> SearchResult:
    return await parts.searcher.search_experiences(ExperienceQuery(text, **arguments))  # type: ignore[arg-type]


async def test_an_unrelated_question_finds_nothing_and_the_answer_says_so(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=Measured) as parts:
        await stocked(parts)
        nothing = await search(parts, "lasagne")
        everything = await search(parts, "lasagne", min_score=0.0)
        good = await search(parts, numbered(2).goal)

    assert (nothing.found, nothing.mode) == ([], SearchMode.HYBRID)
    assert nothing.left_out
    assert nothing.left_out.count == len(everything.found) == 5
    assert nothing.left_out.least == pytest.approx(0.1233, abs=1e-4)
    assert everything.left_out is None
    assert left_out_note(nothing.left_out) == (
        "5 weak matches were left out, with scores below 0.123: min_score 0 shows them."
    )
    assert numbered(2).id in [each.entry.id for each in good.found]


async def test_there_is_no_threshold_where_none_was_measured(tmp_path: Path) -> None:
    async with open_parts(tmp_path / "measured", load=Measured) as parts:
        await stocked(parts)
        filtered = await search(parts, "lasagne", where=EntryQuery(outcome=OutcomeStatus.CONFIRMED))
        other_axis = await search(parts, "lasagne", axis=Axis.STRATEGY)
        without_terms = await search(parts, "?!")
    async with open_parts(tmp_path / "other") as parts:
        await stocked(parts)
        other_model = await search(parts, "lasagne")

    for result in (filtered, other_axis, without_terms, other_model):
        assert (len(result.found), result.left_out) == (5, None)


async def test_a_lexical_search_has_only_the_threshold_that_is_named(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=Measured) as parts:
        parts.collector.add_resolved([numbered(number) for number in range(1, 6)])
        text = numbered(1).goal
        everything = await search(parts, text)
        least = everything.found[0].score
        best = await search(parts, text, min_score=least)

    assert everything.mode is SearchMode.LEXICAL
    assert everything.left_out is None
    assert [each.score >= least for each in best.found] == [True] * len(best.found)
    assert len(best.found) + (best.left_out.count if best.left_out else 0) == len(everything.found)


async def test_memories_have_the_same_threshold(tmp_path: Path) -> None:
    async with open_shelf(tmp_path, load=Measured) as shelf:
        await shelf.add("the pool was exhausted")
        await shelf.add("a build without network")
        await shelf.ready()
        nothing = await shelf.searcher.search(MemoryQuery("lasagne"))
        everything = await shelf.searcher.search(MemoryQuery("lasagne", min_score=0.0))
        filtered = await shelf.searcher.search(MemoryQuery("lasagne", where=MemoryFilter(project="shop")))
        good = await shelf.searcher.search(MemoryQuery("pool exhausted"))

    assert (nothing.found, nothing.left_out and nothing.left_out.count) == ([], 2)
    assert (len(everything.found), everything.left_out) == (2, None)
    assert filtered.left_out is None
    assert [each.memory.text for each in good.found] == ["the pool was exhausted"]
