"""The embedded engine, for tests that need few of its collections."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from typing_extensions import override

from learning_memory_server.index.engines.base import (
    CollectionSpec,
    Filter,
    Hit,
    Point,
    Rebuild,
    Record,
    SparseVector,
    Vector,
)
from learning_memory_server.index.engines.edge import EdgeStore


class SparingStore(EdgeStore):
    """Makes a collection when it is first written to, and answers for an empty one until then.

    The engine takes 8 ms to make one, and there are six. Tests with this store ask nothing of an empty one that
    `tests/index/engines/test_edge.py` does not compare with the engine itself.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._folder = path
        self._planned: dict[str, CollectionSpec] = {}

    @override
    async def ensure(self, spec: CollectionSpec) -> str | None:
        if any(self._folder.glob(f"*{spec.name}*")):
            return await super().ensure(spec)
        self._planned[spec.name] = spec
        return None

    @override
    async def rebuild(self, spec: CollectionSpec, *, resume: bool) -> Rebuild:
        await self._make(spec.name)
        rebuilt = await super().rebuild(spec, resume=resume)
        await self._make(f"{spec.name}_next")
        return rebuilt

    @override
    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        await self._make(collection)
        await super().upsert(collection, points)

    @override
    async def retrieve(self, collection: str, ids: Sequence[str], *, with_vectors: bool = False) -> list[Record]:
        return [] if collection in self._planned else await super().retrieve(collection, ids, with_vectors=with_vectors)

    @override
    async def scroll(
        self, collection: str, *, with_vectors: bool = False, fields: Sequence[str] = (), most: int | None = None
    ) -> list[Record]:
        if collection in self._planned:
            return []
        return await super().scroll(collection, with_vectors=with_vectors, fields=fields, most=most)

    @override
    async def count(self, collection: str, where: Filter | None = None) -> int:
        return 0 if collection in self._planned else await super().count(collection, where)

    @override
    async def is_intact(self, collection: str) -> bool:
        return collection in self._planned or await super().is_intact(collection)

    @override
    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        if collection not in self._planned:
            await super().delete(collection, ids)

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
        if collection in self._planned:
            return []
        return await super().search(collection, query, limit=limit, where=where, ids=ids)

    async def _make(self, collection: str) -> None:
        if spec := self._planned.pop(collection, None):
            await super().ensure(spec)
