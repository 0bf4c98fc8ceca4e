"""Where the score of a search result comes from."""

from __future__ import annotations

from dataclasses import dataclass

from learning_memory_server.index.ranking.fusion import lexical_part, lexical_score, relevance, reranked
from learning_memory_server.model.vocabulary import SearchMode


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
