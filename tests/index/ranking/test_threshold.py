"""Searches that can answer with nothing, and those that never do."""

from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.index.queries import (
    EntryQuery,
    ExperienceQuery,
    Found,
    FoundExperience,
    LeftOut,
    MemoryFilter,
    MemoryQuery,
    SearchResult,
    passing,
)
from learning_memory_server.index.ranking.fusion import Basis, Explanation
from learning_memory_server.index.ranking.threshold import OFF_TOPIC, counted_as_usual, least_strength
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus, SearchMode
from learning_memory_server.server.views.entry_views import left_out_note
from tests.advice.parts import MeasuredModel
from tests.capture.memories.shelf import open_shelf
from tests.support import Parts, about, numbered, open_parts


def of(closeness: float, bm25: float = 0.0, least: float | None = 5.0) -> Explanation:
    basis = Basis(weight=0.45, usual=0.05, least=least)
    return Explanation(mode=SearchMode.HYBRID, bm25=bm25, basis=basis, closeness=closeness)


def test_strength_is_what_stands_out_and_what_is_shared() -> None:
    assert of(0.05).strength == 0
    assert of(0.65).strength == pytest.approx(10)
    assert of(0.05, 15).strength == pytest.approx(5)
    coarser = replace(of(0.65), basis=Basis(usual=0.05, unit=0.12))
    assert coarser.strength == pytest.approx(5)


def test_the_strength_needed_rises_with_the_points_that_a_filter_lets_through() -> None:
    assert least_strength(0, 5, 0.0, 1.0) == least_strength(1, 5, 0.0, 1.0) == pytest.approx(1.588, abs=1e-3)
    assert least_strength(81, 5, 0.0, 1.0) == pytest.approx(5.103, abs=1e-3)
    assert least_strength(6_267, 5, 0.0, 1.0) == pytest.approx(8.582, abs=1e-3)


def test_the_strength_needed_rises_with_the_terms_of_a_question_up_to_five() -> None:
    needed = [least_strength(81, count, 0.0, 1.0) for count in (1, 2, 3, 4, 5)]
    assert needed == sorted(set(needed))
    assert least_strength(81, 9, 0.0, 1.0) == needed[-1]
    assert least_strength(1, 1, 0.0, 1.0) == 1.5, "no less than in a store of one text"


@pytest.mark.parametrize("points", [1, 81, 6_267])
def test_a_question_in_another_language_than_all_texts_needs_less_but_never_nothing(points: int) -> None:
    assert least_strength(points, 5, 0.0, 0.0) == pytest.approx(least_strength(points, 5, 0.0, 1.0) * 0.56)
    assert least_strength(points, 5, 0.15, 0.0) == least_strength(points, 5, 0.3, 0.0)
    assert least_strength(points, 5, 0.15, 0.0) == least_strength(points, 5, 0.3, 1.0)


def test_what_is_near_all_texts_is_on_topic_unless_it_is_only_in_their_language() -> None:
    assert counted_as_usual(OFF_TOPIC, 1.0) == OFF_TOPIC
    assert counted_as_usual(0.23, 1.0) == pytest.approx(0.17)
    assert counted_as_usual(0.23, 0.5) == pytest.approx(0.2)
    assert counted_as_usual(0.6, 1.0) == 0.25, "all texts are about one thing"
    assert counted_as_usual(0.6, 0.0) == 0.6, "a language that the model does not read"


def test_strength_is_that_before_re_ranking_and_a_named_score_that_after_it() -> None:
    read = Found(explanation=replace(of(0.8), mode=SearchMode.RERANKED, reranked=0.01))
    assert passing([read], None) == ([read], None)
    assert passing([read], 0.2) == ([], LeftOut(1, read.explanation.score))


def test_once_the_best_is_strong_enough_the_others_need_a_third_of_it() -> None:
    found = [Found(explanation=of(closeness)) for closeness in (0.36, 0.16, 0.14)]
    assert passing(found, None) == (found[:2], LeftOut(1, found[2].explanation.score))
    assert passing(found[1:], None) == ([], LeftOut(2, found[1].explanation.score))
    assert passing(found, 0.15) == (found[:1], LeftOut(2, found[1].explanation.score))
    assert passing(found, 0.0) == (found, None)
    assert passing([], None) == ([], None)


def test_what_is_best_is_never_left_out_by_what_the_others_need() -> None:
    found = [Found(explanation=of(0.03, least=-0.5))]
    assert passing(found, None) == (found, None)


def test_without_a_known_scale_nothing_is_left_out() -> None:
    found = [Found(explanation=of(0.0, least=None))]
    assert passing(found, None) == (found, None)


