"""A Qdrant server or cluster behind the `VectorStore` port, for one owner among many."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import structlog
from qdrant_client import models
from typing_extensions import override

from learning_memory_server.errors import MissingCollectionError, NoAnswerError, StorageUnavailableError
from learning_memory_server.index.engines.availability import Availability
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
from learning_memory_server.index.engines.qdrant_own import WRITE_BATCH, OwnPoints, unreserved
from learning_memory_server.index.engines.qdrant_server import Server
from learning_memory_server.index.engines.qdrant_terms import OwnTerms
from learning_memory_server.index.engines.vectors import (
    REBUILD,
    TERMS,
    VECTOR,
    best_hits,
    checked_matrix,
    checked_terms,
)
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import loop_time

_THROUGH_GRAPH: Final = models.SearchParams(
    quantization=models.QuantizationSearchParams(rescore=True, oversampling=2.0)
)
_EXACT: Final = models.SearchParams(exact=True)
_MORE: Final = 32  # The factor of `best_hits` for ties: each request is a round trip
_LOOKS: Final = 3

log = structlog.get_logger()


@dataclass
class _Used:
    """A collection in use, and what is known of the owner's points there."""

    target: Variant
    terms: OwnTerms = field(default_factory=OwnTerms)
    is_read: bool = False  # whether the terms of all points were read
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    written: set[str] | None = None  # the ids that callers wrote during a rebuild; None while there is none
    former: dict[Variant, set[str]] | None = None  # ids of points in other variants; None until `tidy`
    given_up: set[str] = field(default_factory=set)  # ids of points whose write was given up; it may arrive later
    again: dict[str, float] = field(default_factory=dict)  # when to remove points once more, for such a write


