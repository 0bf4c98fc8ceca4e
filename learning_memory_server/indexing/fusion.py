"""One ranking out of two: the search by meaning and the search by words.

The score of a text is 0.6 * cosine + 0.4 * bm25**2 / (bm25**2 + 20**2). Both parts are absolute: nothing is scaled to
the best of a query, so a score means the same for every query, and a text that one search missed needs only its own
score from it. The square makes a few common words count next to nothing and a rare name count much, which no fixed
share of a linear score does.

Measured with all-MiniLM-L6-v2 and the terms of `embedding.terms`, recall@10 / nDCG@10 in percent. The first three
sets are of real queries, the others were made from real texts, save the last two, whose texts were written for it:

    set                             documents  queries    words        meaning      both
    developer memories                     30       15   100.0 / 84.0  100.0 / 87.4  100.0 / 92.5
    web queries to functions            6,267      500    57.0 / 38.5   82.2 / 60.3   84.4 / 60.9
    requests of the same intent         1,500      300    41.2 / 47.8   61.4 / 66.5   62.2 / 67.3
    docstring to its function           2,500      400    72.0 / 52.8   79.8 / 60.6   83.8 / 65.8
    task to what went wrong               675      401    79.3 / 68.2   79.7 / 67.9   83.4 / 73.8
    what went wrong to its task           734      404    86.1 / 70.2   87.1 / 71.7   89.1 / 77.4
    goal to the rest of its entry          81       81    93.8 / 72.9  100.0 / 83.8  100.0 / 82.5
    names, hosts and error codes        1,200      300   100.0 / 98.5   83.3 / 59.1  100.0 / 96.5
    question to a turn of a talk        1,116       76    44.7 / 34.5   63.2 / 44.6   60.5 / 46.8

    average                                                74.9 / 63.0   81.9 / 66.9   84.8 / 73.7
    0.7 * meaning + 0.3 * words, each from its 100th to its best                       84.4 / 71.9
    half and half of the same                                                          83.4 / 71.8
    0.6 * cosine + 0.4 * bm25 / (bm25 + 10)                                            83.5 / 72.1
    reciprocal ranks, k = 60                                                           80.7 / 68.5

It is a plateau: half saturation from 18 to 25, with a share of 0.6 to 0.5, stays within 0.1 on average.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

DEPTH: Final = 50
"""How many candidates to take from each search, or as many as are wanted if that is more.

For ten results, fewer than 30 lose recall, and more change nothing.
"""

RERANKED: Final = 20
"""How many of the best a re-ranking model reads.

It can bring forward what is among them: 89.6 % of what answers web queries to functions, where the first five have 72.0;
of 30 it would be 93.4, of 50 95.8. A model of six layers and 384 numbers takes 27 ms of a processor for each, so 20 are
what the second that a search for memories has allows.
"""

_MEANING: Final = 0.6
_HALF: Final = 20.0
"""The BM25 score that counts half."""
_RERANKED_SHARE: Final = 0.99


def relevance(cosine: float, bm25: float) -> float:
    """Return how well a text matches, from 0 to 1.

    Args:
        cosine: The cosine similarity of the text and the query; below 0 counts as 0.
        bm25: The text's BM25 score, 0 if it shares no term with the query.
    """
    squared = bm25 * bm25
    return _MEANING * min(max(cosine, 0.0), 1.0) + (1 - _MEANING) * squared / (squared + _HALF * _HALF)


def reranked(relevance: float, score: float) -> float:
    """Return how well a text matches once a model has read it together with the query, from 0 to 1.

    The model's score decides, and the relevance where scores are as good as equal. A text that was not read has the
    score 0 and less relevance than those that were, so that it never comes before one of them, and comes out below .01.

    Args:
        relevance: See `relevance`.
        score: What the model gives it, from 0 to 1.
    """
    return _RERANKED_SHARE * score + (1 - _RERANKED_SHARE) * relevance


def lacking(found: Mapping[str, float], other: Mapping[str, float], depth: int) -> list[str]:
    """Return the ids that only the other search found, and whose score in this one is still to be asked for.

    A search that found fewer than it was asked for has found all it can: what it lacks scores 0 in it.

    Args:
        found: The scores that one search gave, by id.
        other: Those that the other gave.
        depth: How many candidates `found` was asked for.

    Returns:
        The ids, sorted.
    """
    if len(found) < depth:
        return []
    return sorted(other.keys() - found.keys())


def fuse(cosines: Mapping[str, float], bm25: Mapping[str, float], limit: int) -> list[tuple[str, float]]:
    """Return the best of the candidates of both searches.

    Args:
        cosines: Cosine similarities by id.
        bm25: BM25 scores by id.
        limit: The most results to return.

    Returns:
        (id, score) pairs, best first, equal ones ordered by id. The score is `relevance`, where an absent id counts
        as 0: ask for what is `lacking` first.
    """
    scored = [
        (key, relevance(cosines.get(key, 0.0), bm25.get(key, 0.0))) for key in cosines.keys() | bm25.keys()
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[:limit]
