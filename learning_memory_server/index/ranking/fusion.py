"""One ranking from two: semantic search, by vectors, and lexical search, by terms.

The score of a text is weight * closeness + 0.55 * contrast * bm25**2 / (bm25**2 + 20**2).

The weight of meaning is 2 * the nearest closeness - 3 * the usual one, at most 0.45, times 0.15 + 0.85 * how well the
model reads the query. The contrast of the words is 1 - the 25th best BM25 score / the best, or 1 with fewer texts. Both
depend on the search, so scores of two searches cannot be compared. Decision 9 has figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from learning_memory_server.index.ranking.threshold import UNIT
from learning_memory_server.model.vocabulary import SearchMode

DEPTH: Final = 50  # Candidates to take from each search, unless more results are wanted

RERANKED: Final = 20  # The results that a re-ranking model reads within the second of a memory search

LEXICAL_WEIGHT: Final = 0.55
_NEAREST, _USUAL = 2.0, 3.0
_LEAST: Final = 0.01  # Where nothing stands out, the nearest text is still first
_MOST: Final = 0.45  # With the lexical weight, no score is above 1
_UNREAD_SHARE: Final = 0.15
RERANKED_WEIGHT: Final = 0.99
_HALF_OF_HYBRID: Final = 20.0  # The BM25 score whose `lexical_part` is half of the contrast
_WORDS, _HALF_OF_WORDS = 10.0, 15.0  # What words count in a text's strength
_BACKGROUND: Final = 25  # The rank whose BM25 score is the background that the best one stands out from
_HALF_OF_LEXICAL: Final = 10.0  # The BM25 score that a lexical search shows as 0.5


def contrast(bm25: Sequence[float]) -> float:
    """Return the contrast, from 0 to 1, of BM25 scores, best first; at least 25 if there are that many."""
    return 1.0 - bm25[_BACKGROUND - 1] / bm25[0] if len(bm25) >= _BACKGROUND else 1.0


def semantic_weight(best: float, usual: float, read: float) -> float:
    """Return what meaning counts: by the closeness of the nearest text, the usual one, and how well a query is read."""
    stands_out = min(max(_NEAREST * best - _USUAL * usual, _LEAST), _MOST)
    return stands_out * (_UNREAD_SHARE + (1.0 - _UNREAD_SHARE) * read)


@dataclass(frozen=True, slots=True)
class Basis:
    """The common properties of the results of one search, from its first round."""

    contrast: float = 1.0  # how far its best BM25 score stands out, from 0 to 1
    weight: float = 0.0  # what meaning counts: see `semantic_weight`
    usual: float = 0.0  # what the query's mean closeness to the collection counts as in strengths
    unit: float = UNIT  # that of strength: see `index.ranking.threshold`
    least: float | None = None  # the strength that the best result needs; None if nothing is left out


def relevance(closeness: float, bm25: float, basis: Basis) -> float:
    """Return how well a text matches, from 0 to 1."""
    return basis.weight * min(max(closeness, 0.0), 1.0) + LEXICAL_WEIGHT * lexical_part(bm25, basis.contrast)


def lexical_part(bm25: float, contrast: float) -> float:
    """Return what a BM25 score is worth next to a closeness, from 0 to 1."""
    squared = bm25 * bm25
    return contrast * squared / (squared + _HALF_OF_HYBRID * _HALF_OF_HYBRID)


def reranked(relevance: float, score: float) -> float:
    """Return the match of a re-ranked text, from 0 to 1. Relevance decides between equal scores of the model."""
    return RERANKED_WEIGHT * score + (1 - RERANKED_WEIGHT) * relevance


def lacking(found: Mapping[str, float], other: Mapping[str, float], depth: int) -> list[str]:
    """Return the ids that only the other search found; none if this one found fewer than the `depth` it asked for."""
    if len(found) < depth:
        return []
    return sorted(other.keys() - found.keys())


def fuse(
    closeness: Mapping[str, float], bm25: Mapping[str, float], basis: Basis, limit: int
) -> list[tuple[str, float]]:
    """Return the best candidates of both searches: (id, `relevance`) pairs, best first, ties ordered by id."""
    scored = [
        (key, relevance(closeness.get(key, 0.0), bm25.get(key, 0.0), basis)) for key in closeness.keys() | bm25.keys()
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The parts of a score, as far as the search knows them. The score is computed from them."""

    mode: SearchMode  # what ranked the result. It decides which formula in `fusion` gives the score
    bm25: float  # the BM25 score, 0 where query and text share no term
    basis: Basis = Basis()  # what the search's results have in common; no part of a lexical score
    closeness: float | None = None  # Closeness of query and text, from -1 to 1; None in a lexical search
    nearest: str | None = None  # the collection whose vector is that close; None in a lexical search
    reranked: float | None = None  # what a re-ranking model gave the text, from 0 to 1; None if none read it

    @property
    def similarity(self) -> float | None:
        """The closeness as it enters the score, from 0 to 1: what `min_similarity` compares. None in a lexical one."""
        return None if self.closeness is None else min(max(self.closeness, 0.0), 1.0)

    @property
    def lexical(self) -> float:
        """The BM25 score as it enters the score, from 0 to 1."""
        if self.closeness is None:
            return self.bm25 / (self.bm25 + _HALF_OF_LEXICAL)
        return lexical_part(self.bm25, self.basis.contrast)

    @property
    def relevance(self) -> float:
        """The score before any re-ranking, from 0 to 1."""
        if self.closeness is None:
            return self.lexical
        return relevance(self.closeness, self.bm25, self.basis)

    @property
    def strength(self) -> float:
        """How strongly the text and its query match, before any re-ranking: see `index.ranking.threshold`."""
        return self.strength_above(self.basis.usual)

    def strength_above(self, usual: float) -> float:
        """Return the strength if another closeness counts as the usual one."""
        stands_out = ((self.closeness or 0.0) - usual) / self.basis.unit
        return stands_out + _WORDS * self.bm25 / (self.bm25 + _HALF_OF_WORDS)

    @property
    def score(self) -> float:
        """How well the result matches, from 0 to 1."""
        if self.mode is SearchMode.RERANKED:
            return reranked(self.relevance, self.reranked or 0.0)
        return self.relevance
