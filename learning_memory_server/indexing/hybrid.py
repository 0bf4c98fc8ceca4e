"""A search by meaning and by words at once: what every search over an index goes through."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from learning_memory_server.domain.vocabulary import SearchMode
from learning_memory_server.embedding.terms import encode_query, terms
from learning_memory_server.indexing.fusion import DEPTH, fuse, lacking
from learning_memory_server.storage.base import SparseVector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from learning_memory_server.indexing.document import Query
    from learning_memory_server.storage.base import Hit, Payload, Vector, VectorStore


@dataclass(frozen=True, slots=True)
class Match:
    """A point that was found.

    Args:
        id: The point's id.
        score: How well it matches, from 0 to 1; see `fusion.relevance`.
        cosine: The part of the meaning in that: the cosine similarity, from -1 to 1.
        payload: The point's data.
    """

    id: str
    score: float
    cosine: float
    payload: dict[str, Any]


def mode_for(text: str) -> SearchMode:
    """Return what ranks the answers to a text: one without words, such as "=>", is searched by meaning alone."""
    return SearchMode.HYBRID if terms(text) else SearchMode.SEMANTIC


async def search_both(
    store: VectorStore, query: Query, vector: Vector, is_shown: Callable[[Payload], bool]
) -> list[Match]:
    """Return the best points, best first, equal ones ordered by id.

    Args:
        store: Where to search.
        query: What to look for, and how many points to return.
        vector: The vector of the query's text.
        is_shown: Tells by its data whether a point may be returned. It is for what should not be in the index any
            more: those that it refuses cost further searches. What belongs there is restricted by `query.where`.

    Raises:
        StorageUnavailableError: If the engine failed.
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
    by_meaning = partial(store.search, query.collection, vector)
    by_words = partial(store.search_terms, query.collection, wanted)
    depth = max(DEPTH, query.limit)
    # Side by side: a server answers both in the time of one.
    near, worded = await asyncio.gather(
        by_meaning(limit=depth, where=query.where), by_words(limit=depth, where=query.where)
    )
    cosines, bm25 = _scores(near), _scores(worded)
    far, unworded = lacking(cosines, bm25, depth), lacking(bm25, cosines, depth)
    if far:
        cosines |= _scores(await by_meaning(limit=len(far), ids=far))
    if unworded:
        bm25 |= _scores(await by_words(limit=len(unworded), ids=unworded))
    if query.beside:
        # As many for every limit up to `DEPTH`, so that pages of a search fit together.
        looked_at = fuse(cosines, bm25, depth)
        own = {key: cosines.get(key, 0.0) for key, _ in looked_at}
        cosines |= await _nearest(store, query.beside, vector, own)
    best = fuse(cosines, bm25, query.limit)
    records = await store.retrieve(query.collection, [key for key, _ in best])
    payloads = {record.id: record.payload for record in records}
    # What was removed since it was found is left out.
    return [Match(key, score, cosines.get(key, 0.0), payloads[key]) for key, score in best if key in payloads]


async def _nearest(
    store: VectorStore, collections: Iterable[str], vector: Vector, cosines: Mapping[str, float]
) -> dict[str, float]:
    """Return the largest cosine of each point: the given one, or one of another collection."""
    nearest = dict(cosines)
    ids = list(cosines)
    for collection in collections if ids else ():
        for hit in await store.search(collection, vector, limit=len(ids), ids=ids):
            nearest[hit.id] = max(nearest[hit.id], hit.score)
    return nearest


def _scores(hits: Iterable[Hit]) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}