class QdrantStore(VectorStore):
    """A `VectorStore` on a shared Qdrant server; see `Server`. `before_use` is called before the first write."""

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
        self.server = Server(urls, api_key, timeout, allow_plaintext_key=allow_plaintext_key, availability=availability)
        self.catalog = Catalog(self.server)
        self._owner = owner
        self._before_use = before_use
        self._points = OwnPoints(self.server, owner)
        self._used: dict[str, _Used] = {}

    async def ensure(self, spec: CollectionSpec) -> None:
        """Find or create the collection; see the port. One that does not fit is left to others."""
        if OWNER in (*spec.keyword_fields, *spec.datetime_fields):
            raise StorageUnavailableError(f"No field may be called `{OWNER}`.")
        target = await self.catalog.ensure(spec)
        if not self._used:
            self._before_use()
        self._use(target)

    async def find(self, spec: CollectionSpec) -> None:
        """Use the collection if there is one, without creating anything."""
        name, info = await self.catalog.look(spec)
        if info:
            self._use(Variant(spec.name, name, spec.dimension))

    async def rebuild(self, spec: CollectionSpec, *, resume: bool) -> Rebuild:
        """Rewrite the points in place, under a number with which this can be resumed; see the port."""
        used = self._of(spec.name)
        target = used.target
        number = self._owner.rebuild_of(target.name) if resume else None
        ids = [each.id async for each in self._points.read(target, rebuild=number)] if number else ()
        written = used.written = set[str]()

        async def finish(wanted: Collection[str]) -> None:
            there = await self._read_all(used)
            await self.delete(spec.name, sorted(set(there).difference(wanted, written)))
            used.written = None
            self._owner.end_rebuild(target.name)

        rebuild = number or self._owner.begin_rebuild(target.name)
        return Rebuild(frozenset(ids), partial(self._write, spec.name, rebuild=rebuild), finish)

    @override
    async def upsert(self, collection: str, points: Sequence[Point]) -> None:
        written = self._of(collection).written
        if written is not None:
            written.update(point.id for point in points)
        await self._write(collection, points)

    async def _write(self, collection: str, points: Sequence[Point], rebuild: str | None = None) -> None:
        """Insert or replace the points, under the number of a rebuild if one writes them."""
        used = self._of(collection)
        matrix = checked_matrix(collection, [point.vector for point in points], used.target.dimension)
        terms = [checked_terms(collection, point.terms, SparseVector) for point in points]
        for point in points:
            unreserved(point.payload)
        for start in range(0, len(points), WRITE_BATCH):
            batch = slice(start, start + WRITE_BATCH)
            try:
                await self._points.upsert(used.target, points[batch], matrix[batch].tolist(), terms[batch], rebuild)
            except (NoAnswerError, asyncio.CancelledError):
                used.given_up.update(point.id for point in points[batch])
                raise
            for point, sparse in zip(points[batch], terms[batch], strict=True):
                used.terms.put(point.id, sparse.indices if sparse else ())
            await asyncio.sleep(0)

    @override
    async def retrieve(self, collection: str, ids: Sequence[str], *, with_vectors: bool = False) -> list[Record]:
        vectors = VECTOR if with_vectors else ""
        read = self._points.read(self._of(collection).target, ids=ids, vectors=vectors, fields=True)
        found = {each.id: each.record async for each in read}
        return [found[point_id] for point_id in ids if point_id in found]

    @override
    async def scroll(
        self, collection: str, *, with_vectors: bool = False, fields: Sequence[str] = (), most: int | None = None
    ) -> list[Record]:
        used = self._of(collection)
        if with_vectors:
            found: list[Record] = []
            async for each in self._points.read(used.target, vectors=VECTOR, fields=fields):
                if len(found) == most:
                    break
                found.append(each.record)
            return sorted(found, key=lambda each: each.id)
        read = await self._read_all(used, fields)
        return [Record(point_id, read[point_id]) for point_id in sorted(read)[:most]]

    @override
    async def count(self, collection: str, where: Filter | None = None) -> int:
        return await self._points.count(self._of(collection).target, where)

    async def is_intact(self, collection: str) -> bool:
        """Return whether the count is that of the points that were read, and of what was changed since; see the port.

        Points that were removed are removed again if a write that was given up before may have arrived since.
        """
        used, now = self._of(collection), loop_time()
        if arrived := [point_id for point_id, due in used.again.items() if due <= now]:
            await self._points.delete(used.target, arrived)
            used.again = {point_id: due for point_id, due in used.again.items() if due > now}
        for _ in range(_LOOKS):  # Something may be written between the two counts
            if await self._points.count(used.target) == len(await self._known(used)):
                return True
        return False

    @override
    async def tidy(self, belonging: Callable[[str], AbstractSet[str]]) -> None:
        """Remove the owner's points that belong nowhere from other variants, once for each collection."""
        for used in list(self._used.values()):
            if used.former is not None:
                continue
            used.former = await self._ids_elsewhere(used.target)
            wanted = belonging(used.target.label) if any(used.former.values()) else set[str]()
            try:
                for other, there in used.former.items():
                    await self._points.delete(other, sorted(there - wanted))
                    there.intersection_update(wanted)
            except BaseException:
                used.former = None  # To be tried again
                raise

    async def _ids_elsewhere(self, target: Variant) -> dict[Variant, set[str]]:
        """Return the ids of the owner's points in the other variants of a collection."""
        found: dict[Variant, set[str]] = {}
        for other in await self.catalog.all_collections([target.label]):
            if other.name == target.name:
                continue
            try:
                found[other] = {each.id async for each in self._points.read(other)}
            except NoAnswerError:
                raise
            except StorageUnavailableError as error:
                # Another owner may be creating it, or the key may not see it.
                log.info("collection.not_read", reason=error.message)
        return found

    async def delete(self, collection: str, ids: Sequence[str]) -> None:
        """Remove the points, after `tidy` from other variants of the collection too; see the port."""
        used = self._of(collection)
        for other, there in (used.former or {}).items():
            if deleted := there.intersection(ids):
                await self._points.delete(other, sorted(deleted))
                there.difference_update(deleted)
        await self._points.delete(used.target, ids)
        used.terms.discard(ids)
        if late := used.given_up.intersection(ids):
            used.given_up -= late
            used.again |= dict.fromkeys(late, loop_time() + timeouts.ARRIVAL)

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
        used = self._of(collection)
        asked_for: list[float] | SparseVector
        params: models.SearchParams | None
        if isinstance(query, SparseVector):
            # Rarity is counted over the owner's points. Before that it is checked.
            if checked_terms(collection, query, SparseVector) is None:
                return []
            asked_for, params = (await self._known(used)).weighted(query), None
        else:
            asked_for = checked_matrix(collection, [query], used.target.dimension)[0].tolist()
            params = _THROUGH_GRAPH if ids is None else _EXACT

        async def fetch(asked: int) -> list[Hit]:
            return await self._points.query(used.target, asked_for, asked, where=where, ids=ids, params=params)

        return await best_hits(fetch, query, limit, _MORE)

    async def flush(self) -> None:
        """Do nothing: whether writes survive a power loss is up to the server's settings."""
        self.server.require_open()

    @override
    async def close(self) -> None:
        await self.server.close()

    def _use(self, target: Variant) -> None:
        before = self._used.get(target.label)
        if before is None or before.target != target:
            self._used[target.label] = _Used(target)

    def _of(self, collection: str) -> _Used:
        self.server.require_open()
        if collection not in self._used:
            raise MissingCollectionError(f"Collection `{collection}` does not exist.", hint=REBUILD)
        return self._used[collection]

    async def _known(self, used: _Used) -> OwnTerms:
        """Return what is known of the owner's points, after reading them once."""
        if not used.is_read:
            await self._read_all(used)
        return used.terms

    async def _read_all(self, used: _Used, fields: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
        """Read fields of the owner's points by id, and unknown terms."""
        async with used.reading:
            target, known = used.target, used.terms
            with known.touching():
                there: dict[str, dict[str, Any]] = {}
                async for each in self._points.read(target, vectors="" if used.is_read else TERMS, fields=fields):
                    there[each.id] = each.payload
                    if not used.is_read:
                        known.learn(each.id, each.terms)
                unknown = sorted(known.end_touching(there.keys()))
                async for each in self._points.read(target, ids=unknown, vectors=TERMS):
                    known.learn(each.id, each.terms)
            used.is_read = True
            return there
