"""The port to a vector engine: the few operations that the services need, in their own words."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32] | Sequence[float]

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A text as its terms.

    Args:
        indices: The numbers of the terms, each below 2**32, distinct and ascending.
        values: The weight of each, above 0.
    """

    indices: Sequence[int]
    values: Sequence[float]


@dataclass(frozen=True, slots=True)
class Point:
    """What is stored: a UUID, one dense vector of the collection's dimension, and JSON data.

    Args:
        id: The UUID.
        vector: The dense vector.
        payload: The data.
        terms: What `search_terms` finds it by; without any it is never found by them.
    """

    id: str
    vector: Vector
    payload: Payload
    terms: SparseVector | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A stored point read back.

    Args:
        id: The UUID.
        payload: The data, if the point was retrieved; a scroll reads none.
        vector: Shape (dimension,), where it was asked for.
    """

    id: str
    payload: dict[str, Any]
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result. `score` is the cosine similarity, from -1 to 1, or the BM25 score, above 0.

    It has no data: to read that of a hundred points would take longer than to find them.
    """

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Inclusive bounds on a payload field that holds ISO 8601 datetimes with an offset."""

    field: str
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold, evaluated inside the engine before the top results are taken.

    Args:
        matches: (field, value) pairs; a field that holds a list matches if the list contains the value.
        times: Ranges on datetime fields.
        without: (field, value) pairs, none of which may match in the sense of `matches`.
    """

    matches: tuple[tuple[str, str], ...] = ()
    times: tuple[TimeRange, ...] = ()
    without: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """A collection that should exist.

    Args:
        name: The collection's name.
        dimension: The length of its vectors. Distance is always cosine.
        keyword_fields: Payload fields that filters match exactly.
        datetime_fields: Payload fields that filters range over.
        about: JSON data that is kept with the collection from its creation on.
    """

    name: str
    dimension: int
    keyword_fields: tuple[str, ...] = ()
    datetime_fields: tuple[str, ...] = ()
    about: Payload = field(default_factory=dict)


class VectorStore(Protocol):
    """A place for points. One contract suite runs over every implementation.

    Vendor exceptions never leave an adapter. All methods raise `StorageUnavailableError` when the engine
    fails, `MissingCollectionError` when `collection` was never ensured, and `WrongDimensionError` when a
    vector does not fit.
    """

    async def ensure(self, spec: CollectionSpec) -> Payload:
        """Create the collection and its payload indexes unless they exist, and return what it is `about`. Idempotent.

        Raises:
            WrongDimensionError: If it exists with another dimension.
            DamagedCollectionError: If it exists and cannot be opened.
        """
        ...

    async def drop(self, collection: str) -> None:
        """Remove the collection with everything in it, damaged or not, if it exists."""
        ...

    async def promote(self, source: str, target: str) -> None:
        """Put the collection `source` in the place of `target`, whose points are gone then. `source` ceases to be.

        Whoever uses `target` finds either the one or the other, also after a crash.

        Raises:
            MissingCollectionError: If there is no `source`.
        """
        ...

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Insert the points, or replace those with the same id. Any number of points."""
        ...

    async def retrieve(
        self, collection: str, ids: Sequence[str], *, with_vectors: bool = False
    ) -> list[Record]:
        """Return the points that exist among `ids`, in the order of `ids`."""
        ...

    async def scroll(
        self,
        collection: str,
        *,
        where: Filter | None = None,
        with_vectors: bool = False,
    ) -> list[Record]:
        """Return every matching point, however many there are, ordered by id, without its data."""
        ...

    async def count(self, collection: str) -> int:
        """Return the exact number of points."""
        ...

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the points; ids that do not exist are passed over."""
        ...

    async def search(
        self,
        collection: str,
        vector: Vector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: Collection[str] | None = None,
    ) -> list[Hit]:
        """Return the `limit` points of highest cosine similarity, best first, ties ordered by id.

        Args:
            collection: Where to search.
            vector: What to be similar to.
            limit: The most points to return; at least 1.
            where: What must hold for a point.
            ids: The only points that are looked at, each of them exactly; None for all.
        """
        ...

    async def search_terms(
        self,
        collection: str,
        query: SparseVector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: Collection[str] | None = None,
    ) -> list[Hit]:
        """Return the `limit` points of highest BM25 score, best first, ties ordered by id.

        The score is the sum over the terms that query and point share: weight in the query * weight in the point *
        ln(1 + (N - n + 0.5) / (n + 0.5)), where n of the N points that have terms have that one. N and n are of the
        whole collection, whatever `where` and `ids` say, and an engine may go on to count points that are deleted.
        Points that share no term are left out, so an empty query finds nothing.

        Args:
            collection: Where to search.
            query: The terms to look for.
            limit: The most points to return; at least 1.
            where: What must hold for a point.
            ids: The only points that are looked at; None for all.
        """
        ...

    async def flush(self) -> None:
        """Make what was written survive a power loss. May take hundreds of milliseconds."""
        ...

    async def close(self) -> None:
        """Flush and release the engine. Idempotent."""
        ...
