"""Hybrid search: semantic and lexical at once. Every text search of an index goes through it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from learning_memory_server.index.engines.base import SparseVector
from learning_memory_server.index.ranking.fusion import DEPTH, Explanation, contrast, fuse, lacking
from learning_memory_server.index.ranking.terms import encode_query, terms
from learning_memory_server.model.vocabulary import SearchMode

if TYPE_CHECKING:
    from learning_memory_server.index.engines.base import Filter, Hit, Payload, Vector, VectorStore


@dataclass(frozen=True, slots=True)
class Query:
    """A query to one collection."""

    collection: str
    text: str
    limit: int
    where: Filter
    siblings: tuple[str, ...] = ()
    """Collections with other vectors of the same things under the same ids. A result's cosine is then that of its
    nearest vector in any of them."""
    contrast: float | None = None
    """That of an earlier search whose results these are merged with; None to take it from this one."""


@dataclass(frozen=True, slots=True)
class Match:
    """A point that was found."""

    id: str
    explanation: Explanation
    payload: dict[str, Any]

    @property
    def score(self) -> float:
        """How well it matches, from 0 to 1."""
        return self.explanation.score


def mode_for(text: str) -> SearchMode:
    """Return how a text is searched: hybrid, or semantic if it has no terms, such as "=>"."""
    return SearchMode.HYBRID if terms(text) else SearchMode.SEMANTIC


def mode_of(explanations: Sequence[Explanation], text: str) -> SearchMode:
    """Return what ranked the results of a search for a text: what they say, or `mode_for` if there are none."""
    return explanations[0].mode if explanations else mode_for(text)


async def search_hybrid(
    store: VectorStore, query: Query, vector: Vector, is_shown: Callable[[Payload], bool]
) -> list[Match]:
    """Return the best points, best first, ties ordered by id.

    `is_shown` decides by its payload whether a point may be returned. Use it only for points that should no longer be
    in the index, because each one rejected may cost another search; everything else belongs in `query.where`.
    """
    asked = query.limit
    while True:
        matches = await _best(store, replace(query, limit=asked), vector)
        shown = [match for match in matches if is_shown(match.payload)]
        if len(shown) >= query.limit or len(matches) < asked:
            return shown[: query.limit]
        asked *= 2


async def _best(store: VectorStore, query: Query, vector: Vector) -> list[Match]:
    wanted = SparseVector(*encode_query(query.text))
    semantic = partial(store.search, query.collection, vector)
    lexical = partial(store.search_terms, query.collection, wanted)
    depth = max(DEPTH, query.limit)
    # Concurrently: a server answers both in the time of one query.
    near, shared = await asyncio.gather(
        semantic(limit=depth, where=query.where), lexical(limit=depth, where=query.where)
    )
    cosines, bm25 = _scores(near), _scores(shared)
    stands_out = contrast([hit.score for hit in shared]) if query.contrast is None else query.contrast
    without_cosine, without_bm25 = lacking(cosines, bm25, depth), lacking(bm25, cosines, depth)
    candidates = sorted(cosines.keys() | bm25.keys()) if query.siblings else []
    # All at once again, for the same reason. The siblings are asked about a few candidates too many, because which of
    # them are the best is known only afterwards.
    more_cosines, more_bm25, *siblings = await asyncio.gather(
        _among(semantic, without_cosine),
        _among(lexical, without_bm25),
        *(_among(partial(store.search, sibling, vector), candidates) for sibling in query.siblings),
    )
    cosines |= _scores(more_cosines)
    bm25 |= _scores(more_bm25)
    nearest: dict[str, tuple[float, str]] = {}
    if query.siblings:
        # The same number for every limit up to `DEPTH`, so that the pages of a search are consistent.
        own = {key: cosines.get(key, 0.0) for key, _ in fuse(cosines, bm25, stands_out, depth)}
        nearest = _nearest(query.collection, own, dict(zip(query.siblings, siblings, strict=True)))
        cosines |= {key: cosine for key, (cosine, _) in nearest.items()}
    best = [key for key, _ in fuse(cosines, bm25, stands_out, query.limit)]
    payloads = {hit.id: dict(hit.payload) for hit in (*near, *shared) if hit.payload is not None}
    if unread := [key for key in best if key not in payloads]:
        payloads |= {record.id: record.payload for record in await store.retrieve(query.collection, unread)}
    mode = mode_for(query.text)
    explanations = {
        key: Explanation(
            mode=mode,
            bm25=bm25.get(key, 0.0),
            contrast=stands_out,
            cosine=cosines.get(key, 0.0),
            nearest=nearest[key][1] if key in nearest else query.collection,
        )
        for key in best
    }
    # What has been removed since it was found is left out.
    return [Match(key, explanations[key], payloads[key]) for key in best if key in payloads]


async def _among(search: Callable[..., Awaitable[list[Hit]]], ids: Sequence[str]) -> list[Hit]:
    """Return what a search finds among some points, without a search if there are none."""
    return await search(limit=len(ids), ids=ids) if ids else []


def _nearest(
    collection: str, cosines: Mapping[str, float], siblings: Mapping[str, Iterable[Hit]]
) -> dict[str, tuple[float, str]]:
    """Return each point's largest cosine, the given one or a sibling's, and the collection it comes from."""
    nearest = {key: (cosine, collection) for key, cosine in cosines.items()}
    for sibling, hits in siblings.items():
        for hit in hits:
            if hit.id in nearest and hit.score > nearest[hit.id][0]:
                nearest[hit.id] = hit.score, sibling
    return nearest


def _scores(hits: Iterable[Hit]) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}
