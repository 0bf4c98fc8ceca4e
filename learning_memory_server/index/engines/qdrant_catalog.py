"""Which collection on a Qdrant server a caller's collection is.

The name says what it has: the kind, a digest of everything that its points depend on, and a number. So people with the
same model share a collection, which is never replaced or renamed. A collection whose probe does not agree,
because a model makes other vectors than its name claims, is left to those who use it, and the next number is tried.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from qdrant_client import models

from learning_memory_server.errors import (
    ForbiddenCollectionError,
    MissingCollectionError,
    NoAnswerError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.qdrant_errors import Kind
from learning_memory_server.index.engines.qdrant_requests import Requests, changing_no_aliases, writing_nothing
from learning_memory_server.index.engines.vectors import TERMS, VECTOR

if TYPE_CHECKING:
    from qdrant_client.async_qdrant_remote import AsyncQdrantRemote

    from learning_memory_server.index.engines.base import CollectionSpec

OWNER: Final = "owner"
REBUILD: Final = "rebuild"
"""The payload fields that only the adapter reads and writes: whose a point is, and which rebuild wrote it."""


def collection_settings(spec: CollectionSpec) -> dict[str, Any]:
    """Return the arguments of the vendor's `create_collection`, except the name and the metadata.

    There is no graph over all owners' points (`m` is 0), because every search is among those of one owner: only the
    points of each owner are linked (`payload_m`). With 20 owners in 60,000 points, recall stayed 1.0, and indexing took
    19 s instead of 25. The server does not weigh terms (no IDF): it would count all owners' documents. Strict
    mode refuses filters on fields without an index.

    Vectors are on disk, and their int8 copies in RAM: else every segment, however empty, is read into 32 MB of page
    cache at a start. For 40,000 points of 20 owners that takes 251 MB instead of 324, with recall .989 in place of
    .988; only the first 200 searches after a restart are slower (p95 10 ms instead of 1.5).
    """
    return {
        "vectors_config": {
            VECTOR: models.VectorParams(size=spec.dimension, distance=models.Distance.COSINE, on_disk=True)
        },
        "sparse_vectors_config": {TERMS: models.SparseVectorParams()},
        "hnsw_config": models.HnswConfigDiff(m=0, payload_m=16),
        "quantization_config": models.ScalarQuantization(
            scalar=models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
        ),
        "strict_mode_config": models.StrictModeConfig(
            enabled=True, unindexed_filtering_retrieve=False, unindexed_filtering_update=False
        ),
    }


def payload_indexes(spec: CollectionSpec) -> dict[str, models.KeywordIndexParams | models.DatetimeIndexParams]:
    """Return an index for each filterable field of `spec`.

    The owner is the tenant and comes first: until its index exists, no owner can read. The first datetime field is the
    principal one. Only the owner's index is used to build graphs.
    """
    times = spec.datetime_fields
    principal = next(iter(times), None)
    indexes: dict[str, models.KeywordIndexParams | models.DatetimeIndexParams] = {
        OWNER: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    }
    indexes |= {
        name: models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, enable_hnsw=False)
        for name in (REBUILD, *spec.keyword_fields)
    }
    indexes |= {
        name: models.DatetimeIndexParams(
            type=models.DatetimeIndexType.DATETIME, is_principal=name == principal or None, enable_hnsw=False
        )
        for name in times
    }
    return indexes


def stored_dimension(info: models.CollectionInfo) -> int | None:
    """Return the length of the collection's vectors, None if another program created it."""
    vectors = info.config.params.vectors
    dense = vectors.get(VECTOR) if isinstance(vectors, dict) else None
    return dense.size if dense else None


_NAME: Final = re.compile(r"(?P<label>[a-z_]+)-[0-9a-f]*-[0-9]{1,4}")


@dataclass(frozen=True, slots=True)
class Place:
    """A collection on the server."""

    label: str  # the name by which callers know it
    name: str  # its name on the server
    dimension: int  # the length of its vectors


