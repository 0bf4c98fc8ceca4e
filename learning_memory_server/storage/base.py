"""The port to a vector engine: the few operations that the services need, in their own words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from datetime import datetime

    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32] | Sequence[float]

Payload = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Point:
    """What is stored: a UUID, one dense vector of the collection's dimension, and JSON data."""

    id: str
    vector: Vector
    payload: Payload


@dataclass(frozen=True, slots=True)
class Record:
    """A stored point read back. `vector`, of shape (dimension,), is present only where it was asked for."""

    id: str
    payload: dict[str, Any]
    vector: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result. `score` is the cosine similarity, from -1 to 1."""

    id: str
    score: float
    payload: dict[str, Any]


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
    """

    matches: tuple[tuple[str, str], ...] = ()
    times: tuple[TimeRange, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.matches or self.times)


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
    keyword_fields: tuple[str, ...] = field(default=())
    datetime_fields: tuple[str, ...] = field(default=())
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
        with_payload: bool = True,
        with_vectors: bool = False,
    ) -> list[Record]:
        """Return every matching point, however many there are, ordered by id."""
        ...

    async def count(self, collection: str, *, where: Filter | None = None) -> int:
        """Return the exact number of matching points."""
        ...

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the points; ids that do not exist are passed over."""
        ...

    async def search(
        self, collection: str, vector: Vector, *, limit: int, where: Filter | None = None
    ) -> list[Hit]:
        """Return the `limit` points of highest cosine similarity, best first, ties ordered by id."""
        ...

    async def flush(self) -> None:
        """Make what was written survive a power loss. May take hundreds of milliseconds."""
        ...

    async def close(self) -> None:
        """Flush and release the engine. Idempotent."""
        ...
