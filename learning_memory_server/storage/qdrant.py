"""A Qdrant server or cluster behind the `VectorStore` port; `:memory:` is a test double."""

from __future__ import annotations

import math
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid4

from learning_memory_server.errors import MissingCollectionError, StorageUnavailableError
from learning_memory_server.storage.base import Hit, Record
from learning_memory_server.storage.qdrant_errors import checked_address, late, request_errors
from learning_memory_server.storage.qdrant_filters import contradicts_itself, qdrant_filter
from learning_memory_server.storage.qdrant_schema import (
    Spread,
    collection_settings,
    payload_indexes,
    stored_dimension,
)
from learning_memory_server.storage.ranking import as_cosine, best_hits
from learning_memory_server.storage.vectors import (
    TERMS,
    VECTOR,
    checked_matrix,
    checked_terms,
    read_vector,
    wrong_dimension,
)

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
    from contextlib import AbstractAsyncContextManager

    from qdrant_client import models

    from learning_memory_server.storage.base import (
        CollectionSpec,
        Filter,
        Payload,
        Point,
        SparseVector,
        Vector,
    )

MEMORY: Final = ":memory:"
_WRITE_BATCH: Final = 100
"""Points per request: 0.8 MB of JSON at 384 dimensions, 8 MB at 4,096; a server accepts 32 MB."""
_READ_BATCH: Final = 500
_VECTORS_BATCH: Final = 100
"""Points per request with vectors: 8 MB of JSON at 4,096 dimensions, in time even from far away."""
_READ_WITHIN: Final = 4.0
"""Seconds that a reading request may take, so that a tool that does several answers soon: the first late one fails."""
_SILENCE: Final = 5.0
"""Seconds after a late answer in which every request fails at once: callers that wait in a row must not add up."""


