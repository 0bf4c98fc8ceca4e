"""Points in the plane, the ids of those that are found, and everything that a store is asked for."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final
from uuid import UUID

from learning_memory_server.index.engines.base import Filter, Hit, Point, Record, SparseVector, VectorStore

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
EAST = [1.0, 0.0, 0.0, 0.0]
NORTH = [0.0, 1.0, 0.0, 0.0]
WORD: Final = SparseVector([7], [1.0])


def uid(number: int) -> str:
    return str(UUID(int=number))


def point(number: int, vector: list[float] | None = None, **payload: Any) -> Point:
    return Point(uid(number), vector or EAST, payload)


def worded(number: int, vector: list[float] | None = None, **payload: Any) -> Point:
    return Point(uid(number), vector or EAST, payload, WORD)


def numbers(found: list[Hit] | list[Record]) -> list[int]:
    return [UUID(each.id).int for each in found]


async def ids_where(store: VectorStore, where: Filter) -> list[int]:
    hits = await store.search("notes", EAST, limit=50, where=where)
    assert await store.count("notes", where) == len(hits)
    return sorted(numbers(hits))


OPERATIONS: Final[dict[str, Callable[[VectorStore], Awaitable[Any]]]] = {
    "upsert": lambda store: store.upsert("notes", [point(1)]),
    "retrieve": lambda store: store.retrieve("notes", [uid(1)]),
    "scroll": lambda store: store.scroll("notes"),
    "count": lambda store: store.count("notes"),
    "delete": lambda store: store.delete("notes", [uid(1)]),
    "search": lambda store: store.search("notes", EAST, limit=1),
    "search_terms": lambda store: store.search("notes", WORD, limit=1),
    "search_no_terms": lambda store: store.search("notes", SparseVector([], []), limit=1),
}
