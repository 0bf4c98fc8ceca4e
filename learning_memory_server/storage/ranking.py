"""Search results in a deterministic order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from learning_memory_server.storage.base import Hit

_MARGIN: Final = 8
"""Hits to fetch beyond the limit at first."""
_GROWTH: Final = 4
"""How many times as many to fetch while there is a tie at the limit."""


async def best_hits(fetch: Callable[[int], Awaitable[list[Hit]]], limit: int) -> list[Hit]:
    """Return the `limit` best hits, equal scores ordered by id.

    Engines order equal scores arbitrarily, even across the limit. So a few more hits than `limit` are fetched, and
    more again while the last of them ties with the last that would be kept.

    Args:
        fetch: Returns at most the given number of hits, highest score first.
        limit: How many to return; at least 1.
    """
    asked = limit + _MARGIN
    hits = await fetch(asked)
    while len(hits) == asked and hits[-1].score == hits[limit - 1].score:
        asked *= _GROWTH
        hits = await fetch(asked)
    return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit]


def as_cosine(score: float) -> float:
    """Return `score` without a rounding error past -1 or 1."""
    return max(-1.0, min(1.0, score))
