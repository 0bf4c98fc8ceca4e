"""The names of collections on a Qdrant server: kind, digest of everything that the points depend on, number.

People with the same model share a collection, which is never replaced or renamed. If the probe of a collection does not
agree, the next number is tried.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from qdrant_client import AsyncQdrantClient, models

from learning_memory_server.errors import (
    DiskFullError,
    ForbiddenCollectionError,
    MissingCollectionError,
    NoAnswerError,
    RefusedError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.qdrant_errors import RequestKind
from learning_memory_server.index.engines.qdrant_server import Ask, Server
from learning_memory_server.index.engines.vectors import TERMS, VECTOR

if TYPE_CHECKING:
    from learning_memory_server.index.engines.base import CollectionSpec

OWNER: Final = "owner"
REBUILD: Final = "rebuild"  # Payload fields of the adapter: the owner of a point, and the rebuild that wrote it


_TRIED: Final = ("1.15.5", "1.18.3", "1.19.0")  # The versions of Qdrant that this program was tried with


async def _change_no_aliases(client: AsyncQdrantClient) -> None:
    """Make a request that takes the right to create collections, and changes nothing."""
    await client.update_collection_aliases([])


def writing_nothing(collection: str) -> Ask[object]:
    """Return a request that writes no points: the server refuses it or is late like a real write."""
    return lambda client: client.upsert(collection, [])


def collection_settings(spec: CollectionSpec) -> dict[str, Any]:
    """Return the arguments of the client's `create_collection`, except the name and the metadata.

    Only the points of each owner are linked (`payload_m`). The server does not weigh terms: it would count all owners'
    documents. Vectors are on disk, and their int8 copies in RAM. Decision 23 has figures.
    """
    int8 = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=True)
    return {
        "vectors_config": {
            VECTOR: models.VectorParams(size=spec.dimension, distance=models.Distance.COSINE, on_disk=True)
        },
        "sparse_vectors_config": {TERMS: models.SparseVectorParams()},
        "hnsw_config": models.HnswConfigDiff(m=0, payload_m=16),
        "quantization_config": models.ScalarQuantization(scalar=int8),
        "strict_mode_config": models.StrictModeConfig(
            enabled=True, unindexed_filtering_retrieve=False, unindexed_filtering_update=False
        ),
    }


def payload_indexes(spec: CollectionSpec) -> dict[str, models.KeywordIndexParams | models.DatetimeIndexParams]:
    """Return an index for each filterable field of `spec`: first the owner's, without which no owner can read."""
    keyword, datetime = models.KeywordIndexType.KEYWORD, models.DatetimeIndexType.DATETIME
    keywords = {
        OWNER: models.KeywordIndexParams(type=keyword, is_tenant=True),
        **{
            name: models.KeywordIndexParams(type=keyword, enable_hnsw=False) for name in (REBUILD, *spec.keyword_fields)
        },
    }
    principal = spec.datetime_fields[:1]
    datetimes = {
        name: models.DatetimeIndexParams(type=datetime, enable_hnsw=False, is_principal=name in principal or None)
        for name in spec.datetime_fields
    }
    return keywords | datetimes


_NAME: Final = re.compile(r"(?P<label>[a-z_]+)-[0-9a-f]*-[0-9]{1,4}")


@dataclass(frozen=True, slots=True)
class Variant:
    """A collection on the server."""

    label: str  # the name by which callers know it
    name: str  # its name on the server
    dimension: int  # the length of its vectors


