"""Lexical search directly over texts. It needs no index, so it is available immediately."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

from learning_memory_server.index.ranking.terms import terms, weight

T = TypeVar("T")


def rank(query: str, texts: Sequence[tuple[T, str]], limit: int) -> list[tuple[T, float]]:
    """Return up to `limit` keys whose texts share terms with the query, with their BM25 scores, best first.

    The scores are those of an index over the same texts: BM25 with the same terms and weights. Ties keep the order of
    `texts`. Takes about 0.4 s for 10,000 texts of 75 words.
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
        # An exact sum, so that equal texts tie whatever order the set yields their terms in.
        scored.append((key, math.fsum(rarity[term] * value for term, value in counted.items())))
    return sorted(scored, key=lambda pair: -pair[1])[:limit]
