"""The parts of a score, and the score that is computed from them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning_memory_server.index.ranking.fusion import Basis, Explanation
from learning_memory_server.model.vocabulary import SearchMode

COSINES = st.floats(-1, 1)
BM25 = st.floats(0, 500)


@given(COSINES, BM25, st.floats(0, 1))
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


@given(COSINES, BM25, st.floats(0, 1))
def test_a_re_ranked_score_is_the_model_s_and_a_hundredth_of_the_one_before(
    cosine: float, bm25: float, read: float
) -> None:
    before = Explanation(mode=SearchMode.HYBRID, bm25=bm25, basis=Basis(1.0, 0.45), closeness=cosine)
    after = replace(before, mode=SearchMode.RERANKED, reranked=read)
    unread = replace(before, mode=SearchMode.RERANKED)

    assert after.score == pytest.approx(0.99 * read + 0.01 * before.score)
    assert unread.score == pytest.approx(0.01 * before.score)
