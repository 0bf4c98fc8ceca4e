"""Tenant isolation: every request for points of one owner on a shared Qdrant server.

Reads have the owner's condition, writes the owner's name. An id on the server is the caller's id XOR the owner's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
from qdrant_client import AsyncQdrantClient, models

from learning_memory_server.embedding.base import Vectors
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.engines.base import Filter, Hit, Payload, Point, Record, SparseVector
from learning_memory_server.index.engines.owner import Owner
from learning_memory_server.index.engines.qdrant_catalog import OWNER, REBUILD, Variant, writing_nothing
from learning_memory_server.index.engines.qdrant_server import Ask, Server
from learning_memory_server.index.engines.vectors import TERMS, VECTOR

WRITE_BATCH: Final = 100  # Points per request: 0.8 MB of JSON at 384 dimensions, 8 MB at 4,096; a server accepts 32 MB
_CHANGED_BATCH: Final = 500  # Ids per request that names them
_TERMS_BATCH: Final = 1_000  # Points per request with terms: 5 ms of this process
_IDS_BATCH: Final = 10_000  # Ids per request: 0.1 seconds
_VECTORS_BATCH: Final = 100  # Points per request with vectors: 8 MB of JSON at 4,096 dimensions

_RESERVED: Final = frozenset((OWNER, REBUILD))


@dataclass(frozen=True, slots=True)
class OwnPoint:
    """A point that was read, as far as it was asked for."""

    id: str
    payload: dict[str, Any]
    vector: Vectors | None  # shape (dimension,)
    terms: list[int]

    @property
    def record(self) -> Record:
        """The point as the port has it."""
        return Record(self.id, self.payload, self.vector)


@dataclass(frozen=True)
class OwnPoints:
    """The operations of one owner on points."""

    server: Server
    owner: Owner

    async def upsert(
        self,
        target: Variant,
        points: Sequence[Point],
        vectors: Sequence[list[float]],
        terms: Sequence[SparseVector | None],
        rebuild: str | None = None,
    ) -> None:
        """Insert or replace at most `WRITE_BATCH` points."""
        mine = {OWNER: self.owner.name} | ({REBUILD: rebuild} if rebuild else {})
        stored = [
            models.PointStruct(
                id=self._outside([point.id])[0],
                vector={VECTOR: row, TERMS: _sparse(sparse)} if sparse else {VECTOR: row},
                payload={**unreserved(point.payload), **mine},
            )
            for point, row, sparse in zip(points, vectors, terms, strict=True)
        ]
        await self._write(target, lambda client: client.upsert(target.name, stored))

    async def delete(self, target: Variant, ids: Sequence[str]) -> None:
        """Remove points, unless the storage folder was moved or copied here: they may be another's too."""
        if not ids:
            return
        if not self.owner.is_settled:
            raise StorageUnavailableError(
                "Nothing is removed from the Qdrant server: the storage folder was moved or copied since it was used.",
                hint="Run `learning-memory-server doctor --fix`, which asks whether it was moved or is a copy.",
            )
        for start in range(0, len(ids), _CHANGED_BATCH):
            doomed = models.PointIdsList(points=list(self._outside(ids[start : start + _CHANGED_BATCH])))
            await self._write(
                target, partial(AsyncQdrantClient.delete, collection_name=target.name, points_selector=doomed)
            )

    async def _write(self, target: Variant, ask: Ask[object]) -> None:
        """Change points, and wait until that is applied."""
        await self.server.write(ask, writing_nothing(target.name), target.name)

    async def read(
        self,
        target: Variant,
        *,
        ids: Sequence[str] | None = None,
        vectors: str = "",
        fields: Sequence[str] | bool = (),
        rebuild: str | None = None,
    ) -> AsyncIterator[OwnPoint]:
        """Yield points in any order: all, those that exist among `ids`, or those that one rebuild has written.

        `vectors` is `VECTOR`, `TERMS`, or empty for neither. Payloads have only the `fields`; true for all fields.
        """
        batches = {VECTOR: _VECTORS_BATCH, TERMS: _TERMS_BATCH, "": _IDS_BATCH}
        size = batches[vectors] if ids is None else min(batches[vectors], _CHANGED_BATCH)
        where = Filter(((REBUILD, rebuild),)) if rebuild else None
        for start in range(0, 1 if ids is None else len(ids), size):
            request = models.ScrollRequest(
                filter=self._mine(where, None if ids is None else ids[start : start + size]),
                limit=size,
                with_payload=fields if isinstance(fields, bool) else list(fields) or False,
                with_vector=[vectors] if vectors else False,
            )
            while True:
                page, request.offset = await self.server.read(partial(self._page, target.name, request), target.name)
                for point in page:
                    yield point
                if request.offset is None:
                    break

    async def _page(
        self, collection: str, request: models.ScrollRequest, client: AsyncQdrantClient
    ) -> tuple[list[OwnPoint], str | None]:
        """Return points, and where the next page begins.

        As JSON, which takes 3 ms for 500 points with terms. The client's models take 11: half a second more at a start
        with 30,000 points.
        """
        answer = await client.http.client.request(
            type_=dict[str, Any],
            method="POST",
            url="/collections/{collection_name}/points/scroll",
            path_params={"collection_name": collection},
            headers={"content-type": "application/json"},
            content=request.model_dump_json(exclude_none=True),
        )
        try:
            read = answer["result"]
            return [self._point(each) for each in read["points"]], read.get("next_page_offset")
        except (AttributeError, LookupError, TypeError) as error:
            raise ValueError("These are no points.") from error

    def _point(self, stored: Mapping[str, Any]) -> OwnPoint:
        vectors = stored.get("vector") or {}
        dense, sparse = vectors.get(VECTOR), vectors.get(TERMS)
        vector = None if dense is None else np.array(dense, dtype=np.float32)
        return OwnPoint(
            self.owner.inside(stored["id"]), _shown(stored.get("payload")), vector, sparse["indices"] if sparse else []
        )

    async def count(self, target: Variant, where: Filter | None = None) -> int:
        """Return the exact number of points, or of matching ones."""
        if contradicts_itself(where):
            return 0
        mine = self._mine(where)
        counted = await self.server.read(
            lambda client: client.count(target.name, count_filter=mine, exact=True), target.name
        )
        return counted.count

    async def query(
        self,
        target: Variant,
        query: list[float] | SparseVector,
        limit: int,
        *,
        where: Filter | None,
        ids: Collection[str] | None,
        params: models.SearchParams | None,
    ) -> list[Hit]:
        """Return at most `limit` hits, highest score first."""
        if contradicts_itself(where):
            return []
        mine, is_sparse = self._mine(where, ids), isinstance(query, SparseVector)
        answer = await self.server.read(
            lambda client: client.query_points(
                target.name,
                query=_sparse(query) if isinstance(query, SparseVector) else query,
                using=TERMS if is_sparse else VECTOR,
                query_filter=mine,
                search_params=params,
                limit=limit,
                with_payload=False,
            ),
            target.name,
        )
        return [Hit(self.owner.inside(str(hit.id)), hit.score) for hit in answer.points]

    def _mine(self, where: Filter | None = None, ids: Collection[str] | None = None) -> models.Filter:
        """Return the one filter that every reading request has: the owner's, and what the caller adds."""
        demanded = {OWNER: self.owner.name}
        if where is not None and OWNER in {name for name, _ in (*where.matches, *where.without)}:
            raise StorageUnavailableError(f"No filter may name the field `{OWNER}`.")
        return qdrant_filter(demanded, where, None if ids is None else self._outside(ids))

    def _outside(self, ids: Collection[str]) -> list[str]:
        try:
            return [self.owner.outside(point_id) for point_id in ids]
        except ValueError as error:
            raise StorageUnavailableError("An id of a point is not a UUID.") from error


