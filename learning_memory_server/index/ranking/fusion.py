"""One ranking from two: semantic search, by vectors, and lexical search, by terms.

The score of a text is 0.45 * cosine + 0.55 * contrast * bm25**2 / (bm25**2 + 20**2). The contrast is that of the
query's lexical search: 1 - its 25th best BM25 score / its best, so 1 if fewer than 25 texts share a term with the
query. Where a few texts stand out, as for names, dates and what one person said, their terms count most; where many
texts match nearly as well, as for the common words of web queries, terms count for little. The square makes a few
common words count for next to nothing and a rare name for a lot.

Nothing else depends on the query, so a text that one search missed needs only its own score from it.

Measured with all-MiniLM-L6-v2 and the terms of `index.ranking.terms`, recall@10 / nDCG@10 in percent:

    set                      documents  queries       lexical      semantic        hybrid
    developer memories              30       15  100.0 / 83.9  100.0 / 87.4  100.0 / 94.3
    questions to 81 entries         81       60   74.9 / 61.1   95.0 / 84.3   93.3 / 84.2
    two long conversations       1,032      233   64.5 / 54.2   53.7 / 36.0   69.9 / 56.1
    web queries to functions     6,267      500   57.0 / 38.4   82.2 / 60.2   84.4 / 61.6

    average                                       74.1 / 59.4   82.7 / 67.0   86.9 / 74.1
    0.6 * cosine + 0.4 * bm25**2 / (bm25**2 + 20**2)                          86.9 / 73.5
    0.6 * cosine + 0.4 * bm25 / (bm25 + 10)                                   86.3 / 72.7

It is a plateau: with rank 20 to 30 or 18 to 22 instead of 20, every set stays within 0.7, and with weights of 0.5 and
0.5 or 0.4 and 0.6 within 1.2. On each half of the two large sets, its nDCG is above that of the formula without
contrast. The number of shared terms, the cosines' own contrast, and each query's scores as z-scores were no better as
weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from learning_memory_server.model.vocabulary import SearchMode

DEPTH: Final = 50
"""How many candidates to take from each search, unless more results are wanted.

For ten results, fewer than 30 candidates lose recall, and more than 50 change nothing.
"""

RERANKED: Final = 20
"""How many of the best results a re-ranking model reads.

It can only promote what is among them. The first 20 results contain 89.6 % of the functions that answer web queries
(5: 72.0 %, 30: 93.4 %, 50: 95.8 %). A model of six layers and 384 dimensions takes 27 ms of processor time per text, so
20 fit into the second that a memory search has.
"""

SEMANTIC_WEIGHT: Final = 0.45
LEXICAL_WEIGHT: Final = 0.55
RERANKED_WEIGHT: Final = 0.99
_HALF_OF_HYBRID: Final = 20.0
"""The BM25 score whose `lexical_part` is half of the contrast: the 20 of the formula above and of decision 9."""
_BACKGROUND: Final = 25
"""The rank whose BM25 score is the background that the best one stands out from."""
_HALF_OF_LEXICAL: Final = 10.0
"""The BM25 score whose `lexical_score` is 0.5. It only scales what is shown: it changes no order."""


def contrast(bm25: Sequence[float]) -> float:
    """Return how far the best result of a lexical search stands out, from 0 to 1.

    Args:
        bm25: The scores of its results, best first; at least 25 if there are that many.
    """
    return 1.0 - bm25[_BACKGROUND - 1] / bm25[0] if len(bm25) >= _BACKGROUND else 1.0


def relevance(cosine: float, bm25: float, contrast: float) -> float:
    """Return how well a text matches, from 0 to 1."""
    return SEMANTIC_WEIGHT * min(max(cosine, 0.0), 1.0) + LEXICAL_WEIGHT * lexical_part(bm25, contrast)


def lexical_part(bm25: float, contrast: float) -> float:
    """Return what a BM25 score is worth next to a cosine, from 0 to 1."""
    squared = bm25 * bm25
    return contrast * squared / (squared + _HALF_OF_HYBRID * _HALF_OF_HYBRID)


def lexical_score(bm25: float) -> float:
    """Return how well a text matches by its terms alone, from 0 to 1."""
    return bm25 / (bm25 + _HALF_OF_LEXICAL)


def reranked(relevance: float, score: float) -> float:
    """Return how well a text matches once a model has read it together with the query, from 0 to 1.

    The model's score decides; relevance decides between nearly equal scores. A text that was not read has score 0 and
    less relevance than those that were, so it never ranks above them, and its result is below 0.01.
    """
    return RERANKED_WEIGHT * score + (1 - RERANKED_WEIGHT) * relevance


def lacking(found: Mapping[str, float], other: Mapping[str, float], depth: int) -> list[str]:
    """Return the ids that only the other search found and whose score in this one is still unknown.

    A search that found fewer than the `depth` it was asked for has found all there is: anything else scores 0 in it.
    """
    if len(found) < depth:
        return []
    return sorted(other.keys() - found.keys())


def fuse(
    cosines: Mapping[str, float], bm25: Mapping[str, float], contrast: float, limit: int
) -> list[tuple[str, float]]:
    """Return the best of the candidates of both searches: (id, score) pairs, best first, ties ordered by id.

    The score is `relevance`, where an absent id counts as 0: fetch what is `lacking` first.
    """
    scored = [
        (key, relevance(cosines.get(key, 0.0), bm25.get(key, 0.0), contrast))
        for key in cosines.keys() | bm25.keys()
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The parts of a score, as far as the search knows them. The score is computed from them."""

    mode: SearchMode  # what ranked the result. It decides which formula in `fusion` gives the score
    bm25: float  # the BM25 score, 0 where query and text share no term
    contrast: float = 1.0
    """How far the best BM25 score of the search stands out, from 0 to 1: see `fusion.contrast`. No part of a lexical
    score."""
    cosine: float | None = None
    """The cosine similarity of query and text, from -1 to 1; None in a lexical search."""
    nearest: str | None = None  # the collection whose vector has that cosine; None in a lexical search
    reranked: float | None = None  # what a re-ranking model gave the text, from 0 to 1; None if none read it

    @property
    def similarity(self) -> float | None:
        """The cosine as it enters the score, from 0 to 1: what `min_similarity` compares. None in a lexical search."""
        return None if self.cosine is None else min(max(self.cosine, 0.0), 1.0)

    @property
    def lexical(self) -> float:
        """The BM25 score as it enters the score, from 0 to 1."""
        return lexical_score(self.bm25) if self.cosine is None else lexical_part(self.bm25, self.contrast)

    @property
    def relevance(self) -> float:
        """The score before any re-ranking, from 0 to 1."""
        if self.cosine is None:
            return self.lexical
        return relevance(self.cosine, self.bm25, self.contrast)

    @property
    def score(self) -> float:
        """How well the result matches, from 0 to 1."""
        if self.mode is SearchMode.RERANKED:
            return reranked(self.relevance, self.reranked or 0.0)
        return self.relevance
