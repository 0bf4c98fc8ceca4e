from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning_memory_server.indexing.fusion import fuse, lacking, relevance, reranked

COSINES = st.floats(-1, 1)
BM25 = st.floats(0, 500)
IDS = st.sampled_from("abcdefgh")


def test_the_score_is_the_documented_sum() -> None:
    assert relevance(0.5, 20) == pytest.approx(0.6 * 0.5 + 0.4 * 0.5)
    assert relevance(1, 0) == pytest.approx(0.6)
    assert relevance(0, 0) == 0


@given(COSINES, BM25)
def test_any_score_is_between_0_and_1(cosine: float, bm25: float) -> None:
    assert 0 <= relevance(cosine, bm25) <= 1


@given(COSINES, COSINES, BM25, BM25)
def test_more_of_either_is_never_worse(first: float, second: float, less: float, more: float) -> None:
    lower = relevance(min(first, second), min(less, more))

    assert relevance(max(first, second), max(less, more)) >= lower


def test_common_words_count_next_to_nothing_and_a_rare_name_much() -> None:
    assert relevance(0.5, 4) < relevance(0.53, 0)
    assert relevance(0.5, 20) > relevance(0.8, 0)


def test_a_candidate_of_either_search_is_ranked() -> None:
    fused = fuse({"a": 0.9, "b": 0.2}, {"c": 40.0, "b": 40.0}, 10)

    assert [key for key, _ in fused] == ["a", "b", "c"]
    assert dict(fused)["c"] == relevance(0, 40)


def test_equal_scores_are_ordered_by_id() -> None:
    assert [key for key, _ in fuse({"c": 0.5, "a": 0.5, "b": 0.5}, {}, 2)] == ["a", "b"]


def test_a_search_lacks_what_only_the_other_found() -> None:
    assert lacking({"a": 0.5, "b": 0.4}, {"d": 3.0, "b": 2.0, "c": 1.0}, 2) == ["c", "d"]


def test_a_search_that_found_fewer_than_asked_for_lacks_nothing() -> None:
    assert lacking({"a": 0.5}, {"b": 3.0}, 2) == []


@given(st.dictionaries(IDS, COSINES), st.dictionaries(IDS, BM25), st.integers(0, 9))
def test_any_ranking_descends_and_holds_each_candidate_once(
    cosines: dict[str, float], bm25: dict[str, float], limit: int
) -> None:
    fused = fuse(cosines, bm25, limit)

    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))
    assert len(fused) == min(limit, len(cosines.keys() | bm25.keys()))
    assert len({key for key, _ in fused}) == len(fused)
    assert fused == fuse(dict(reversed(cosines.items())), dict(reversed(bm25.items())), limit)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_what_was_read_stays_before_what_was_not(read: float, unread: float, score: float) -> None:
    higher, lower = max(read, unread), min(read, unread)

    assert 0 <= reranked(lower, 0.0) <= reranked(higher, score) <= 1


def test_the_model_s_score_decides_unless_it_is_as_good_as_equal() -> None:
    assert reranked(0.4, 0.99) > reranked(0.9, 0.98)
    assert reranked(0.5, 0.97) > reranked(0.4, 0.97)
