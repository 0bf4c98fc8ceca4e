"""The vector index: the model and the engine together, opened when both are ready."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.errors import (
    EmbeddingUnavailableError,
    LearningMemoryError,
    StorageUnavailableError,
)
from learning_memory_server.indexing.document import Collection, in_batches
from learning_memory_server.indexing.embedding import VECTORS_VERSION, embed
from learning_memory_server.indexing.hybrid import search_both
from learning_memory_server.indexing.layout import Layout, points_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.embedding.base import EmbeddingIdentity
    from learning_memory_server.embedding.service import EmbeddingService
    from learning_memory_server.indexing.document import Document, DocumentShape, Query
    from learning_memory_server.indexing.hybrid import Match
    from learning_memory_server.storage.base import CollectionSpec, Payload, Point, VectorStore

log = structlog.get_logger()

_REBUILD_BATCH: Final = 128


class VectorIndex:
    """Documents in, hits out. Everything in it can be rebuilt from the journal.

    Attributes:
        notices: A sentence about each collection that had to be made anew.

    Args:
        embeddings: The model.
        open_store: Makes the engine for vectors of one identity; it may be slow.
        shapes: What documents are like, where that is to be known.
    """

    def __init__(
        self,
        embeddings: EmbeddingService,
        open_store: Callable[[EmbeddingIdentity], VectorStore],
        shapes: Mapping[Collection, DocumentShape],
    ) -> None:
        self._embeddings = embeddings
        self._open_store = open_store
        self._layout = Layout(embeddings, shapes)
        self._store: VectorStore | None = None
        self._opening = asyncio.Lock()
        self._generations: Counter[str] = Counter()
        self.notices: list[str] = []

    @property
    def is_open(self) -> bool:
        """Whether searches and writes are possible right now, without a wait."""
        return self._store is not None

    async def open(self) -> VectorStore:
        """Wait for the model, open the engine and ensure every collection. Idempotent.

        Raises:
            EmbeddingUnavailableError: If there is no model.
            StorageUnavailableError: If the engine cannot be opened.
        """
        identity = await self._embeddings.identity()
        async with self._opening:
            if self._store is None:
                specs = [await self._layout.spec(collection) for collection in Collection]
                store = self._open_store(identity)
                try:
                    for spec in specs:
                        await self._ensure(store, spec)
                        # Creating one takes the embedded engine a while; calls get their turn in between.
                        await asyncio.sleep(0)
                except LearningMemoryError:
                    await store.close()
                    raise
                self._store = store
            return self._store

    async def identity(self) -> EmbeddingIdentity:
        """Wait for the model and return what its vectors may be compared with."""
        return await self._embeddings.identity()

    async def origin(self) -> str:
        """Wait for the model and return what names it and the way in which vectors are made of its own.

        What was computed from vectors of another origin is to be computed anew.
        """
        return f"{(await self.identity()).digest}.{VECTORS_VERSION}"

    async def embed(self, text: str) -> NDArray[np.float32]:
        """Wait for the model and return the vector, of shape (dimension,), that a document of this text alone has."""
        vector: NDArray[np.float32] = (await self._embeddings.embed_documents([text]))[0]
        return vector

    async def write(self, documents: Sequence[Document], vectors: NDArray[np.float32] | None = None) -> None:
        """Put the documents into their collections.

        Args:
            documents: The documents.
            vectors: Theirs, of shape (len(documents), dimension), if they are known; else they are made.

        Raises:
            EmbeddingUnavailableError: If the model is not loaded yet; this never waits for it.
            StorageUnavailableError: If the engine failed.
        """
        store = self._opened()
        if vectors is None:
            vectors = await embed(self._embeddings, documents)
        by_collection: dict[str, list[Point]] = {}
        for document, point in zip(documents, points_of(documents, vectors), strict=True):
            by_collection.setdefault(document.collection, []).append(point)
        for collection, points in by_collection.items():
            await store.upsert(collection, points)
            self._generations[collection] += 1

    async def remove(self, point_ids: Sequence[str]) -> None:
        """Remove the points from whatever collections they are in.

        Raises:
            EmbeddingUnavailableError, StorageUnavailableError: If the index is not open, or the engine failed.
        """
        store = self._opened()
        for collection in Collection:
            await store.delete(collection, point_ids)
            self._generations[collection] += 1

    async def rebuild(
        self,
        collection: Collection,
        documents: Callable[[], Iterable[Document]],
        progress: Callable[[int], None],
    ) -> None:
        """Make a collection anew beside the present one, which answers until it is complete and takes its place.

        What an interrupted rebuild had done already is kept. What is written to the present collection meanwhile is
        in the new one only if `documents` gives it.

        Args:
            collection: The collection.
            documents: Returns all that belongs in it, each time as it is then.
            progress: Is told how many points are done, as they are.

        Raises:
            EmbeddingUnavailableError, StorageUnavailableError: If that is not possible; nothing has changed.
        """
        store = await self.open()
        spec = await self._layout.spec(collection, is_staged=True)
        await self._ensure(store, spec)
        there = {record.id for record in await store.scroll(spec.name)}
        progress(len(there))
        # Until there is nothing that came while the others were embedded.
        was_complete = False
        while not was_complete:
            was_complete, wanted = True, set[str]()
            async for batch in in_batches(documents(), _REBUILD_BATCH):
                wanted.update(document.point_id for document in batch)
                missing = [document for document in batch if document.point_id not in there]
                if missing:
                    was_complete = False
                    vectors = await embed(self._embeddings, missing)
                    await store.upsert(spec.name, points_of(missing, vectors))
                    there.update(document.point_id for document in missing)
                    progress(len(missing))
        await store.delete(spec.name, sorted(there - wanted))
        await store.promote(spec.name, collection)
        self._generations[collection] += 1
        log.info("collection.rebuilt", collection=collection.value, count=len(there))

    async def stored_ids(self) -> dict[str, set[str]]:
        """Return the ids of all points in each collection."""
        store = self._opened()
        return {
            collection: {record.id for record in await store.scroll(collection)} for collection in Collection
        }

    async def search_hybrid(
        self, query: Query, is_shown: Callable[[Payload], bool] = lambda _: True
    ) -> list[Match]:
        """Return the points that match best by meaning and by words, best first, equal ones ordered by id.

        Args:
            query: What to look for.
            is_shown: Refuses points that should not be in the index any more, by their data.

        Raises:
            EmbeddingUnavailableError: If the model is not loaded yet; this never waits for it.
            StorageUnavailableError: If the engine failed.
        """
        store = self._opened()
        vector = await self._embeddings.embed_query(query.text)
        return await search_both(store, query, vector, is_shown)

    def generation(self, collection: Collection) -> int:
        """Return a number that grows whenever this process changes the collection."""
        return self._generations[collection]

    async def counts(self) -> dict[str, int]:
        """Return the number of points in each collection."""
        store = self._opened()
        return {collection.value: await store.count(collection) for collection in Collection}

    async def flush(self) -> None:
        """Make what was written survive a power loss."""
        if self._store is not None:
            await self._store.flush()

    async def discard(self) -> None:
        """Give the engine up, so that the next `open` begins anew. What it cannot flush is lost; it is a cache."""
        if self._store is not None:
            store, self._store = self._store, None
            with suppress(StorageUnavailableError):
                await store.close()

    async def close(self) -> None:
        """Flush, and release the engine and the model's thread."""
        self._embeddings.close()
        if self._store is not None:
            store, self._store = self._store, None
            await store.close()

    async def _ensure(self, store: VectorStore, spec: CollectionSpec) -> None:
        if notice := await self._layout.ensure(store, spec):
            self.notices.append(notice)

    def _opened(self) -> VectorStore:
        if self._store is None:
            hint = "Try again in a few seconds."
            if self._embeddings.state == "ready":
                raise StorageUnavailableError("The index is not open yet.", hint=hint)
            raise EmbeddingUnavailableError("The embedding model is not loaded yet.", hint=hint)
        return self._store
