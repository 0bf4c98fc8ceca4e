"""A Qdrant server or cluster behind the `VectorStore` port, for one owner among many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from copy import copy
from functools import partial
from typing import Any, Final

import structlog
from typing_extensions import override

from learning_memory_server.errors import MissingCollectionError, NoAnswerError, StorageUnavailableError
from learning_memory_server.index.engines.base import (
    CollectionSpec,
    Filter,
    Hit,
    Point,
    Rebuild,
    Record,
    SparseVector,
    Vector,
    VectorStore,
)
from learning_memory_server.index.engines.owner import Owner
from learning_memory_server.index.engines.qdrant_catalog import OWNER, Catalog, Variant
from learning_memory_server.index.engines.qdrant_own import WRITE_BATCH, OwnPoints, OwnTerms, unreserved
from learning_memory_server.index.engines.qdrant_requests import Availability, Requests
from learning_memory_server.index.engines.vectors import (
    REBUILD,
    TERMS,
    VECTOR,
    best_hits,
    checked_matrix,
    checked_terms,
)
from learning_memory_server.system import timeouts

_THROUGH_GRAPH: Final = {"quantization": {"rescore": True, "oversampling": 2.0}}
_EXACT: Final = {"exact": True}
_MORE: Final = 32  # The factor of `best_hits` for ties: each request is a round trip

log = structlog.get_logger()


class QdrantStore(VectorStore):
    """A `VectorStore` on a shared Qdrant server; see `Requests`. `before_use` is called before the first write."""

    def __init__(
        self,
        urls: Sequence[str],
        owner: Owner,
        *,
        api_key: str | None = None,
        timeout: float = timeouts.QDRANT,
        allow_plaintext_key: bool = False,
        availability: Availability | None = None,
        before_use: Callable[[], None] = lambda: None,
    ) -> None:
        self.requests = Requests(
            urls, api_key, timeout, allow_plaintext_key=allow_plaintext_key, availability=availability
        )
        self.catalog = Catalog(self.requests)
        self._owner = owner
        self._before_use = before_use
        self._points = OwnPoints(self.requests, owner)
        self._targets: dict[str, Variant] = {}
        self._terms: dict[str, OwnTerms] = {}
        self._read: set[str] = set()
        self._reading: dict[str, asyncio.Lock] = {}
        self._former: dict[str, dict[Variant, set[str]]] = {}
        self._written: dict[str, set[str]] = {}

    @override
    def with_limit(self, seconds: float | None) -> QdrantStore:
        if seconds is None:
            return self
        view = copy(self)
        view.requests = self.requests.with_limit(seconds)
        view.catalog = Catalog(view.requests)
        view._points = OwnPoints(view.requests, self._owner)  # noqa: SLF001 - its own
        return view

    async def ensure(self, spec: CollectionSpec) -> None:
        """Find or create the collection; see the port. One that does not fit is left to others."""
        if OWNER in (*spec.keyword_fields, *spec.datetime_fields):
            raise StorageUnavailableError(f"No field may be called `{OWNER}`.")
        if self._targets:
            target = await self.catalog.ensure(spec)
        else:
            # Run concurrently; awaited so that the connection is released.
            noting = self.requests.note_version()
            found, _ = await asyncio.gather(self.catalog.ensure(spec), noting, return_exceptions=True)
            if isinstance(found, BaseException):
                raise found
            target = found
            self._before_use()
        self._use(target)

    async def find(self, spec: CollectionSpec) -> None:
        """Use the collection if there is one, without creating anything."""
        name, info = await self.catalog.look(spec)
        if info:
            self._use(Variant(spec.name, name, spec.dimension))

    async def rebuild(self, spec: CollectionSpec, *, resume: bool) -> Rebuild:
        """Rewrite the points in place, under a number with which this can be resumed; see the port."""
        target = self._target(spec.name)
        number = self._owner.rebuild_of(target.name) if resume else None
        ids = [each.id async for each in self._points.read(target, rebuild=number)] if number else ()
        written = self._written[spec.name] = set[str]()

        async def finish(wanted: Collection[str]) -> None:
            there = await self._read_all(target)
            await self.delete(spec.name, sorted(set(there).difference(wanted, written)))
            del self._written[spec.name]
            self._owner.end_rebuild(target.name)

        rebuild = number or self._owner.begin_rebuild(target.name)
        return Rebuild(frozenset(ids), partial(self._write, spec.name, rebuild=rebuild), finish)

    @override
    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        if collection in self._written:
            self._written[collection].update(point.id for point in points)
        await self._write(collection, points)

    async def _write(self, collection: str, points: Sequence[Point], rebuild: str | None = None) -> None:
        """Insert or replace the points, under the number of a rebuild if one writes them."""
        target = self._target(collection)
        matrix = checked_matrix(collection, [point.vector for point in points], target.dimension)
        terms = [checked_terms(collection, point.terms, SparseVector) for point in points]
        for point in points:
            unreserved(point.payload)
        for start in range(0, len(points), WRITE_BATCH):
            batch = slice(start, start + WRITE_BATCH)
            await self._points.upsert(target, points[batch], matrix[batch].tolist(), terms[batch], rebuild)
            if (known := self._terms.get(collection)) is not None:
                for point, sparse in zip(points[batch], terms[batch], strict=True):
                    known.put(point.id, sparse.indices if sparse else ())
            await asyncio.sleep(0)

    @override
    async def retrieve(self, collection: str, ids: Sequence[str], *, with_vectors: bool = False) -> list[Record]:
        vectors = VECTOR if with_vectors else ""
        read = self._points.read(self._target(collection), ids=ids, vectors=vectors, fields=True)
        found = {each.id: each.record async for each in read}
        return [found[point_id] for point_id in ids if point_id in found]

    @override
    async def scroll(
        self, collection: str, *, with_vectors: bool = False, fields: Sequence[str] = (), most: int | None = None
    ) -> list[Record]:
        target = self._target(collection)
        if with_vectors:
            found: list[Record] = []
            async for each in self._points.read(target, vectors=VECTOR, fields=fields):
                if len(found) == most:
                    break
                found.append(each.record)
            return sorted(found, key=lambda each: each.id)
        read = await self._read_all(target, fields)
        return [Record(point_id, read[point_id]) for point_id in sorted(read)[:most]]

    @override
    async def count(self, collection: str, where: Filter | None = None) -> int:
        return await self._points.count(self._target(collection), where)

    async def size(self, collection: str) -> int:
        """Return the number of points that were there when they were last read, and what was changed since."""
        return len(await self._known(self._target(collection)))

    async def remove_given_up(self) -> None:
        """Do nothing: others may use what this store does not."""

    async def former_ids(self, collection: str) -> set[str]:
        """Return the ids of the owner's points in other variants of the collection; see the port."""
        target = self._target(collection)
        former: dict[Variant, set[str]] = {}
        for other in await self.catalog.all_collections([collection]):
            if other.name == target.name:
                continue
            try:
                former[other] = {each.id async for each in self._points.read(other)}
            except StorageUnavailableError as error:
                # Another owner may be creating it, or the key may not see it.
                log.info("collection.not_read", reason=error.message)
        self._former[collection] = former
        return set().union(*former.values())

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the points, from other variants of the collection too; see the port."""
        target = self._target(collection)
        for other, there in self._former.get(collection, {}).items():
            if deleted := there.intersection(ids):
                await self._points.delete(other, sorted(deleted))
                there.difference_update(deleted)
        await self._points.delete(target, ids)
        if (known := self._terms.get(collection)) is not None:
            known.discard(ids)

    async def leave(self, collections: Collection[str]) -> int:
        """Remove the owner's points from every variant of the collections. Return their number, or raise at the end."""
        removed, refused = 0, dict[str, StorageUnavailableError]()
        for target in await self.catalog.all_collections(collections):
            try:
                ids = sorted([each.id async for each in self._points.read(target)])
                await self._points.delete(target, ids)
            except NoAnswerError:
                raise
            except StorageUnavailableError as error:
                refused[target.name] = error
            else:
                removed += len(ids)
        if refused:
            names, first = ", ".join(f"`{name}`" for name in refused), next(iter(refused.values()))
            raise StorageUnavailableError(
                f"These collections could not be left: {names}. Points removed from the others: {removed}.",
                hint=first.sentence,
            ) from first
        return removed

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
        target = self._target(collection)
        asked_for: list[float] | SparseVector
        if isinstance(query, SparseVector):
            # Rarity is counted over the owner's points. Before that it is checked.
            if checked_terms(collection, query, SparseVector) is None:
                return []
            asked_for, params = (await self._known(target)).weighted(query), None
        else:
            asked_for = checked_matrix(collection, [query], target.dimension)[0].tolist()
            params = _THROUGH_GRAPH if ids is None else _EXACT

        async def fetch(asked: int) -> list[Hit]:
            return await self._points.query(target, asked_for, asked, where=where, ids=ids, params=params)

        return await best_hits(fetch, query, limit, _MORE)

    async def flush(self) -> None:
        """Do nothing: whether writes survive a power loss is up to the server's settings."""
        self.requests.require_open()

    @override
    async def close(self) -> None:
        await self.requests.close()

    def _use(self, target: Variant) -> None:
        if self._targets.get(target.label) != target:
            # What is known is of another collection.
            self._terms.pop(target.label, None)
            self._read.discard(target.label)
        self._targets[target.label] = target

    def _target(self, collection: str) -> Variant:
        self.requests.require_open()
        if collection not in self._targets:
            raise MissingCollectionError(f"Collection `{collection}` does not exist.", hint=REBUILD)
        return self._targets[collection]

    async def _known(self, target: Variant) -> OwnTerms:
        """Return what is known of the owner's points, after reading them once."""
        if target.label not in self._read:
            await self._read_all(target)
        return self._terms[target.label]

    async def _read_all(self, target: Variant, fields: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
        """Read fields of the owner's points by id, and unknown terms."""
        async with self._reading.setdefault(target.label, asyncio.Lock()):
            # From now on it learns of every write.
            known = self._terms.setdefault(target.label, OwnTerms())
            with known.touching():
                if target.label in self._read:
                    read = [each async for each in self._points.read(target, fields=fields)]
                    unknown = sorted(known.end_touching({each.id for each in read}))
                    new = [each async for each in self._points.read(target, ids=unknown, vectors=TERMS)]
                else:
                    new = read = [each async for each in self._points.read(target, vectors=TERMS, fields=fields)]
                    known.end_touching({each.id for each in read})
                for each in new:
                    known.learn(each.id, each.terms)
            self._read.add(target.label)
            return {each.id: each.payload or {} for each in read}
