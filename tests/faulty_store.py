"""A store that can be told to fail or to wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence, Set as AbstractSet
from dataclasses import replace
from typing import TYPE_CHECKING

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.engines.base import (
    CollectionSpec,
    Filter,
    Hit,
    Point,
    Rebuild,
    Record,
    SparseVector,
    VectorStore,
)

if TYPE_CHECKING:
    from learning_memory_server.index.engines.base import Vector


class FaultyStore:
    """A real store that records what is written, and that can be told to fail or to wait.

    Args:
        inner: The store that does the work.
    """

    def __init__(self, inner: VectorStore) -> None:
        self.inner = inner
        self.down: LearningMemoryError | None = None
        """Raised by every reading and writing while it is set."""
        self.hangs = False
        """Whether every reading and writing never ends, as with a server that accepts and says nothing."""
        self.failures: list[LearningMemoryError] = []
        """Raised by the next upserts, one each."""
        self.gate = asyncio.Event()
        """Upserts wait for it."""
        self.gate.set()
        self.entered = asyncio.Event()
        """Set when an upsert begins."""
        self.before_upsert: Callable[[], None] = lambda: None
        """Called at the beginning of each upsert."""
        self.attempts: list[float] = []
        """The loop's time of each upsert."""
        self.flushes = 0
        self.closed = False

    def hold(self) -> None:
        """Let the upserts that follow wait, and `entered` be set by the first of them."""
        self.gate.clear()
        self.entered.clear()

    async def ensure(self, spec: CollectionSpec) -> str | None:
        await self._check()
        return await self.inner.ensure(spec)

    async def rebuild(self, spec: CollectionSpec, *, resume: bool) -> Rebuild:
        await self._check()
        inner = await self.inner.rebuild(spec, resume=resume)

        async def upsert(points: Sequence[Point]) -> None:
            await self.before_writing()
            await inner.upsert(points)

        return replace(inner, upsert=upsert)

    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        await self.before_writing()
        await self.inner.upsert(collection, points)

    async def before_writing(self) -> None:
        """Do what has been asked for before points are written."""
        self.attempts.append(asyncio.get_running_loop().time())
        self.entered.set()
        self.before_upsert()
        await self.gate.wait()
        await self._check()
        if self.failures:
            raise self.failures.pop(0)

    async def retrieve(self, collection: str, ids: Sequence[str], *, with_vectors: bool = False) -> list[Record]:
        await self._check()
        return await self.inner.retrieve(collection, ids, with_vectors=with_vectors)

    async def scroll(
        self, collection: str, *, with_vectors: bool = False, fields: Sequence[str] = (), most: int | None = None
    ) -> list[Record]:
        await self._check()
        return await self.inner.scroll(collection, with_vectors=with_vectors, fields=fields, most=most)

    async def count(self, collection: str, where: Filter | None = None) -> int:
        await self._check()
        return await self.inner.count(collection, where)

    async def is_intact(self, collection: str) -> bool:
        await self._check()
        return await self.inner.is_intact(collection)

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        await self._check()
        await self.inner.delete(collection, ids)

    async def search(
        self,
        collection: str,
        query: Vector | SparseVector,
        *,
        limit: int,
        where: Filter | None = None,
        ids: Collection[str] | None = None,
    ) -> list[Hit]:
        await self._check()
        return await self.inner.search(collection, query, limit=limit, where=where, ids=ids)

    async def tidy(self, belonging: Callable[[str], AbstractSet[str]]) -> None:
        await self._check()
        await self.inner.tidy(belonging)

    async def flush(self) -> None:
        await self._check()
        self.flushes += 1
        await self.inner.flush()

    async def close(self) -> None:
        self.closed = True
        await self.inner.close()

    async def _check(self) -> None:
        if self.hangs:
            await asyncio.Event().wait()
        if self.down is not None:
            raise self.down
