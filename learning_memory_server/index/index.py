"""The vector index: the model together with the engine. It is open once both are ready."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from copy import copy
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import structlog

from learning_memory_server.embedding.base import EmbeddingIdentity, Vectors
from learning_memory_server.embedding.scale import ModelScale
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.errors import (
    EmbeddingUnavailableError,
    LearningMemoryError,
    LostPointsError,
    NoAnswerError,
    StorageUnavailableError,
)
from learning_memory_server.index.document import DIGEST, Collection, Document, DocumentShape
from learning_memory_server.index.engines.base import (
    CollectionSpec,
    Filter,
    Hit,
    Payload,
    Point,
    Record,
    Vector,
    VectorStore,
)
from learning_memory_server.index.ranking.hybrid import (
    Match,
    Means,
    Query,
    QueryContext,
    SearchTimer,
    on_scale,
    search_hybrid,
)
from learning_memory_server.index.recipe import Blueprints, completed, embed, embed_question, fill, points_of
from learning_memory_server.system.waiting import BACKGROUND, Budget, limited, limiting_requests

T = TypeVar("T")

log = structlog.get_logger()

_READ_BATCH: Final = 200  # Points to read at a time for their vectors, which come with payloads


class VectorIndex:
    """The index of documents. It can be rebuilt from the journal at any time.

    Methods that open the index raise `EmbeddingUnavailableError` or `StorageUnavailableError` if they cannot. Other
    methods raise them if the index is not open or the engine fails.

    Args:
        open_store: Opens the engine for vectors of one identity; may be slow.
        shapes: Common properties of the documents, by collection.
        is_on_server: Whether the engine is on a server, which may not respond.
        scales: The file with the scales of models; None to store none.
    """

    def __init__(
        self,
        embeddings: EmbeddingService,
        open_store: Callable[[EmbeddingIdentity], VectorStore],
        shapes: Mapping[Collection, DocumentShape],
        *,
        is_on_server: bool = False,
        scales: Path | None = None,
    ) -> None:
        self.scale = ModelScale(embeddings, scales)
        self._means = Means()
        self.embeddings = embeddings
        self._open_store = open_store
        self._blueprints = Blueprints(embeddings, shapes)
        self.is_on_server = is_on_server
        self.budget = BACKGROUND
        self._engine: list[VectorStore] = []  # shared with the views of `with_budget`
        self._opening = asyncio.Lock()
        self._generations: Counter[str] = Counter()
        self.notices: list[str] = []

    @property
    def is_open(self) -> bool:
        """Whether searches and writes are possible without waiting."""
        return bool(self._engine)

    def with_budget(self, budget: Budget) -> VectorIndex:
        """Return a view of this index with time limits on its requests, for a waiting caller."""
        view = copy(self)
        view.budget = budget
        return view

    def limited(self) -> AbstractAsyncContextManager[None]:
        """Limit the time that a block waits for a server. Raises `NoAnswerError`. A local engine has no limit."""
        late = NoAnswerError("The index did not answer in time.", hint="Call again in a few seconds.")
        return limited(self.budget.index if self.is_on_server else None, late)

    async def open(self) -> VectorStore:
        """Wait for the model, open the engine, ensure all collections, and return the engine. Idempotent."""
        identity = await self.embeddings.identity(self.budget)
        async with self._opening:
            if not self._engine:
                specs = await self.specs()
                self.scale.look_up(identity)
                # In a thread: the client of a server takes a second to import.
                store = await asyncio.to_thread(self._open_store, identity)
                try:
                    with limiting_requests(self.budget.request):
                        self.notices += await self._blueprints.ensure(store, specs)
                # A cancelled caller must not leave the engine half open.
                except (LearningMemoryError, asyncio.CancelledError):
                    await store.close()
                    raise
                self._engine.append(store)
            return self.require_open()

    async def specs(self) -> list[CollectionSpec]:
        """Wait for the model and return the specifications of all collections."""
        return [await self._blueprints.spec(collection, self.budget) for collection in Collection]

    async def origin(self, collection: Collection) -> str:
        """Wait for the model and return the origin of a collection's vectors; see `Recipe.origin`."""
        return self._blueprints.recipe(collection).origin(await self.embeddings.identity(self.budget))

    async def embed(self, text: str) -> Vectors:
        """Wait for the model and return the vector of a document without parts, of shape (dimension,)."""
        vector: Vectors = (await self.embeddings.embed_documents([text], self.budget))[0]
        return vector

    async def write(self, documents: Sequence[Document], vectors: Vectors | None = None) -> None:
        """Write documents with `vectors` of shape (len(documents), dimension), computed if None. Never opens it."""
        self.require_open()
        if vectors is None:
            vectors = await embed(self.embeddings, documents, self.budget)
        by_collection: dict[str, list[Point]] = {}
        for document, point in zip(documents, points_of(documents, vectors), strict=True):
            by_collection.setdefault(document.collection, []).append(point)
        with self._using() as store:
            await all_done(
                self._change(collection, partial(store.upsert, collection, points))
                for collection, points in by_collection.items()
            )

    async def remove(self, point_ids: Sequence[str]) -> None:
        """Remove the points from every collection."""
        with self._using() as store:
            await all_done(self._change(each, partial(store.delete, each, point_ids)) for each in Collection)

    async def tidy(self, belonging: Callable[[str], AbstractSet[str]]) -> None:
        """Remove the remaining data of earlier variants of the collections; see the port."""
        with self._using() as store:
            await store.tidy(belonging)

    async def rebuild(
        self,
        collection: Collection,
        documents: Callable[[], Iterable[Document]],
        progress: Callable[[int], None],
        outdated: Container[str] | None = None,
    ) -> None:
        """Rebuild a collection, while searches use its present content. A rebuild of all vectors can be resumed.

        Args:
            documents: Returns all documents that belong in it at the time of the call.
            progress: Called with the number of points just written.
            outdated: The points whose vectors are computed; other vectors are copied. None to compute all vectors.
        """
        store = await self.open()
        # An interrupted rebuild may have left points with earlier texts.
        rebuild = await store.rebuild(await self._blueprints.spec(collection), resume=outdated is None)

        async def write(missing: list[Document]) -> None:
            current = [each.point_id for each in missing if outdated is not None and each.point_id not in outdated]
            vectors = await completed(self.embeddings, missing, await self.vectors_of(collection, current))
            await rebuild.upsert(points_of(missing, vectors))
            progress(len(missing))

        progress(len(rebuild.ids))
        wanted = await fill(documents, {(collection, point) for point in rebuild.ids}, write)
        await rebuild.finish({point for _, point in wanted})
        self._generations[collection] += 1
        log.info("collection.rebuilt", collection=collection.value, count=len(wanted))

    async def digests(self) -> dict[str, dict[str, str | None]]:
        """Return the digest of each point in each collection, by id."""
        with self._using() as store:
            return {
                collection: {
                    record.id: record.payload.get(DIGEST) for record in await store.scroll(collection, fields=[DIGEST])
                }
                for collection in Collection
            }

    async def is_intact(self) -> bool:
        """Whether each collection has as many points as were seen there and written since."""
        with self._using() as store:
            return all(await all_done(map(store.is_intact, Collection)))

    async def search_hybrid(
        self,
        query: Query,
        is_shown: Callable[[Payload], bool] = lambda _: True,
        timer: SearchTimer | None = None,
        *,
        expected: Callable[[], int] = lambda: 0,
    ) -> list[Match]:
        """Return the best matches, best first, ties ordered by id.

        Args:
            is_shown: Rejects points that should no longer be in the index, given their payload.
            timer: Receives the times of the model and the engine.
            expected: Returns the number of matching points that a server must have. `LostPointsError` if it has fewer.
        """
        self.require_open()
        timer = timer or SearchTimer(query.collection)
        with timer.part("embedding"):
            vector = await embed_question(self.embeddings, query.text, self.budget, is_whole=query.is_compared)
        generation = self._generations[query.collection]
        with timer.part("engine"), self._using() as store:
            reading = self._read(query, vector)
            found = await search_hybrid(store, query, reading, is_shown, reads_ahead=self.is_on_server)
        # Points written in the meantime are expected, but may have been missing during the search.
        is_short = self.is_on_server and len(found) < query.limit
        if is_short and generation == self._generations[query.collection] and len(found) < expected():
            raise LostPointsError("The Qdrant server has lost points.")
        return found

    def _read(self, query: Query, vector: Vectors) -> QueryContext:
        sizes = self._means.sizes
        return QueryContext(
            vector,
            self.embeddings.legibility(query.text),
            self._means.usual_closeness(query.collection, vector, self.scale.scale),
            sizes[query.collection],
            sizes[query.collection] + sum(sizes[each] for each in query.siblings),
            self.scale.known,
        )

    async def nearest(
        self,
        collection: Collection,
        vector: Vector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: AbstractSet[str] | None = None,
    ) -> list[Hit]:
        """Open the index and return the nearest points with their closeness, best first, ties ordered by id."""
        await self.open()
        with self._using() as store:
            hits = await store.search(collection, vector, limit=limit, where=where, ids=ids)
        return on_scale(self.scale.scale, hits)

    def usual_closeness(self, collection: Collection, vector: Vectors, missing: float) -> float:
        """Return a text's mean closeness to a collection; see `Means`."""
        return self._means.usual_closeness(collection, vector, self.scale.scale, missing)

    async def refresh_baselines(self) -> None:
        """Update the values for comparison in searches: the model's scale, if unknown, and the means of collections."""
        await self.scale.ensure()
        # Errors of the engine are reported by the operations that need it.
        with suppress(StorageUnavailableError), self._using() as store:
            await self._means.refresh(store)

    async def vectors(self, collection: Collection) -> dict[str, Vectors]:
        """Open the index and return the vectors of all points, by point id."""
        await self.open()
        with self._using() as store:
            return _vectors_in(await store.scroll(collection, with_vectors=True))

    async def vectors_of(self, collection: Collection, ids: Sequence[str]) -> dict[str, Vectors]:
        """Open the index and return the vectors of existing points among `ids`, by point id."""
        found: dict[str, Vectors] = {}
        for start in range(0, len(ids), _READ_BATCH):
            some = ids[start : start + _READ_BATCH]
            found |= _vectors_in(await self.retrieve(collection, some, with_vectors=True))
        return found

    async def retrieve(self, collection: str, ids: Sequence[str], *, with_vectors: bool = False) -> list[Record]:
        """Open the index and return the existing points among `ids`, in the order of `ids`."""
        await self.open()
        with self._using() as store:
            return await store.retrieve(collection, ids, with_vectors=with_vectors)

    async def count(self, collection: str) -> int:
        """Open the index and return the number of points in a collection."""
        await self.open()
        with self._using() as store:
            return await store.count(collection)

    def generation(self, collection: Collection) -> int:
        """Return a number that increases whenever this process changes the collection."""
        return self._generations[collection]

    @property
    def changes(self) -> int:
        """A number that increases whenever this process changes any collection."""
        return self._generations.total()

    async def counts(self) -> dict[str, int]:
        """Return the exact number of points in each collection."""
        with self._using() as store:
            counted = await all_done(map(store.count, Collection))
        return {collection.value: count for collection, count in zip(Collection, counted, strict=True)}

    async def flush(self) -> None:
        """Make all writes survive a power loss."""
        for store in self._engine:
            await store.flush()

    async def discard(self) -> None:
        """Close the engine, so that the next `open` starts over. Unflushed points are lost until a rebuild."""
        with suppress(StorageUnavailableError):
            await self._close_store()

    async def close(self) -> None:
        """Flush and close the engine, and stop the model."""
        await self.embeddings.stop()
        await self._close_store()

    async def _close_store(self) -> None:
        if self._engine:
            await self._engine.pop().close()

    async def _change(self, collection: str, change: Callable[[], Awaitable[None]]) -> None:
        await change()
        self._generations[collection] += 1

    def require_open(self) -> VectorStore:
        """Return the engine. Raises an error if searches and writes would have to wait."""
        if not self._engine:
            hint = "Call again in a few seconds. If this lasts, `learning-memory-server doctor` says why."
            if self.embeddings.state == "ready":
                raise StorageUnavailableError("The index is not open yet.", hint=hint)
            raise EmbeddingUnavailableError("The embedding model is not loaded yet.", hint=hint)
        return self._engine[0]

    @contextmanager
    def _using(self) -> Iterator[VectorStore]:
        """Yield the engine, if it is open, for a block whose requests stay within the budget."""
        store = self.require_open()
        with limiting_requests(self.budget.request):
            yield store


def _vectors_in(records: Iterable[Record]) -> dict[str, Vectors]:
    return {record.id: record.vector for record in records if record.vector is not None}


async def all_done(requests: Iterable[Awaitable[T]]) -> list[T]:
    """Make requests concurrently, and return the results in order. If any fails, wait for the others, then raise."""
    results = await asyncio.gather(*requests, return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return [result for result in results if not isinstance(result, BaseException)]
