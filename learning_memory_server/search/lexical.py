"""Ranking by words alone, straight over the texts: no index to build, so it is ready at once."""

from __future__ import annotations

import math
import re
from collections import Counter
from typing import TYPE_CHECKING, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")

_K1: Final = 1.2
_B: Final = 0.75
_HALF: Final = 10.0
"""The BM25 score that is shown as 0.5."""
_STOP_WORDS: Final = frozenset(
    [
        "a",
        "an",
        "and",
        "are",
        "as",
        "at",
        "be",
        "but",
        "by",
        "do",
        "does",
        "for",
        "from",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "my",
        "no",
        "not",
        "of",
        "on",
        "or",
        "our",
        "should",
        "so",
        "than",
        "that",
        "the",
        "their",
        "then",
        "there",
        "these",
        "this",
        "to",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "why",
        "will",
        "with",
        "you",
        "your",
    ]
)
_PREFIX_FROM: Final = 4
"""Words of at least this length also match longer words that begin with them, in place of stemming."""


def rank(query: str, texts: Sequence[tuple[T, str]], limit: int) -> list[tuple[T, float]]:
    """Return up to `limit` of the keys whose texts share words with the query, best first.

    Okapi BM25 (Robertson and Zaragoza 2009) with k1 = 1.2 and b = 0.75. The document frequencies are
    counted while reading, for the words of the query only. Ties keep the order of `texts`.

    Args:
        query: Words to look for; the most common English words are passed over.
        texts: (key, text) pairs.
        limit: The most results to return.

    Returns:
        (key, score) pairs; score is bm25 / (bm25 + 10), between 0 and 1.
    """
    words = list(dict.fromkeys(re.findall(r"\w+", query.casefold())))
    terms = [word for word in words if word not in _STOP_WORDS] or words
    if not terms or not texts:
        return []
    # Longer terms first, so that the alternation prefers them.
    alternatives = "|".join(
        re.escape(term) + (r"\w*" if len(term) >= _PREFIX_FROM else r"\b")
        for term in sorted(terms, key=len, reverse=True)
    )
    pattern = re.compile(rf"\b(?:{alternatives})")
    counts = [
        Counter(_term_of(match, terms) for match in pattern.findall(text.casefold())) for _, text in texts
    ]
    lengths = [len(text) for _, text in texts]
    mean_length = sum(lengths) / len(lengths) or 1.0
    frequency = Counter(term for count in counts for term in count)
    idf = {
        term: math.log(1 + (len(texts) - found + 0.5) / (found + 0.5)) for term, found in frequency.items()
    }
    scored = []
    for (key, _), count, length in zip(texts, counts, lengths, strict=True):
        norm = _K1 * (1 - _B + _B * length / mean_length)
        score = sum(idf[term] * n * (_K1 + 1) / (n + norm) for term, n in count.items())
        if score > 0:
            scored.append((key, score / (score + _HALF)))
    return sorted(scored, key=lambda pair: -pair[1])[:limit]


def _term_of(match: str, terms: Sequence[str]) -> str:
    if match in terms:
        return match
    return max((term for term in terms if match.startswith(term)), key=len)