async def stocked(parts: Parts) -> None:
    await parts.ready()
    await parts.learn(*(numbered(number) for number in range(1, 6)))


async def search(parts: Parts, text: str, **arguments: object) -> SearchResult[FoundExperience]:
    return await parts.searcher.search_experiences(ExperienceQuery(text, **arguments))  # type: ignore[arg-type]


async def test_an_unrelated_question_finds_nothing_and_the_answer_says_so(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=MeasuredModel) as parts:
        await stocked(parts)
        nothing = await search(parts, "lasagne")
        everything = await search(parts, "lasagne", min_score=0.0)
        good = await search(parts, numbered(2).goal)

    assert (nothing.found, nothing.mode) == ([], SearchMode.HYBRID)
    assert nothing.left_out == LeftOut(5, everything.found[0].score)
    assert len(everything.found) == 5
    assert everything.left_out is None
    assert left_out_note(LeftOut(5, 0.1234)) == (
        "5 weak matches were left out, with scores up to 0.123: min_score 0 shows them."
    )
    assert numbered(2).id in [each.entry.id for each in good.found]


async def test_a_store_of_one_topic_answers_questions_about_it(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=MeasuredModel) as parts:
        await parts.ready()
        await parts.learn(*(about("pool", number) for number in range(60)))
        await parts.index.refresh_baselines()
        good = await search(parts, "connection timeout in the pool")
        nothing = await search(parts, "lasagne")
    assert len(good.found) == 10
    assert nothing.found == []


async def test_filters_and_axes_keep_the_threshold(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=MeasuredModel) as parts:
        await stocked(parts)
        filtered = EntryQuery(outcome=OutcomeStatus.CONFIRMED, project=numbered(1).project)
        for where in (EntryQuery(), filtered):
            for axis in (Axis.FULL, Axis.STRATEGY):
                nothing = await search(parts, "banana bread", where=where, axis=axis)
                shown = await search(parts, "banana bread", where=where, axis=axis, min_score=0.0)
                good = await search(parts, numbered(2).goal, where=where, axis=axis)
                assert (nothing.found, nothing.left_out and nothing.left_out.count) == ([], 5)
                assert len(shown.found) == 5
                assert good.found


async def test_the_strength_needed_is_that_of_the_points_that_pass_the_filter(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=MeasuredModel) as parts:
        await stocked(parts)
        await parts.learn(numbered(6, project="elsewhere"))
        await parts.index.refresh_baselines()
        for where, points in ((EntryQuery(), 6), (EntryQuery(project="elsewhere"), 1)):
            found = (await search(parts, "lasagne", axis=Axis.STRATEGY, where=where, min_score=0.0)).found
            basis = found[0].explanation.basis
            assert basis.least == least_strength(points, 1, basis.usual, 1.0)


async def test_a_text_without_terms_and_a_model_whose_scale_is_not_known_have_no_threshold(tmp_path: Path) -> None:
    async with open_parts(tmp_path / "known", load=MeasuredModel) as parts:
        await stocked(parts)
        without_terms = await search(parts, "?!")
    async with open_parts(tmp_path / "other") as parts:
        await stocked(parts)
        other_model = await search(parts, "lasagne")

    for result in (without_terms, other_model):
        assert (len(result.found), result.left_out) == (5, None)


async def test_a_lexical_search_has_only_the_threshold_that_is_named(tmp_path: Path) -> None:
    async with open_parts(tmp_path, load=MeasuredModel) as parts:
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
    async with open_shelf(tmp_path, load=MeasuredModel) as shelf:
        await shelf.add("the pool was exhausted")
        await shelf.add("a build without network")
        await shelf.ready()
        nothing = await shelf.searcher.search(MemoryQuery("lasagne"))
        everything = await shelf.searcher.search(MemoryQuery("lasagne", min_score=0.0))
        similar = await shelf.searcher.search(MemoryQuery("lasagne", min_similarity=0.0001))
        filtered = await shelf.searcher.search(
            MemoryQuery("lasagne", where=MemoryFilter(project=everything.found[0].memory.project))
        )
        good = await shelf.searcher.search(MemoryQuery("pool exhausted"))

    assert (nothing.found, nothing.left_out and nothing.left_out.count) == ([], 2)
    assert (len(everything.found), everything.left_out) == (2, None)
    assert (filtered.found, filtered.left_out and filtered.left_out.count) == ([], 2)
    assert similar.found == []
    assert [each.memory.text for each in good.found] == ["the pool was exhausted"]
