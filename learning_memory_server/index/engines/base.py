"""The port to a vector engine: the few operations that the services need, in their own terms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol, TypeAlias

from learning_memory_server.embedding.base import Vectors

Vector: TypeAlias = "Vectors | Sequence[float]"
Payload = Mapping[str, Any]

MIN_FREE_BYTES: Final = 64 * 1024 * 1024  # Free space below which the embedded engine refuses to write


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A text as its terms."""

    indices: Sequence[int]  # the numbers of the terms, each below 2**32, distinct and ascending
    values: Sequence[float]  # the weight of each, above 0


@dataclass(frozen=True, slots=True)
class Point:
    """A stored point: a UUID, one dense vector of the collection's dimension, and a JSON payload."""

    id: str
    vector: Vector
    payload: Payload
    terms: SparseVector | None = None  # What a search for terms matches; a point without any is never found by one


@dataclass(frozen=True, slots=True)
class Record:
    """A stored point read back."""

    id: str
    payload: dict[str, Any]  # all of it if the point was retrieved; only some fields from a scroll
    vector: Vectors | None = None  # shape (dimension,), where it was asked for


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result. `score` is the cosine similarity, from -1 to 1, or the BM25 score, above 0."""

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
    """Conditions that must all hold, applied inside the engine before the top results are taken."""

    matches: tuple[tuple[str, str], ...] = ()  # (field, value) pairs; a field with a list matches any item
    times: tuple[TimeRange, ...] = ()  # ranges on datetime fields
    without: tuple[tuple[str, str], ...] = ()  # (field, value) pairs, none of which may match in the sense of `matches`


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """A collection that should exist."""

    name: str
    dimension: int  # the length of its vectors. Distance is always cosine
    keyword_fields: tuple[str, ...] = ()  # payload fields that filters match exactly
    datetime_fields: tuple[str, ...] = ()  # payload fields that filters range over
    about: Payload = field(default_factory=dict)  # JSON data that is stored with the collection when it is created
    variant: str = ""  # A short digest of all that the points depend on; each has a collection of its own
    refuses: Callable[[Payload], str | None] = lambda _about: None  # Why a collection with this `about` is unusable


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The rebuild of a collection, which answers with its present content until the end."""

    ids: frozenset[str]  # the points that an interrupted rebuild had written already
    upsert: Callable[[Sequence[Point]], Awaitable[None]]  # writes points of the rebuilt collection
    # Lets the collection have exactly these points, and perhaps those that callers wrote since it began.
    finish: Callable[[Collection[str]], Awaitable[None]]


class VectorStore(Protocol):
    """A store of points. One contract suite runs over every implementation.

    Vendor exceptions never leave an adapter. All methods raise `StorageUnavailableError` when the engine fails,
    `MissingCollectionError` for a collection that was never ensured, and `WrongDimensionError` for a vector that does
    not fit.
    """

    async def ensure(self, spec: CollectionSpec) -> str | None:
        """Create the collection and its payload indexes unless they exist. Idempotent.

        A collection that is damaged, has another dimension, or is refused by `spec` is replaced by an empty one, and
        remains until `tidy`. Returns why it cannot be used; None if it can, or there was none.
        """

    async def tidy(self, belonging: Callable[[str], AbstractSet[str]]) -> None:
        """Remove what earlier forms of the collections still have, which are complete now.

        Args:
            belonging: Returns the ids that belong in a collection. A form that others use too may keep those.
        """

    async def rebuild(self, spec: CollectionSpec, *, resume: bool) -> Rebuild:
        """Begin to rebuild an ensured collection; with `resume`, keep what an interrupted rebuild has written."""

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Insert the points, or replace those with the same id. Any number of points."""

    async def retrieve(self, collection: str, ids: Sequence[str], *, with_vectors: bool = False) -> list[Record]:
        """Return the points that exist among `ids`, in the order of `ids`."""

    async def scroll(
        self, collection: str, *, with_vectors: bool = False, fields: Sequence[str] = (), most: int | None = None
    ) -> list[Record]:
        """Return every point, or `most` of them, ordered by id, with only these fields in the payloads."""

    async def count(self, collection: str, where: Filter | None = None) -> int:
        """Return the exact number of points, or of matching ones."""

    async def is_intact(self, collection: str) -> bool:
        """Return whether there are as many points as this store has seen and written, or raise that there are none."""

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the points; ids that do not exist are ignored."""

    async def search(
        self,
        collection: str,
        query: Vector | SparseVector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: Collection[str] | None = None,
    ) -> list[Hit]:
        """Return the `limit` best points, best first, ties ordered by id.

        The score is the cosine similarity to a vector, or the BM25 score for terms: the sum over shared terms of weight
        in the query * weight in the point * ln(1 + (N - n + 0.5) / (n + 0.5)). N is the number of points with terms, n
        of those with this term, whatever `where` and `ids` say. Only points that share a term are found.

        Args:
            where: Conditions on the points.
            ids: Consider only these, all of them, without the graph, which may miss a point; None for all points.
        """

    async def flush(self) -> None:
        """Make what was written survive a power loss. May take hundreds of milliseconds."""

    async def close(self) -> None:
        """Flush and release the engine. Idempotent."""
