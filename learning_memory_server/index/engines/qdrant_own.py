"""Tenant isolation: every request for points of one owner on a shared Qdrant server.

Reads have the owner's condition, writes the owner's name. An id on the server is the caller's id XOR the owner's.
"""

import math
from array import array
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence, Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from msgspec import Struct

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.engines.base import Filter, Hit, Payload, Point, Record, SparseVector
from learning_memory_server.index.engines.owner import Owner
from learning_memory_server.index.engines.qdrant_catalog import OWNER, REBUILD, Variant
from learning_memory_server.index.engines.qdrant_errors import RequestKind
from learning_memory_server.index.engines.qdrant_requests import Answer, Call, Requests, Updated, writing_nothing
from learning_memory_server.index.engines.vectors import TERMS, VECTOR

WRITE_BATCH: Final = 100  # Points per request: 0.8 MB of JSON at 384 dimensions, 8 MB at 4,096; a server accepts 32 MB
_READ_BATCH: Final = 500
_IDS_BATCH: Final = 10_000  # Ids per request: 0.1 seconds
_VECTORS_BATCH: Final = 100  # Points per request with vectors: 8 MB of JSON at 4,096 dimensions

_RESERVED: Final = frozenset((OWNER, REBUILD))


class _Terms(Struct):
    indices: list[int]


class OwnPoint(Struct):
    """A point that was read, as far as it was asked for."""

    id: str
    score: float = 0.0
    payload: dict[str, Any] | None = None
    vector: dict[str, list[float] | _Terms] | None = None

    @property
    def record(self) -> Record:
        """The point as the port has it."""
        vector = np.array(self.vector[VECTOR], dtype=np.float32) if self.vector else None
        return Record(self.id, self.payload or {}, vector)

    @property
    def terms(self) -> list[int]:
        """Its terms."""
        sparse = (self.vector or {}).get(TERMS)
        return sparse.indices if isinstance(sparse, _Terms) else []


class _Points(Struct):
    points: list[OwnPoint]
    next_page_offset: str | None = None


class _Counted(Struct):
    count: int


@dataclass(frozen=True)
class OwnPoints:
    """The operations of one owner on points."""

    requests: Requests
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
            {
                "id": self._outside([point.id])[0],
                "vector": {VECTOR: row, TERMS: sparse} if sparse else {VECTOR: row},
                "payload": {**unreserved(point.payload), **mine},
            }
            for point, row, sparse in zip(points, vectors, terms, strict=True)
        ]
        await self._write(target, "PUT", "/points", stored)

    async def delete(self, target: Variant, ids: Sequence[str]) -> None:
        """Remove points, unless the storage folder was moved or copied here: they may be another's too."""
        if not ids:
            return
        if not self.owner.is_settled:
            raise StorageUnavailableError(
                "Nothing is removed from the Qdrant server: the storage folder was moved or copied since it was used.",
                hint="Run `learning-memory-server doctor --fix`, which asks whether it was moved or is a copy.",
            )
        for start in range(0, len(ids), _READ_BATCH):
            await self._write(target, "POST", "/points/delete", self._outside(ids[start : start + _READ_BATCH]))

    async def _write(self, target: Variant, method: str, path: str, points: Sequence[object]) -> None:
        """Change points, and wait until that is applied."""
        call = Call(RequestKind.WRITE, method, target.name, f"{path}?wait=true", Answer[Updated], {"points": points})
        await self.requests.ask(call, writing_nothing(target.name))

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
        size = _VECTORS_BATCH if vectors == VECTOR else _IDS_BATCH if ids is None and not vectors else _READ_BATCH
        where = Filter(((REBUILD, rebuild),)) if rebuild else None
        for start in range(0, 1 if ids is None else len(ids), size):
            body = {
                "filter": self._mine(where, None if ids is None else ids[start : start + size]),
                "limit": size,
                "with_payload": fields or False,
                "with_vector": [vectors] if vectors else False,
            }
            call = Call(RequestKind.READ, "POST", target.name, "/points/scroll", Answer[_Points], body)
            while True:
                read = (await self.requests.ask(call)).result
                for point in read.points:
                    point.id, point.payload = self.owner.inside(point.id), _shown(point.payload)
                    yield point
                if read.next_page_offset is None:
                    break
                body["offset"] = read.next_page_offset

    async def count(self, target: Variant, where: Filter | None = None) -> int:
        """Return the exact number of points, or of matching ones."""
        if contradicts_itself(where):
            return 0
        body = {"filter": self._mine(where), "exact": True}
        counted = await self.requests.ask(
            Call(RequestKind.READ, "POST", target.name, "/points/count", Answer[_Counted], body)
        )
        return counted.result.count

    async def query(
        self,
        target: Variant,
        query: list[float] | SparseVector,
        limit: int,
        *,
        where: Filter | None,
        ids: Collection[str] | None,
        params: Mapping[str, object] | None,
    ) -> list[Hit]:
        """Return at most `limit` hits, highest score first."""
        if contradicts_itself(where):
            return []
        body = {
            "query": {"nearest": query},
            "using": TERMS if isinstance(query, SparseVector) else VECTOR,
            "filter": self._mine(where, ids),
            "params": params,
            "limit": limit,
        }
        answer = await self.requests.ask(
            Call(RequestKind.READ, "POST", target.name, "/points/query", Answer[_Points], body)
        )
        return [Hit(self.owner.inside(hit.id), hit.score) for hit in answer.result.points]

    def _mine(self, where: Filter | None = None, ids: Collection[str] | None = None) -> dict[str, Any]:
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
) -> dict[str, Any]:
    """Return the server's form of `where` and of the `demanded` values, restricted to the server's `ids` if given."""
    where = where or Filter()
    conditions, refused = (
        [dict[str, Any](key=name, match={"value": value}) for name, value in pairs]
        for pairs in ((*demanded.items(), *where.matches), where.without)
    )
    conditions += [
        {"key": times.field, "range": {name: at for name, at in (("gte", times.start), ("lte", times.end)) if at}}
        for times in where.times
        if times.start or times.end
    ]
    if ids is not None:
        conditions.append({"has_id": list(ids)})
    return {"must": conditions, "must_not": refused} if refused else {"must": conditions}


