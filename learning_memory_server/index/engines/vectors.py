"""Check vectors and terms before they reach an engine; and the names of both in engines."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Final, TypeVar

import numpy as np

from learning_memory_server.embedding.base import Vectors
from learning_memory_server.errors import StorageUnavailableError, WrongDimensionError
from learning_memory_server.index.engines.base import Hit, SparseVector, Vector

T = TypeVar("T")

VECTOR: Final = "dense"
TERMS: Final = "bm25"  # The name of a point's terms in every engine
REBUILD: Final = "Run `learning-memory-server reindex`: it is rebuilt from the journal."
_MOST_TERMS: Final = 1 << 32


def wrong_dimension(collection: str, expected: int, given: int) -> WrongDimensionError:
    """Return the error for vectors of length `given` in a collection with vectors of length `expected`."""
    return WrongDimensionError(
        f"Collection `{collection}` holds vectors of {expected} numbers, not {given}.", hint=REBUILD
    )


def checked_matrix(collection: str, vectors: Sequence[Vector], dimension: int) -> Vectors:
    """Return the vectors as an array of shape (len(vectors), dimension). Raises an error for NaN and other lengths."""
    for vector in vectors:
        if len(vector) != dimension:
            raise wrong_dimension(collection, dimension, len(vector))
    matrix = np.asarray(vectors, dtype=np.float32).reshape(len(vectors), dimension)
    if not np.isfinite(matrix).all():
        raise StorageUnavailableError(
            f"A vector for collection `{collection}` contains NaN or infinity and was not used."
        )
    return matrix


def checked_terms(collection: str, terms: SparseVector | None, form: Callable[[list[int], list[float]], T]) -> T | None:
    """Return terms in an engine's form, None if there are none. Raises an error if they break the port's rules."""
    if terms is None:
        return None
    indices, values = list(terms.indices), list(terms.values)
    ascending = all(first < second for first, second in pairwise(indices))
    in_range = not indices or (indices[0] >= 0 and indices[-1] < _MOST_TERMS)
    if len(indices) != len(values) or not ascending or not in_range:
        raise StorageUnavailableError(
            f"Terms for collection `{collection}` are not distinct, ascending and below 2**32, each with a weight."
        )
    if not all(0 < value < math.inf for value in values):
        raise StorageUnavailableError(f"The weight of a term for collection `{collection}` is not above 0.")
    return form(indices, values) if indices else None


_MORE: Final = 8  # The growth factor of the next request: all hits at a time took 600 ms among 100,000 points
_MARGIN: Final = 8  # Hits to fetch beyond the limit at first


async def best_hits(
    fetch: Callable[[int], Awaitable[list[Hit]]], query: Vector | SparseVector, limit: int, more: int = _MORE
) -> list[Hit]:
    """Return the `limit` best hits, equal scores ordered by id, with cosines clipped to -1 to 1.

    Engines order equal scores arbitrarily. So `more` times as many hits are fetched while the last one ties with the
    `limit`-th.
    """
    asked = limit + _MARGIN
    hits = await fetch(asked)
    while len(hits) == asked and hits[-1].score == hits[limit - 1].score:
        asked *= more
        hits = await fetch(asked)
    best = sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit]
    if isinstance(query, SparseVector):
        return best
    return [hit if abs(hit.score) <= 1.0 else replace(hit, score=max(-1.0, min(1.0, hit.score))) for hit in best]
