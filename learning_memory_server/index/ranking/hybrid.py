"""Hybrid search: merge the hits by terms and by vectors, compare them with usual values, and measure the time."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any, Final, Literal, Self

import structlog

from learning_memory_server.embedding.base import Vectors
from learning_memory_server.embedding.scale import DEFAULT_SCALE, Scale
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import Filter, Hit, Payload, SparseVector, VectorStore
from learning_memory_server.index.ranking.fusion import (
    DEPTH,
    Basis,
    Explanation,
    contrast,
    fuse,
    lacking,
    semantic_weight,
)
from learning_memory_server.index.ranking.terms import encode_query, terms
from learning_memory_server.index.ranking.threshold import OFF_TOPIC, counted_as_usual, least_strength, unit_of
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.system import timeouts

_SLOW: Final = 500.0  # Milliseconds

log = structlog.get_logger()


class SearchTimer:
    """A context manager that times one search and logs it at the end, never with a query or a text."""

    def __init__(self, collection: str, slow_ms: float = _SLOW) -> None:
        self._slow_ms = slow_ms
        self._answer: dict[str, Any] = {"collection": collection}
        self._parts = {"embedding": 0.0, "engine": 0.0}
        self._began = 0.0

    def __enter__(self) -> Self:
        self._began = perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        total = 1000 * (perf_counter() - self._began)
        times = {f"{name}_ms": round(spent, 1) for name, spent in self._parts.items()}
        write, event = (log.warning, "search.slow") if total > self._slow_ms else (log.debug, "search.answered")
        write(event, **self._answer, total_ms=round(total, 1), **times)

    def answered(self, mode: SearchMode, count: int) -> None:
        """Record the mode and the number of results. Without this call, as after a timeout, the log has neither."""
        self._answer |= {"mode": mode.value, "count": count}

    @contextmanager
    def part(self, name: Literal["embedding", "engine"]) -> Iterator[None]:
        """Add a block's time to the model's or the engine's."""
        began = perf_counter()
        try:
            yield
        finally:
            self._parts[name] += 1000 * (perf_counter() - began)


_SAMPLE: Final = 200  # Points for the mean: the first by id, and ids are hashes. Reading them takes 10 ms.
_GROWN: Final = 1.25  # The growth of a collection after which its mean is computed again
_FEW: Final = 50


