"""Merge two rankings: semantic search, by vectors, and lexical search, by terms.

The score of a text is weight * closeness + 0.55 * contrast * bm25**2 / (bm25**2 + 20**2).

The weight is min(2 * best closeness - 3 * usual closeness, 0.45) * (0.15 + 0.85 * read), where `read` is how well the
model reads the query. The contrast is 1 - (25th best BM25 score) / (best BM25 score), or 1 with fewer texts. Both
depend on the search, so scores of different searches are not comparable. Decision 9 has figures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from learning_memory_server.index.ranking.threshold import UNIT
from learning_memory_server.model.vocabulary import SearchMode

DEPTH: Final = 50  # Candidates from each search, unless more results are wanted

RERANKED: Final = 20  # The number of results that a re-ranking model can read within the second of a memory search

LEXICAL_WEIGHT: Final = 0.55
_NEAREST, _USUAL = 2.0, 3.0
_LEAST: Final = 0.01  # Above 0, so that the nearest text is first even if nothing stands out
_MOST: Final = 0.45  # With the lexical weight, no score exceeds 1
_UNREAD_SHARE: Final = 0.15
RERANKED_WEIGHT: Final = 0.99
_HALF_OF_HYBRID: Final = 20.0  # The BM25 score at which `lexical_part` is half of the contrast
_WORDS, _HALF_OF_WORDS = 10.0, 15.0  # The weight of words in a text's strength
_BACKGROUND: Final = 25  # The rank whose BM25 score is the background for the contrast
_HALF_OF_LEXICAL: Final = 10.0  # The BM25 score that a lexical search shows as 0.5


def contrast(bm25: Sequence[float]) -> float:
    """Return the contrast, from 0 to 1, of BM25 scores, best first. Needs at least 25 scores if there are that many."""
    return 1.0 - bm25[_BACKGROUND - 1] / bm25[0] if len(bm25) >= _BACKGROUND else 1.0


def semantic_weight(best: float, usual: float, read: float) -> float:
    """Return the weight of closeness, from the best and the usual closeness, and how well the query is read."""
    stands_out = min(max(_NEAREST * best - _USUAL * usual, _LEAST), _MOST)
    return stands_out * (_UNREAD_SHARE + (1.0 - _UNREAD_SHARE) * read)


@dataclass(frozen=True, slots=True)
class Basis:
    """The common properties of all results of one search, determined in its first round."""

    contrast: float = 1.0  # how far the best BM25 score stands out, from 0 to 1
    weight: float = 0.0  # the weight of closeness: see `semantic_weight`
    usual: float = 0.0  # the query's usual closeness to the collection, adjusted for strengths
    unit: float = UNIT  # the unit of strength: see `index.ranking.threshold`
    least: float | None = None  # the minimum strength of the best result; None to leave nothing out


def relevance(closeness: float, bm25: float, basis: Basis) -> float:
    """Return a match score from 0 to 1."""
    return basis.weight * min(max(closeness, 0.0), 1.0) + LEXICAL_WEIGHT * lexical_part(bm25, basis.contrast)


def lexical_part(bm25: float, contrast: float) -> float:
    """Convert a BM25 score to the scale of a closeness, from 0 to 1."""
    squared = bm25 * bm25
    return contrast * squared / (squared + _HALF_OF_HYBRID * _HALF_OF_HYBRID)


def reranked(relevance: float, score: float) -> float:
    """Return the score of a re-ranked text, from 0 to 1. Relevance decides between equal scores of the model."""
    return RERANKED_WEIGHT * score + (1 - RERANKED_WEIGHT) * relevance


def lacking(found: Mapping[str, float], other: Mapping[str, float], depth: int) -> list[str]:
    """Return the ids that only the other search found; none if this one found fewer than `depth`, so all it has."""
    if len(found) < depth:
        return []
    return sorted(other.keys() - found.keys())


def fuse(
    closeness: Mapping[str, float], bm25: Mapping[str, float], basis: Basis, limit: int
) -> list[tuple[str, float]]:
    """Return the best candidates of both searches as pairs (id, `relevance`), best first, ties ordered by id."""
    scored = [
        (key, relevance(closeness.get(key, 0.0), bm25.get(key, 0.0), basis)) for key in closeness.keys() | bm25.keys()
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """The parts of a score that the search knows. The score is computed from them."""

    mode: SearchMode  # the ranking method, which determines the formula for the score
    bm25: float  # the BM25 score, 0 if query and text share no term
    basis: Basis = Basis()  # the common properties of the search's results; unused in a lexical score
    closeness: float | None = None  # Closeness of query and text, from -1 to 1; None in a lexical search
    nearest: str | None = None  # the collection with the nearest vector; None in a lexical search
    reranked: float | None = None  # the re-ranking model's score, from 0 to 1; None if not re-ranked

    @property
    def similarity(self) -> float | None:
        """The closeness clipped to 0 to 1, for the score and for `min_similarity`; None in a lexical search."""
        return None if self.closeness is None else min(max(self.closeness, 0.0), 1.0)

    @property
    def lexical(self) -> float:
        """The contribution of the BM25 score, from 0 to 1."""
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
        """The strength of the match, before any re-ranking: see `index.ranking.threshold`."""
        return self.strength_above(self.basis.usual)

    def strength_above(self, usual: float) -> float:
        """Return the strength for another usual closeness."""
        stands_out = ((self.closeness or 0.0) - usual) / self.basis.unit
        return stands_out + _WORDS * self.bm25 / (self.bm25 + _HALF_OF_WORDS)

    @property
    def score(self) -> float:
        """The score of the result, from 0 to 1."""
        if self.mode is SearchMode.RERANKED:
            return reranked(self.relevance, self.reranked or 0.0)
        return self.relevance
