"""Ranking by words alone, straight over the texts: no index to build, so it is ready at once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeVar

from learning_memory_server.embedding.terms import terms, weight

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

_HALF: Final = 10.0
"""The BM25 score that is shown as 0.5."""


def rank(query: str, texts: Sequence[tuple[T, str]], limit: int) -> list[tuple[T, float]]:
    """Return up to `limit` of the keys whose texts share terms with the query, best first.

    The score is the one that an index over the same texts gives: BM25 with the terms and weights of
    `embedding.terms`. Ties keep the order of `texts`. About 0.3 s for 10,000 texts of 75 words.

    Args:
        query: What to look for.
        texts: (key, text) pairs.
        limit: The most results to return.

    Returns:
        (key, score) pairs; score is bm25 / (bm25 + 10), between 0 and 1.
    """
    wanted = set(terms(query))
    frequency = dict.fromkeys(wanted, 0)
    weights: list[tuple[T, dict[str, float]]] = []
    for key, text in texts:
        found = terms(text)
        shared = wanted.intersection(found)
        if not shared:
            continue
        for term in shared:
            frequency[term] += 1
        weights.append((key, {term: weight(found.count(term), len(found)) for term in shared}))
    rarity = {term: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for term, n in frequency.items()}
    scored = []
    for key, counted in weights:
        # Summed exactly: equal texts must tie, in whatever order their terms come out of the set.
        score = math.fsum(rarity[term] * value for term, value in counted.items())
        scored.append((key, score / (score + _HALF)))
    return sorted(scored, key=lambda pair: -pair[1])[:limit]