def unreserved(payload: Payload) -> Payload:
    """Return the payload, unless it has a field that only this module may use."""
    if _RESERVED.intersection(payload):
        raise StorageUnavailableError(f"No payload may have the fields {sorted(_RESERVED)}.")
    return payload


def _shown(payload: Payload | None) -> dict[str, Any]:
    return {name: value for name, value in (payload or {}).items() if name not in _RESERVED}


def contradicts_itself(where: Filter | None) -> bool:
    """Return whether a condition is both demanded and excluded, which Qdrant 1.15 and 1.18 answer wrongly."""
    return where is not None and not set(where.matches).isdisjoint(where.without)


def qdrant_filter(
    demanded: Mapping[str, str], where: Filter | None, ids: Collection[str] | None = None
) -> models.Filter:
    """Return the server's form of `where` and of the `demanded` values, restricted to the server's `ids` if given."""
    where = where or Filter()
    conditions: list[models.Condition] = [_has(name, value) for name, value in (*demanded.items(), *where.matches)]
    conditions += [
        models.FieldCondition(key=times.field, range=models.DatetimeRange(gte=times.start, lte=times.end))
        for times in where.times
        if times.start or times.end
    ]
    if ids is not None:
        conditions.append(models.HasIdCondition(has_id=list(ids)))
    return models.Filter(must=conditions, must_not=[_has(name, value) for name, value in where.without] or None)


def _has(name: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=name, match=models.MatchValue(value=value))


def _sparse(terms: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=list(terms.indices), values=list(terms.values))