class QdrantStore:
    """A `VectorStore` on a Qdrant server, over REST.

    Args:
        url: `http(s)://host[:port][/prefix]` without user name and password, or `:memory:`.
        api_key: The server's key. Use it over https only.
        timeout: Seconds that one request may take, including its answer; a read has four at most.
        suffix: Appended to the name of every collection after a hyphen, so that vectors of two embedding models
            never mix.
        spread: How a cluster spreads new collections.

    Raises:
        InvalidSettingsError: If `url` is malformed.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 10.0,
        suffix: str = "",
        spread: Spread | None = None,
    ) -> None:
        from qdrant_client import AsyncQdrantClient  # noqa: PLC0415 - a second to import

        self._local = url == MEMORY
        self._suffix = f"-{suffix}" if suffix else ""
        self._spread = spread or Spread()
        self._dimensions: dict[str, int] = {}
        self._closed = False
        self._silent_until = 0.0
        if self._local:
            self._address, self._timeout = "in memory", None
            self._client = AsyncQdrantClient(location=MEMORY)
            return
        self._address, self._timeout = checked_address(url, api_key), timeout
        # The vendor's own timeout is in whole seconds and restarts with every byte: `request_errors` enforces the
        # real one. The client's compatibility check would warn from another thread.
        self._client = AsyncQdrantClient(
            url=url,
            api_key=api_key,
            timeout=math.ceil(timeout),
            check_compatibility=False,
            # Loading certificates takes 60 ms, and plain HTTP has no use for them.
            verify=url.startswith("https:"),
        )

    async def ensure(self, spec: CollectionSpec) -> Payload:
        """Create the collection and its payload indexes unless they exist; see the port.

        The name that callers use is an alias, so that a replacement can be swapped in atomically.
        """
        try:
            info = await self._info(spec.name)
        except MissingCollectionError:
            await self._create(spec)
            info = await self._info(spec.name)
        dimension = self._dimensions[spec.name] = stored_dimension(spec.name, info)
        if dimension != spec.dimension:
            raise wrong_dimension(spec.name, dimension, spec.dimension)
        # Local mode has no payload indexes, and warns if it is asked for one.
        if not self._local:
            await self._ensure_indexes(spec, info)
        return info.config.metadata or {}

    async def drop(self, collection: str) -> None:
        """Remove the collection; see the port."""
        self._dimensions.pop(collection, None)
        behind = await self._aliased_collection(collection)
        if behind is not None:
            async with self._request(collection):
                await self._client.delete_collection(behind)

    async def promote(self, source: str, target: str) -> None:
        """Replace one collection with another; see the port."""
        new, old = await self._aliased_collection(source), await self._aliased_collection(target)
        if new is None:
            raise MissingCollectionError(f"Collection `{source}` does not exist.")
        await self._set_alias(target, new, [self._name(source), *([self._name(target)] if old else [])])
        self._dimensions.pop(source, None)
        self._dimensions.pop(target, None)
        if old is not None:
            async with self._request(target):
                await self._client.delete_collection(old)

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Insert or replace the points; see the port."""
        from qdrant_client import models  # noqa: PLC0415 - a second to import

        dimension = await self._dimension(collection)
        matrix = checked_matrix(collection, [point.vector for point in points], dimension)
        terms = [_terms(collection, point.terms) for point in points]
        for start in range(0, len(points), _WRITE_BATCH):
            batch = slice(start, start + _WRITE_BATCH)
            rows = zip(points[batch], matrix[batch].tolist(), terms[batch], strict=True)
            async with self._request(collection):
                stored = [
                    models.PointStruct(
                        id=point.id,
                        vector={VECTOR: row, TERMS: sparse} if sparse else {VECTOR: row},
                        payload=dict(point.payload),
                    )
                    for point, row, sparse in rows
                ]
                await self._client.upsert(self._name(collection), stored, wait=True)

    async def retrieve(
        self, collection: str, ids: Sequence[str], *, with_vectors: bool = False
    ) -> list[Record]:
        """Return the points that exist among `ids`, in that order; see the port."""
        records: list[Record] = []
        size = _VECTORS_BATCH if with_vectors else _READ_BATCH
        for start in range(0, len(ids), size):
            async with self._reading(collection):
                wanted = [str(UUID(point_id)) for point_id in ids[start : start + size]]
                read = await self._client.retrieve(
                    self._name(collection), wanted, with_payload=True, with_vectors=with_vectors
                )
                found = {record.id: record for record in map(_record, read)}
            records += [found[point_id] for point_id in wanted if point_id in found]
        return records

    async def scroll(self, collection: str, *, with_vectors: bool = False) -> list[Record]:
        """Return every point, ordered by id; see the port."""
        records: list[Record] = []
        offset: Any = None
        while True:
            async with self._reading(collection):
                read, offset = await self._client.scroll(
                    self._name(collection),
                    limit=_VECTORS_BATCH if with_vectors else _READ_BATCH,
                    offset=offset,
                    with_payload=False,
                    with_vectors=with_vectors,
                )
                records += map(_record, read)
            if offset is None:
                return records

    async def count(self, collection: str) -> int:
        """Return the exact number of points; see the port."""
        async with self._reading(collection):
            counted = await self._client.count(self._name(collection), exact=True)
            return counted.count

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the points; see the port."""
        from qdrant_client import models  # noqa: PLC0415 - a second to import

        for start in range(0, len(ids), _READ_BATCH):
            async with self._request(collection):
                selector = models.PointIdsList(points=list(ids[start : start + _READ_BATCH]))
                await self._client.delete(self._name(collection), selector, wait=True)

    async def search(
        self,
        collection: str,
        vector: Vector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: Collection[str] | None = None,
    ) -> list[Hit]:
        """Return the `limit` most similar points; see the port.

        A server searches a large collection through HNSW, so a hit may be missed unless `ids` names the points to
        consider; scores are exact.
        """
        from qdrant_client import models  # noqa: PLC0415 - a second to import

        dimension = await self._dimension(collection)
        query = checked_matrix(collection, [vector], dimension)[0].tolist()
        quantization = models.QuantizationSearchParams(rescore=True, oversampling=2.0)
        params = (
            models.SearchParams(quantization=quantization) if ids is None else models.SearchParams(exact=True)
        )
        fetch = self._query(collection, VECTOR, query, params, where=where, ids=ids)
        hits = await best_hits(fetch, limit)
        return [Hit(hit.id, as_cosine(hit.score)) for hit in hits]

    async def search_terms(
        self,
        collection: str,
        query: SparseVector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: Collection[str] | None = None,
    ) -> list[Hit]:
        """Return the `limit` points of highest BM25 score; see the port.

        A server counts term rarity per shard, deleted points included.
        """
        terms = _terms(collection, query)
        if terms is None:
            await self._dimension(collection)  # Raises if there is no such collection.
            return []
        fetch = self._query(collection, TERMS, terms, None, where=where, ids=ids)
        # Local mode also returns points whose score is 0.
        return [hit for hit in await best_hits(fetch, limit) if hit.score > 0]

    async def flush(self) -> None:
        """Do nothing: whether writes survive a power loss is up to the server's settings."""
        self._require_open()

    async def close(self) -> None:
        """Release the connections; see the port."""
        if not self._closed:
            self._closed = True
            async with request_errors("", self._address, self._timeout):
                await self._client.close()

    def _query(  # noqa: PLR0913 - the parts of a request
        self,
        collection: str,
        using: str,
        query: list[float] | models.SparseVector,
        params: models.SearchParams | None,
        *,
        where: Filter | None,
        ids: Collection[str] | None,
    ) -> Callable[[int], Awaitable[list[Hit]]]:
        """Return a function that fetches a given number of hits, highest score first."""

        async def fetch(asked: int) -> list[Hit]:
            if contradicts_itself(where):
                return []
            async with self._reading(collection):
                answer = await self._client.query_points(
                    self._name(collection),
                    query=query,
                    using=using,
                    query_filter=qdrant_filter(where, ids),
                    # Local mode searches exactly, and warns if it is given parameters.
                    search_params=None if self._local else params,
                    limit=asked,
                    with_payload=False,
                )
                return [Hit(str(hit.id), hit.score) for hit in answer.points]

        return fetch

    async def _create(self, spec: CollectionSpec) -> None:
        behind = f"{self._name(spec.name)}-{uuid4().hex[:8]}"
        settings = collection_settings(spec, self._spread)
        async with self._request(spec.name):
            await self._client.create_collection(behind, **settings, metadata=dict(spec.about) or None)
        await self._set_alias(spec.name, behind)

    async def _set_alias(self, collection: str, behind: str, removed: Sequence[str] = ()) -> None:
        """Make the name an alias of the collection `behind`, and drop the `removed` aliases, atomically."""
        from qdrant_client import models  # noqa: PLC0415 - a second to import

        changes: list[models.AliasOperations] = [
            models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name)) for name in removed
        ]
        created = models.CreateAlias(collection_name=behind, alias_name=self._name(collection))
        changes.append(models.CreateAliasOperation(create_alias=created))
        async with self._request(collection):
            await self._client.update_collection_aliases(changes)

    async def _aliased_collection(self, collection: str) -> str | None:
        """Return the collection that the name is an alias of, or None."""
        async with self._reading(collection):
            aliases = (await self._client.get_aliases()).aliases
        name = self._name(collection)
        return next((each.collection_name for each in aliases if each.alias_name == name), None)

    async def _ensure_indexes(self, spec: CollectionSpec, info: models.CollectionInfo) -> None:
        """Create missing indexes. Indexes created before the first point are also used to build the graph."""
        for name, index in payload_indexes(spec).items():
            if name not in info.payload_schema:
                async with self._request(spec.name):
                    await self._client.create_payload_index(
                        self._name(spec.name), name, field_schema=index, wait=True
                    )

    async def _info(self, collection: str) -> models.CollectionInfo:
        async with self._reading(collection):
            return await self._client.get_collection(self._name(collection))

    async def _dimension(self, collection: str) -> int:
        self._require_open()
        if collection not in self._dimensions:
            self._dimensions[collection] = stored_dimension(collection, await self._info(collection))
        return self._dimensions[collection]

    @asynccontextmanager
    async def _request(self, collection: str, seconds: float | None = None) -> AsyncIterator[None]:
        """Make a request whose failures are the port's errors, unless the server has just been late."""
        self._require_open()
        if monotonic() < self._silent_until:
            raise late(self._address)
        seconds, began = seconds or self._timeout, monotonic()
        try:
            async with request_errors(collection, self._address, seconds):
                yield
        except StorageUnavailableError:
            if seconds is not None and monotonic() - began >= seconds:
                self._silent_until = monotonic() + _SILENCE
            raise

    def _reading(self, collection: str) -> AbstractAsyncContextManager[None]:
        return self._request(collection, self._timeout and min(self._timeout, _READ_WITHIN))

    def _require_open(self) -> None:
        if self._closed:
            raise StorageUnavailableError("The store is closed.")

    def _name(self, collection: str) -> str:
        return collection + self._suffix


def _terms(collection: str, terms: SparseVector | None) -> models.SparseVector | None:
    """Return the terms in the engine's form, or None if there are none."""
    from qdrant_client import models  # noqa: PLC0415 - a second to import

    if terms is None:
        return None
    indices, values = checked_terms(collection, terms)
    return models.SparseVector(indices=indices, values=values) if indices else None


def _record(read: models.Record) -> Record:
    return Record(str(read.id), read.payload or {}, read_vector(read.vector, VECTOR))
