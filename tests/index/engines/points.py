"""Points in the plane, and the ids of those that a filter matches."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from learning_memory_server.index.engines.base import Filter, Point, VectorStore

NOON = datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=UTC)
EAST = [1.0, 0.0, 0.0, 0.0]
NORTH = [0.0, 1.0, 0.0, 0.0]


def uid(number: int) -> str:
    return str(UUID(int=number))


def point(number: int, vector: list[float] | None = None, **payload: Any) -> Point:
    return Point(uid(number), vector or EAST, payload)


async def ids_where(store: VectorStore, where: Filter) -> list[int]:
    """Return the matching ids, ascending."""
    hits = await store.search("notes", EAST, limit=50, where=where)
    assert await store.count("notes", where) == len(hits)
    return sorted(UUID(hit.id).int for hit in hits)