@dataclass(frozen=True)
class Catalog:
    """Finds collections, and creates them. It never removes, renames or replaces one."""

    requests: Requests

    async def find(self, spec: CollectionSpec) -> Place | None:
        """Return the collection for `spec` if there is one."""
        name, info = await self._look(spec)
        return Place(spec.name, name, spec.dimension) if info else None

    async def ensure(self, spec: CollectionSpec) -> Place:
        """Return the collection for `spec`; it and its indexes are created where they are missing."""
        name, info = await self._look(spec)
        if info is None:
            info = await self._create(spec, name)
        for field, index in payload_indexes(spec).items():
            if field not in info.payload_schema:
                await self.requests.ask(
                    name,
                    Kind.CREATE,
                    lambda client, field=field, index=index: client.create_payload_index(  # type: ignore[misc]
                        name, field, field_schema=index, wait=True
                    ),
                    probe=changing_no_aliases,
                )
        return Place(spec.name, name, spec.dimension)

    async def others(self, place: Place) -> list[Place]:
        """Return the collections that are other variants of one."""
        return [each for each in await self.all_places([place.label]) if each.name != place.name]

    async def whereabouts(self, spec: CollectionSpec) -> tuple[str, bool]:
        """Return the name of the collection for `spec`, and whether it is there."""
        name, info = await self._look(spec)
        return name, info is not None

    async def all_places(self, labels: Collection[str]) -> list[Place]:
        """Return all variants of some collections, sorted by name; their dimensions are not known."""
        found = map(_NAME.fullmatch, await self.names())
        places = [Place(each["label"], each[0], 0) for each in found if each and each["label"] in labels]
        return sorted(places, key=lambda place: place.name)

    async def names(self) -> list[str]:
        """Return the names of all collections that the key may see."""
        listed = await self.requests.ask("", Kind.READ, lambda client: client.get_collections())
        return [each.name for each in listed.collections]

    async def nodes(self) -> frozenset[str]:
        """Return the ids of the nodes of a cluster; none for a single server, or if the key may not know them."""
        try:
            return await self.requests.ask("", Kind.READ, _peers)
        except NoAnswerError:
            raise
        except StorageUnavailableError:
            return frozenset()

    async def _look(self, spec: CollectionSpec) -> tuple[str, models.CollectionInfo | None]:
        """Return the first collection that fits, or the first name that is not taken."""
        for number in count(1):
            name = f"{spec.name}-{spec.variant}-{number}"
            try:
                info = await self._info(name)
            except MissingCollectionError:
                return name, None
            if stored_dimension(info) == spec.dimension and not spec.refuses(info.config.metadata or {}):
                return name, info
        raise AssertionError

    async def _create(self, spec: CollectionSpec, name: str) -> models.CollectionInfo:
        settings = collection_settings(spec)
        try:
            await self.requests.ask(
                name,
                Kind.CREATE,
                lambda client: client.create_collection(name, **settings, metadata=dict(spec.about) or None),
                probe=changing_no_aliases,
            )
        except ForbiddenCollectionError as error:
            error.name = name
            raise
        except StorageUnavailableError as error:
            # Somebody else may have created it meanwhile, and the answer to an attempt that succeeded may be lost.
            try:
                return await self._info(name)
            except MissingCollectionError:
                raise error from None
        return await self._info(name)

    async def _info(self, name: str) -> models.CollectionInfo:
        try:
            return await self.requests.ask(name, Kind.READ, lambda client: client.get_collection(name))
        except ForbiddenCollectionError as error:
            error.name = name
            raise


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found out."""

    version: str
    is_one_cluster: bool  # whether all addresses are nodes of the same cluster
    unreachable: dict[str, StorageUnavailableError]  # why an address does not answer, by address
    missing: list[str]  # the names of the owner's collections that are not there
    no_writing: StorageUnavailableError | None
    """Why the owner's collections could not be written to; None if they could, or none is there to try."""
    no_creating: StorageUnavailableError | None  # why no collection could be created; None if it could


async def examine(requests: Requests, catalog: Catalog, specs: Sequence[CollectionSpec]) -> Examined:
    """Ask a server what it is and what may be done there."""
    version = await requests.version()
    places = [await catalog.whereabouts(spec) for spec in specs]
    peers = await requests.ask_every(_peers)
    answers = [each for each in peers.values() if not isinstance(each, StorageUnavailableError)]
    return Examined(
        version=version,
        is_one_cluster=len(peers) == 1 or all(each and each == answers[0] for each in answers),
        unreachable={
            address: each
            for address, each in peers.items()
            # A key for some collections may not ask which nodes there are, and need not.
            if isinstance(each, StorageUnavailableError) and not isinstance(each, ForbiddenCollectionError)
        },
        missing=[name for name, is_there in places if not is_there],
        no_writing=await _refusal_of_writing(requests, [name for name, is_there in places if is_there]),
        no_creating=await _refusal_of_creating(requests),
    )


async def _peers(client: AsyncQdrantRemote) -> frozenset[str]:
    status = await client.cluster_status()
    return frozenset(getattr(status, "peers", {}))


async def _refusal_of_writing(requests: Requests, names: Sequence[str]) -> StorageUnavailableError | None:
    """Try to write no points to each collection. Return the first refusal."""
    for name in names:
        try:
            await requests.ask(name, Kind.WRITE, writing_nothing(name))
        except StorageUnavailableError as error:
            return error
    return None


async def _refusal_of_creating(requests: Requests) -> StorageUnavailableError | None:
    """Try to change no aliases."""
    try:
        await requests.ask("", Kind.CREATE, changing_no_aliases)
    except StorageUnavailableError as error:
        return error
    return None
