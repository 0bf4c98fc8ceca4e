"""The port of a vector engine: the few operations that services need, in their terms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol, TypeAlias

from learning_memory_server.embedding.base import Vectors

Vector: TypeAlias = "Vectors | Sequence[float]"
Payload = Mapping[str, Any]

MIN_FREE_BYTES: Final = 64 * 1024 * 1024  # Below this much free space, the embedded engine refuses to write


@dataclass(frozen=True, slots=True)
class SparseVector:
    """A text as weighted terms."""

    indices: Sequence[int]  # the term ids, each below 2**32, distinct and ascending
    values: Sequence[float]  # the weight of each, above 0


@dataclass(frozen=True, slots=True)
class Point:
    """A stored point: a UUID, a dense vector of the collection's dimension, and a JSON payload."""

    id: str
    vector: Vector
    payload: Payload
    terms: SparseVector | None = None  # For searches by terms, which never find a point without terms


@dataclass(frozen=True, slots=True)
class Record:
    """A stored point, as read from the engine."""

    id: str
    payload: dict[str, Any]  # complete from `retrieve`, or the requested fields from `scroll`
    vector: Vectors | None = None  # shape (dimension,), if requested


@dataclass(frozen=True, slots=True)
class Hit:
    """A search result. `score` is a cosine similarity from -1 to 1, or a BM25 score above 0."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class TimeRange:
    """Inclusive bounds for a payload field with ISO 8601 datetimes that have an offset."""

    field: str
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """Conditions that must all hold. The engine applies them before it selects the top results."""

    matches: tuple[tuple[str, str], ...] = ()  # (field, value) pairs; a field with a list matches any item
    times: tuple[TimeRange, ...] = ()  # ranges on datetime fields
    without: tuple[tuple[str, str], ...] = ()  # (field, value) pairs that must not match, as in `matches`


@dataclass(frozen=True, slots=True)
class CollectionSpec:
    """A collection that should exist."""

    name: str
    dimension: int  # the length of its vectors. The distance is always cosine
    keyword_fields: tuple[str, ...] = ()  # payload fields for exact filters
    datetime_fields: tuple[str, ...] = ()  # payload fields for range filters
    about: Payload = field(default_factory=dict)  # JSON data that is stored with the collection at its creation
    variant: str = ""  # A short digest of everything that the points depend on; each variant has its own collection
    refuses: Callable[[Payload], str | None] = lambda _about: None  # Returns why `about` is unusable


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The rebuild of a collection. Searches use the present content until the rebuild is finished."""

    ids: frozenset[str]  # the points that an interrupted rebuild has already written
    upsert: Callable[[Sequence[Point]], Awaitable[None]]  # writes points to the rebuilt collection
    # Replaces the content by exactly these points, and possibly points that callers wrote in the meantime.
    finish: Callable[[Collection[str]], Awaitable[None]]


class VectorStore(Protocol):
    """A store of points. The same contract tests run for every implementation.

    Adapters never raise vendor exceptions. All methods raise `StorageUnavailableError` if the engine fails,
    `MissingCollectionError` for a collection that was never ensured, and `WrongDimensionError` for a vector of another
    length.
    """

    async def ensure(self, spec: CollectionSpec) -> str | None:
        """Create the collection and its payload indexes unless they exist. Idempotent.

        A collection that is damaged, has another dimension, or is refused by `spec` is replaced by an empty one, and is
        kept until `tidy`. Returns the reason why it was unusable; None if it was usable or did not exist.
        """

    async def tidy(self, belonging: Callable[[str], AbstractSet[str]]) -> None:
        """Remove the remaining data of earlier variants of the collections, which are now complete.

        Args:
            belonging: Returns the ids that belong in a collection. A variant shared with others may keep these ids.
        """

    async def rebuild(self, spec: CollectionSpec, *, resume: bool) -> Rebuild:
        """Start to rebuild an ensured collection. With `resume`, keep the points of an interrupted rebuild."""

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        """Insert any number of points, replacing those with the same id."""

    async def retrieve(self, collection: str, ids: Sequence[str], *, with_vectors: bool = False) -> list[Record]:
        """Return the existing points among `ids`, in the order of `ids`."""

    async def scroll(
        self, collection: str, *, with_vectors: bool = False, fields: Sequence[str] = (), most: int | None = None
    ) -> list[Record]:
        """Return all points, or the first `most`, ordered by id. Payloads contain only the given `fields`."""

    async def count(self, collection: str, where: Filter | None = None) -> int:
        """Return the exact number of points, optionally only of matching ones."""

    async def is_intact(self, collection: str) -> bool:
        """Whether there are as many points as this store has seen and written. Raises an error if there are none."""

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the points; missing ids are ignored."""

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

        The score for a vector is the cosine similarity. The score for terms is the BM25 score, a sum over shared terms:
        weight in the query * weight in the point * ln(1 + (N - n + 0.5) / (n + 0.5)). N is the number of all points
        with terms, n the number of all points with this term. Only points that share a term are found.

        Args:
            where: Conditions on the points.
            ids: The points to compare, exhaustively, because the graph may miss a point; None for all points.
        """

    async def flush(self) -> None:
        """Make all writes survive a power loss. May take hundreds of milliseconds."""

    async def close(self) -> None:
        """Flush and release the engine. Idempotent."""