class Means:
    """The mean vectors of collections, and their `sizes` when the index was last complete."""

    def __init__(self) -> None:
        self.sizes: Counter[str] = Counter()
        self._known: dict[str, tuple[int, Vectors]] = {}

    def usual_closeness(self, collection: str, vector: Vectors, scale: Scale, missing: float = OFF_TOPIC) -> float:
        """Return a text's mean closeness to a collection, padded with `missing` if the collection is small."""
        if collection not in self._known:
            return missing
        share = min(self.sizes[collection], _FEW) / _FEW
        return share * scale.closeness(float(vector @ self._known[collection][1])) + (1.0 - share) * missing

    async def refresh(self, store: VectorStore) -> None:
        """Read all collections again. A cancelled call waits for its request, so that no socket stays open."""
        taking = asyncio.create_task(self._take(store))
        try:
            await asyncio.shield(taking)
        except asyncio.CancelledError:
            await asyncio.wait([taking], timeout=timeouts.REQUEST)
            taking.cancel()
            raise

    async def _take(self, store: VectorStore) -> None:
        import numpy as np

        for collection in Collection:
            self.sizes[collection] = size = await store.count(collection)
            before = self._known[collection][0] if collection in self._known else 0
            if size <= before * _GROWN:
                continue
            sample = await store.scroll(collection, with_vectors=True, most=_SAMPLE)
            if vectors := [record.vector for record in sample if record.vector is not None]:
                self._known[collection] = size, np.mean(vectors, axis=0, dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Query:
    """A query for one collection."""

    collection: str
    text: str
    limit: int
    where: Filter
    siblings: tuple[str, ...] = ()  # collections with other vectors of the same ids: the nearest vector counts
    is_compared: bool = False  # whether to embed the whole text; see `index.recipe.embed_question`
    basis: Basis | None = None  # the basis from an earlier round of the search; None to compute it


@dataclass(frozen=True, slots=True)
class QueryContext:
    """The model's reading of a query, and values to compare it with."""

    vector: Vectors
    read: float = 1.0  # how well the model reads it, from 0 to 1
    usual: float = 0.0  # its mean closeness to the collection
    size: int = 0  # the number of points in the collection
    points: int = 0  # the number including its siblings
    scale: Scale | None = None  # the model's scale; None if unknown: then nothing is left out


@dataclass(frozen=True, slots=True)
class Match:
    """A point found by a search."""

    id: str
    explanation: Explanation
    payload: dict[str, Any]


def mode_for(text: str) -> SearchMode:
    """Return the search mode for a text: hybrid, or semantic for a text without terms, such as "=>"."""
    return SearchMode.HYBRID if terms(text) else SearchMode.SEMANTIC


async def search_hybrid(
    store: VectorStore,
    query: Query,
    reading: QueryContext,
    is_shown: Callable[[Payload], bool],
    *,
    reads_ahead: bool = False,
) -> list[Match]:
    """Return the best points, best first, ties ordered by id.

    Args:
        is_shown: Decides by payload whether a point may be returned. Each rejection may cause another search.
        reads_ahead: Whether to read all candidates' payloads together with missing scores, which saves a round trip.
    """
    asked = query.limit
    while True:
        matches = await _best(store, replace(query, limit=asked), reading, reads_ahead=reads_ahead)
        shown = [match for match in matches if is_shown(match.payload)]
        if len(shown) >= query.limit or len(matches) < asked:
            return shown[: query.limit]
        asked *= 2


def on_scale(scale: Scale, hits: list[Hit]) -> list[Hit]:
    """Convert the scores of hits from cosines to closeness. This is the only place for the conversion."""
    if scale == DEFAULT_SCALE:
        return hits
    return [Hit(hit.id, scale.closeness(hit.score)) for hit in hits]


async def _best(store: VectorStore, query: Query, reading: QueryContext, *, reads_ahead: bool) -> list[Match]:
    wanted = SparseVector(*encode_query(query.text))

    async def near_in(collection: str, **options: Any) -> list[Hit]:
        hits = await store.search(collection, reading.vector, **options)
        return on_scale(reading.scale or DEFAULT_SCALE, hits)

    semantic = partial(near_in, query.collection)
    lexical = partial(store.search, query.collection, wanted)
    depth = max(DEPTH, query.limit)
    # Concurrent requests: a server answers all of them in the time of one.
    near, shared, points = await asyncio.gather(
        semantic(limit=depth, where=query.where),
        lexical(limit=depth, where=query.where),
        _points(store, query, reading),
    )
    closeness, bm25 = _scores(near), _scores(shared)
    basis = query.basis or _basis(query.text, reading, near, shared, points)
    without_vector, without_bm25 = lacking(closeness, bm25, depth), lacking(bm25, closeness, depth)
    candidates = sorted(closeness.keys() | bm25.keys())
    # Concurrent again, for the same reason. The siblings are searched for more candidates than needed, because the best
    # ones are known only afterwards.
    (more_near, more_bm25, *siblings), read = await asyncio.gather(
        asyncio.gather(
            _among(semantic, without_vector),
            _among(lexical, without_bm25),
            *(_among(partial(near_in, sibling), candidates) for sibling in query.siblings),
        ),
        store.retrieve(query.collection, candidates if reads_ahead else []),
    )
    closeness |= _scores(more_near)
    bm25 |= _scores(more_bm25)
    nearest: dict[str, tuple[float, str]] = {}
    if query.siblings:
        # The same number for every limit up to `DEPTH`, so that the pages of a search are consistent.
        own = {key: closeness.get(key, 0.0) for key, _ in fuse(closeness, bm25, basis, depth)}
        nearest = _nearest(query.collection, own, dict(zip(query.siblings, siblings, strict=True)))
        closeness |= {key: found for key, (found, _) in nearest.items()}
    best = [key for key, _ in fuse(closeness, bm25, basis, query.limit)]
    if not reads_ahead:
        read = await store.retrieve(query.collection, best)
    payloads = {record.id: record.payload for record in read}
    mode = mode_for(query.text)
    explanations = {
        key: Explanation(
            mode=mode,
            bm25=bm25.get(key, 0.0),
            basis=basis,
            closeness=closeness.get(key, 0.0),
            nearest=nearest[key][1] if key in nearest else query.collection,
        )
        for key in best
    }
    # Leave out points that were removed since they were found.
    return [Match(key, explanations[key], payloads[key]) for key in best if key in payloads]


async def _points(store: VectorStore, query: Query, reading: QueryContext) -> int:
    """Estimate the number of points that pass the filter in all collections, from the share in the first collection."""
    if query.basis is not None or query.where == Filter() or not reading.size:
        return reading.points
    return round(await store.count(query.collection, query.where) * reading.points / reading.size)


def _basis(text: str, reading: QueryContext, near: Sequence[Hit], shared: Sequence[Hit], points: int) -> Basis:
    count = len(set(terms(text)))
    has_threshold = reading.scale is not None and count > 0
    return Basis(
        contrast([hit.score for hit in shared]),
        semantic_weight(near[0].score if near else 0.0, reading.usual, reading.read),
        counted_as_usual(reading.usual, reading.read),
        unit_of(reading.scale or DEFAULT_SCALE),
        least_strength(points, count, reading.usual, reading.read) if has_threshold else None,
    )


async def _among(search: Callable[..., Awaitable[list[Hit]]], ids: Sequence[str]) -> list[Hit]:
    """Search among some points; empty, and without a request, if there are none."""
    return await search(limit=len(ids), ids=ids) if ids else []


def _nearest(
    collection: str, closeness: Mapping[str, float], siblings: Mapping[str, Iterable[Hit]]
) -> dict[str, tuple[float, str]]:
    """Return each point's highest closeness, its own or a sibling's, with the collection that it comes from."""
    nearest = {key: (found, collection) for key, found in closeness.items()}
    for sibling, hits in siblings.items():
        for hit in hits:
            if hit.id in nearest and hit.score > nearest[hit.id][0]:
                nearest[hit.id] = hit.score, sibling
    return nearest


def _scores(hits: Iterable[Hit]) -> dict[str, float]:
    return {hit.id: hit.score for hit in hits}