@dataclass(frozen=True)
class Catalog:
    """Finds collections, and creates them. It never removes, renames or replaces one."""

    server: Server

    async def ensure(self, spec: CollectionSpec) -> Variant:
        """Return the collection for `spec`; it and its indexes are created where they are missing."""
        name, info = await self.look(spec)
        if info is None:
            info = await self._create(spec, name)
        for field, index in payload_indexes(spec).items():
            if field not in info.payload_schema:
                await self._change(
                    partial(
                        AsyncQdrantClient.create_payload_index,
                        collection_name=name,
                        field_name=field,
                        field_schema=index,
                    )
                )
        return Variant(spec.name, name, spec.dimension)

    async def all_collections(self, labels: Collection[str]) -> list[Variant]:
        """Return all variants of some collections that the key may see, by name; their dimensions are not known."""
        listed = await self.server.read(lambda client: client.get_collections())
        found = (_NAME.fullmatch(each.name) for each in listed.collections)
        variants = [Variant(each["label"], each[0], 0) for each in found if each and each["label"] in labels]
        return sorted(variants, key=lambda each: each.name)

    async def nodes(self) -> frozenset[str]:
        """Return the ids of the nodes of a cluster; none for a single server, or if the key may not know them."""
        try:
            return await self.server.read(_peers)
        except NoAnswerError:
            raise
        except StorageUnavailableError:
            return frozenset()

    async def look(self, spec: CollectionSpec) -> tuple[str, models.CollectionInfo | None]:
        """Return the first collection that fits, or the first name that is not taken."""
        for number in count(1):
            name = f"{spec.name}-{spec.variant}-{number}"
            try:
                info = await self._info(name)
            except MissingCollectionError:
                return name, None
            # Another program's collection may have no such vectors.
            vectors = info.config.params.vectors
            ours = vectors.get(VECTOR) if isinstance(vectors, dict) else None
            if ours and ours.size == spec.dimension and not spec.refuses(info.config.metadata or {}):
                return name, info
        raise AssertionError

    async def _create(self, spec: CollectionSpec, name: str) -> models.CollectionInfo:
        settings = collection_settings(spec) | {"metadata": dict(spec.about) or None}
        try:
            await self._change(partial(AsyncQdrantClient.create_collection, collection_name=name, **settings))
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

    async def _change(self, ask: Ask[object]) -> None:
        await self.server.write(ask, _change_no_aliases, kind=RequestKind.CREATE)

    async def _info(self, name: str) -> models.CollectionInfo:
        try:
            return await self.server.read(lambda client: client.get_collection(name), name)
        except ForbiddenCollectionError as error:
            error.name = name
            raise


async def _peers(client: AsyncQdrantClient) -> frozenset[str]:
    return frozenset(getattr(await client.cluster_status(), "peers", ()))  # A single server has none


@dataclass(frozen=True, slots=True)
class Examined:
    """The findings of an examination."""

    version: str  # the server's, and whether this program was tried with it
    is_one_cluster: bool  # whether all addresses are nodes of the same cluster
    unreachable: dict[str, StorageUnavailableError]  # why an address does not answer, by address
    missing: list[str]  # the names of the owner's collections that are not there
    no_writing: StorageUnavailableError | None  # Why nothing could be written to them; None if it could
    no_creating: StorageUnavailableError | None  # why no collection could be created; None if it could


async def examine(server: Server, catalog: Catalog, specs: Sequence[CollectionSpec]) -> Examined:
    """Ask a server what it is and what may be done there."""
    version = await server.version()
    variants = [await catalog.look(spec) for spec in specs]
    peers = await server.read_everywhere(_peers)
    answers = [each for each in peers.values() if not isinstance(each, StorageUnavailableError)]
    # First: a refusal to write would be the answer to both.
    no_creating = await _refusal(server, RequestKind.CREATE, {"": _change_no_aliases})
    no_writing = await _refusal(
        server, RequestKind.WRITE, {name: writing_nothing(name) for name, info in variants if info}
    )
    tried = f"; this was tried with {', '.join(_TRIED[:-1])} and {_TRIED[-1]}"
    return Examined(
        version=version if version in _TRIED else version + tried,
        is_one_cluster=len(peers) == 1 or all(each and each == answers[0] for each in answers),
        unreachable={
            address: each
            for address, each in peers.items()
            # A key for some collections may not ask which nodes there are, and need not.
            if isinstance(each, StorageUnavailableError) and not isinstance(each, ForbiddenCollectionError)
        },
        missing=[name for name, info in variants if info is None],
        no_writing=no_writing,
        no_creating=no_creating,
    )


async def _refusal(
    server: Server, kind: RequestKind, probes: Mapping[str, Ask[object]]
) -> StorageUnavailableError | None:
    """Make requests that change nothing, by collection. Return the first refusal."""
    for collection, probe in probes.items():
        try:
            await server.write(probe, probe, collection, kind)
        except (RefusedError, DiskFullError, NoAnswerError) as error:
            return error
        except StorageUnavailableError:
            continue  # It is wrong to write no points, for those who may write
    return None