_NONE: Final = b""


class OwnTerms:
    """The ids of one owner's points in a collection with their terms, and how rare a term is among them.

    The server would count the documents of all owners. 30,000 points of 40 terms take 10 MB.
    """

    def __init__(self) -> None:
        self._terms: dict[str, bytes] = {}
        self._having: Counter[int] = Counter()
        self._documents = 0
        self._touched: set[str] | None = None

    def __len__(self) -> int:
        return len(self._terms)

    def put(self, point_id: str, indices: Sequence[int]) -> None:
        """Record that a point is stored with these terms."""
        self._set(point_id, indices)
        if self._touched is not None:
            self._touched.add(point_id)

    def discard(self, point_ids: Iterable[str]) -> None:
        """Record that points are no longer stored."""
        for point_id in point_ids:
            self._unset(point_id)
            if self._touched is not None:
                self._touched.add(point_id)

    @contextmanager
    def touching(self) -> Iterator[None]:
        """Remember what changes while the block reads the server's points."""
        self._touched = set()
        try:
            yield
        finally:
            self._touched = None

    def end_touching(self, there: AbstractSet[str]) -> set[str]:
        """Drop points that are not on the server, and return those `there` whose terms are not known."""
        touched = self._touched or set()
        for point_id in self._terms.keys() - there - touched:
            self._unset(point_id)
        return set(there) - self._terms.keys() - touched

    def learn(self, point_id: str, indices: Sequence[int]) -> None:
        """Record the terms of a point that was read, unless it was written or removed in the meantime."""
        if point_id not in (self._touched or ()):
            self._set(point_id, indices)

    def weighted(self, query: SparseVector) -> SparseVector:
        """Return the query with each weight multiplied by its term's rarity; see `VectorStore.search`."""
        return SparseVector(
            list(query.indices),
            [weight * self._rarity(index) for index, weight in zip(query.indices, query.values, strict=True)],
        )

    def _rarity(self, index: int) -> float:
        having = self._having[index]
        return math.log(1 + (self._documents - having + 0.5) / (having + 0.5))

    def _set(self, point_id: str, indices: Sequence[int]) -> None:
        self._unset(point_id)
        self._terms[point_id] = array("I", indices).tobytes() if indices else _NONE
        self._having.update(indices)
        self._documents += bool(indices)

    def _unset(self, point_id: str) -> None:
        kept = self._terms.pop(point_id, _NONE)
        if kept:
            indices = array("I")
            indices.frombytes(kept)
            self._documents -= 1
            for index in indices:
                self._having[index] -= 1
                if not self._having[index]:
                    del self._having[index]
