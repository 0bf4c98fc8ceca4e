"""The embedded engine behind the `VectorStore` port: one qdrant-edge shard per collection.

The engine holds the GIL during every call, so batches of up to 8 milliseconds run on the event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence, Set as AbstractSet
from dataclasses import replace
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from uuid import UUID

import numpy as np
from qdrant_edge import (
    CountRequest,
    PayloadSchemaType,
    Point as EdgePoint,
    Query,
    QueryRequest,
    ScrollRequest,
    SearchParams,
    SparseVector as EdgeSparseVector,
    UpdateOperation,
)
from typing_extensions import override

from learning_memory_server.errors import DamagedCollectionError
from learning_memory_server.index.engines.base import (
    MIN_FREE_BYTES,
    CollectionSpec,
    Filter,
    Hit,
    Point,
    Rebuild,
    Record,
    SparseVector,
    Vector,
    VectorStore,
)
from learning_memory_server.index.engines.edge_shards import (
    OpenShards,
    Shard,
    edge_filter,
    engine_errors,
    keys_field,
    with_keys,
    without_keys,
)
from learning_memory_server.index.engines.vectors import (
    TERMS,
    VECTOR,
    best_hits,
    checked_matrix,
    checked_terms,
    wrong_dimension,
)
from learning_memory_server.system.files import disk_use
from learning_memory_server.system.ram import read_mapped, release_mapped

if TYPE_CHECKING:
    import qdrant_edge


_WRITE_BATCH: Final = 100  # Points per call: 4 ms at 384 dimensions
_READ_BATCH: Final = 100  # Points per call: 2-8 ms with vectors of 384 dimensions
_TURNS: Final = 20  # Turns of the event loop after a batch of reads: about as many as another session's call needs
_MANY_VECTORS: Final = 1 << 20  # Bytes of vectors from which on it pays to read them before the first search
_LONG: Final = 0.005  # Seconds of a query after which other tasks get their turns
_RELEASE_AFTER: Final = 1_000  # Points (4 MB) after which mapped files are released from RAM
_STAGED: Final = "_next"  # The suffix of a collection that will replace another


class EdgeStore(VectorStore):
    """A `VectorStore` in this process, on the local disk. Writes survive a power loss after `flush()`."""

    def __init__(self, path: Path, *, min_free_bytes: int = MIN_FREE_BYTES) -> None:
        self._path = path
        self._shards = OpenShards(path, min_free_bytes)

    @override
    async def ensure(self, spec: CollectionSpec) -> str | None:
        reason = self._unusable(spec)
        if reason is not None:
            self._shards.give_up(spec.name)
        shard = self._shards.ensure(spec)
        with engine_errors(spec.name):
            schema = shard.engine.info().payload_schema.keys()
            if not schema and spec.keyword_fields:
                shard.shared = spec.keyword_fields
            kinds = {keys_field(shard.shared): PayloadSchemaType.Keyword} if shard.shared else {}
            # Points that are older than a field lack its key, so a field that was added later gets a separate index.
            later = set(spec.keyword_fields) - set(shard.shared)
            kinds |= dict.fromkeys(later, PayloadSchemaType.Keyword)
            kinds |= dict.fromkeys(spec.datetime_fields, PayloadSchemaType.Datetime)
            for name in kinds.keys() - schema:
                self._shards.require_space()
                shard.dirty = True
                shard.engine.update(UpdateOperation.create_field_index(name, kinds[name]))
        for vectors in (self._path / spec.name).glob(f"segments/*/vector_storage-{VECTOR}"):
            if disk_use(vectors) > _MANY_VECTORS:
                await asyncio.to_thread(read_mapped, vectors)
        return reason

    async def rebuild(self, spec: CollectionSpec, *, resume: bool) -> Rebuild:
        """Build a second collection, which replaces the present one at the end, even after a crash; see the port."""
        staged = f"{spec.name}{_STAGED}"
        if not resume:
            self._shards.drop(staged)
        await self.ensure(replace(spec, name=staged))
        ids = frozenset(record.id for record in await self.scroll(staged))

        async def finish(wanted: Collection[str]) -> None:
            there = {record.id for record in await self.scroll(staged)}
            await self.delete(staged, sorted(there.difference(wanted)))
            self._shards.promote(staged, spec.name)

        return Rebuild(ids, partial(self.upsert, staged), finish)

    @override
    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        shard = self._shards.get(collection)
        matrix = checked_matrix(collection, [point.vector for point in points], shard.dimension)
        terms = [checked_terms(collection, point.terms, EdgeSparseVector) for point in points]
        for start in range(0, len(points), _WRITE_BATCH):
            batch = slice(start, start + _WRITE_BATCH)
            self._shards.require_space()
            with engine_errors(collection):
                rows = zip(points[batch], matrix[batch].tolist(), terms[batch], strict=True)
                stored = [
                    EdgePoint(
                        point.id,
                        {VECTOR: row, TERMS: sparse} if sparse else {VECTOR: row},
                        with_keys(point.payload, shard.shared),
                    )
                    for point, row, sparse in rows
                ]
                shard.dirty = True
                shard.engine.update(UpdateOperation.upsert_points(stored))
            shard.mapped += len(stored)
            if shard.mapped >= _RELEASE_AFTER:
                shard.mapped = 0
                release_mapped(self._path / collection)
            await asyncio.sleep(0)

    @override
    async def retrieve(self, collection: str, ids: Sequence[str], *, with_vectors: bool = False) -> list[Record]:
        shard = self._shards.get(collection)
        records: list[Record] = []
        for start in range(0, len(ids), _READ_BATCH):
            if start:
                await _yield()
            with engine_errors(collection):
                wanted = [str(UUID(point_id)) for point_id in ids[start : start + _READ_BATCH]]
                read = shard.engine.retrieve(list(wanted), with_payload=True, with_vector=_wanted(with_vectors))
                found = {record.id: record for record in _records(read, shard, with_vectors)}
            records += [found[point_id] for point_id in wanted if point_id in found]
            await asyncio.sleep(0)
        return records

    @override
    async def scroll(
        self, collection: str, *, with_vectors: bool = False, fields: Sequence[str] = (), most: int | None = None
    ) -> list[Record]:
        shard = self._shards.get(collection)
        records: list[Record] = []
        offset: Any = None
        while True:
            with engine_errors(collection):
                request = ScrollRequest(
                    offset=offset,
                    limit=_READ_BATCH,
                    with_payload=list(fields) or False,
                    with_vector=_wanted(with_vectors),
                )
                read, offset = shard.engine.scroll(request)
                records += _records(read, shard, with_vectors)
            if offset is None or (most is not None and len(records) >= most):
                return records[:most]
            await _yield()

    @override
    async def count(self, collection: str, where: Filter | None = None) -> int:
        shard = self._shards.get(collection)
        with engine_errors(collection):
            return shard.engine.count(CountRequest(exact=True, filter=edge_filter(where, shard.shared)))

    async def is_intact(self, collection: str) -> bool:
        """Return True if the files still exist: open files keep working after they were removed."""
        self._shards.require_files(collection)
        return True

    @override
    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        shard = self._shards.get(collection)
        for start in range(0, len(ids), _READ_BATCH):
            self._shards.require_space()
            with engine_errors(collection):
                shard.dirty = True
                shard.engine.update(UpdateOperation.delete_points(list(ids[start : start + _READ_BATCH])))
            await asyncio.sleep(0)

    @override
    async def search(
        self,
        collection: str,
        query: Vector | SparseVector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: Collection[str] | None = None,
    ) -> list[Hit]:
        shard = self._shards.get(collection)
        if isinstance(query, SparseVector):
            terms = checked_terms(collection, query, EdgeSparseVector)
            if terms is None:
                return []
            nearest = Query.Nearest(terms, using=TERMS)
        else:
            vector = checked_matrix(collection, [query], shard.dimension)[0]
            nearest = Query.Nearest(vector.tolist(), using=VECTOR)

        async def fetch(asked: int) -> list[Hit]:
            with engine_errors(collection):
                request = QueryRequest(
                    limit=asked,
                    query=nearest,
                    filter=edge_filter(where, shard.shared, ids),
                    with_payload=False,
                    params=SearchParams(exact=True),
                )
                began = time.perf_counter()
                found = [Hit(str(hit.id), hit.score) for hit in shard.engine.query(request)]
            if time.perf_counter() - began > _LONG:
                await _yield()
            return found

        return await best_hits(fetch, query, limit)

    @override
    async def tidy(self, belonging: Callable[[str], AbstractSet[str]]) -> None:
        await self._shards.remove_given_up()

    @override
    async def flush(self) -> None:
        await self._shards.flush()

    @override
    async def close(self) -> None:
        self._shards.close()

    def _unusable(self, spec: CollectionSpec) -> str | None:
        """Return the reason why the existing collection is unusable; None if it is usable or does not exist."""
        try:
            shard = self._shards.ensure(spec)
        except DamagedCollectionError as error:
            return error.message
        if shard.dimension != spec.dimension:
            return wrong_dimension(spec.name, shard.dimension, spec.dimension).message
        return spec.refuses(shard.about)


async def _yield() -> None:
    for _ in range(_TURNS):
        await asyncio.sleep(0)


def _wanted(with_vectors: bool) -> list[str]:
    """Return the names of the vectors to read. Terms are never read: nothing needs them, and they are as expensive."""
    return [VECTOR] if with_vectors else []


def _records(read: Sequence[qdrant_edge.Record], shard: Shard, with_vectors: bool) -> list[Record]:
    # One array for all: thousands of small arrays would fragment the heap. Each access to `vector` converts it.
    found: Any = [cast("Any", each.vector)[VECTOR] for each in read] if with_vectors else []
    rows = np.array(found, dtype=np.float32) if found else repeat(None)
    return [
        Record(str(each.id), without_keys(each.payload, shard.shared), row)
        for each, row in zip(read, rows, strict=False)
    ]
