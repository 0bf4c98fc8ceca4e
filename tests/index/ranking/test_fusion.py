from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.index.ranking.fusion import (
    Basis,
    Explanation,
    contrast,
    fuse,
    lacking,
    relevance,
    reranked,
    semantic_weight,
)
from learning_memory_server.model.vocabulary import SearchMode

COSINES = st.floats(-1, 1)
BM25 = st.floats(0, 500)
CONTRASTS = st.floats(0, 1)
IDS = st.sampled_from("abcdefgh")


def on(contrast: float, weight: float = 0.45) -> Basis:
    return Basis(contrast, weight)


def test_the_score_is_the_documented_sum() -> None:
    assert relevance(0.5, 20, on(1)) == pytest.approx(0.45 * 0.5 + 0.55 * 0.5)
    assert relevance(0.5, 20, on(0.4, 0.2)) == pytest.approx(0.2 * 0.5 + 0.55 * 0.4 * 0.5)
    assert relevance(1, 0, on(1)) == pytest.approx(0.45)
    assert relevance(0, 0, on(1)) == 0


@given(COSINES, BM25, CONTRASTS)
def test_any_score_is_between_0_and_1(cosine: float, bm25: float, stands_out: float) -> None:
    assert 0 <= relevance(cosine, bm25, on(stands_out)) <= 1


@given(COSINES, COSINES, BM25, BM25, CONTRASTS)
def test_more_of_either_is_never_worse(
    first: float, second: float, less: float, more: float, stands_out: float
) -> None:
    lower = relevance(min(first, second), min(less, more), on(stands_out))

    assert relevance(max(first, second), max(less, more), on(stands_out)) >= lower


def test_common_words_count_next_to_nothing_and_a_rare_name_much() -> None:
    assert relevance(0.5, 4, on(1)) < relevance(0.55, 0, on(1))
    assert relevance(0.5, 20, on(1)) > relevance(0.8, 0, on(1))


def test_the_contrast_is_how_far_the_best_stands_out_from_the_25th() -> None:
    assert contrast([12.0] + 30 * [9.0]) == pytest.approx(0.25)
    assert contrast([12.0] + 23 * [9.0] + [3.0, 1.0]) == pytest.approx(0.75)
    assert contrast(25 * [4.0]) == 0


def test_the_contrast_is_full_if_fewer_than_25_texts_share_a_term() -> None:
    assert contrast(24 * [4.0]) == contrast([]) == 1


def test_terms_that_many_texts_share_equally_do_not_outrank_a_near_vector() -> None:
    cosines, bm25 = {"near": 0.6, "worded": 0.4}, {"worded": 20.0}

    assert fuse(cosines, bm25, on(0.2), 1)[0][0] == "near"
    assert fuse(cosines, bm25, on(0.9), 1)[0][0] == "worded"


def test_a_candidate_of_either_search_is_ranked() -> None:
    fused = fuse({"a": 0.9, "b": 0.2}, {"c": 40.0, "b": 40.0}, on(0.7), 10)

    assert [key for key, _ in fused] == ["a", "b", "c"]
    assert dict(fused)["c"] == relevance(0, 40, on(0.7))


def test_equal_scores_are_ordered_by_id() -> None:
    assert [key for key, _ in fuse({"c": 0.5, "a": 0.5, "b": 0.5}, {}, on(1.0), 2)] == ["a", "b"]


def test_a_search_lacks_what_only_the_other_found() -> None:
    assert lacking({"a": 0.5, "b": 0.4}, {"d": 3.0, "b": 2.0, "c": 1.0}, 2) == ["c", "d"]


def test_a_search_that_found_fewer_than_asked_for_lacks_nothing() -> None:
    assert lacking({"a": 0.5}, {"b": 3.0}, 2) == []


@given(st.dictionaries(IDS, COSINES), st.dictionaries(IDS, BM25), st.integers(0, 9))
def test_any_ranking_descends_and_holds_each_candidate_once(
    cosines: dict[str, float], bm25: dict[str, float], limit: int
) -> None:
    fused = fuse(cosines, bm25, on(1.0), limit)

    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))
    assert len(fused) == min(limit, len(cosines.keys() | bm25.keys()))
    assert len({key for key, _ in fused}) == len(fused)
    assert fused == fuse(dict(reversed(cosines.items())), dict(reversed(bm25.items())), on(1.0), limit)


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_results_that_were_read_rank_above_the_others(read: float, unread: float, score: float) -> None:
    higher, lower = max(read, unread), min(read, unread)

    assert 0 <= reranked(lower, 0.0) <= reranked(higher, score) <= 1


def test_the_model_s_score_decides_unless_scores_are_nearly_equal() -> None:
    assert reranked(0.4, 0.99) > reranked(0.9, 0.98)
    assert reranked(0.5, 0.97) > reranked(0.4, 0.97)


def test_meaning_counts_the_more_the_best_text_stands_out_and_the_better_the_query_is_read() -> None:
    assert semantic_weight(0.9, 0.1, 1.0) == pytest.approx(0.45)
    assert semantic_weight(0.4, 0.2, 1.0) == pytest.approx(0.2)
    assert semantic_weight(0.4, 0.2, 0.0) == pytest.approx(0.15 * 0.2)
    assert 0 < semantic_weight(0.0, 0.1, 0.0) < semantic_weight(0.0, 0.1, 1.0) < 0.02


@given(COSINES, BM25, CONTRASTS)
def test_a_hybrid_score_is_the_sum_of_its_parts(cosine: float, bm25: float, contrast: float) -> None:
    made = Explanation(mode=SearchMode.HYBRID, bm25=bm25, basis=Basis(contrast, 0.3), closeness=cosine)

    assert made.similarity == max(cosine, 0)
    assert made.lexical == pytest.approx(contrast * bm25**2 / (bm25**2 + 400))
    assert made.score == pytest.approx(0.3 * max(cosine, 0) + 0.55 * made.lexical)


@given(BM25)
def test_a_lexical_score_is_its_only_part(bm25: float) -> None:
    made = Explanation(mode=SearchMode.LEXICAL, bm25=bm25)

    assert made.similarity is None
    assert made.score == made.lexical == pytest.approx(bm25 / (bm25 + 10))


@given(COSINES, BM25, CONTRASTS)
def test_a_re_ranked_score_is_the_model_s_and_a_hundredth_of_the_one_before(
    cosine: float, bm25: float, read: float
) -> None:
    before = Explanation(mode=SearchMode.HYBRID, bm25=bm25, basis=Basis(1.0, 0.45), closeness=cosine)
    after = replace(before, mode=SearchMode.RERANKED, reranked=read)
    unread = replace(before, mode=SearchMode.RERANKED)

    assert after.score == pytest.approx(0.99 * read + 0.01 * before.score)
    assert unread.score == pytest.approx(0.01 * before.score)
