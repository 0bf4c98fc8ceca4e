"""Search results in a deterministic order."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from learning_memory_server.index.engines.base import Hit

_MARGIN: Final = 8
"""Hits to fetch beyond the limit at first."""


async def best_hits(
    fetch: Callable[[int], Awaitable[list[Hit]]], limit: int, everything: Callable[[], Awaitable[int]]
) -> list[Hit]:
    """Return the `limit` best hits, equal scores ordered by id.

    Engines order equal scores arbitrarily, even across the limit. So a few more hits than `limit` are fetched, and all
    of them if the last one ties with the last that would be kept.
    """
    asked = limit + _MARGIN
    hits = await fetch(asked)
    if len(hits) == asked and hits[-1].score == hits[limit - 1].score:
        hits = await fetch(max(asked, await everything()))
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit]


def as_cosine(score: float) -> float:
    """Return `score` without a rounding error past -1 or 1."""
    return max(-1.0, min(1.0, score))
