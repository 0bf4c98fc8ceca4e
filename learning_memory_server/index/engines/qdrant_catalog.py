"""The names of collections on a Qdrant server: kind, digest of everything that the points depend on, number.

People with the same model share a collection, which is never replaced or renamed. If the probe of a collection does not
agree, the next number is tried.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from learning_memory_server.errors import (
    ForbiddenCollectionError,
    MissingCollectionError,
    NoAnswerError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.qdrant_errors import RequestKind
from learning_memory_server.index.engines.qdrant_requests import (
    CHANGING_NO_ALIASES,
    Answer,
    Call,
    Requests,
    Updated,
    writing_nothing,
)
from learning_memory_server.index.engines.vectors import TERMS, VECTOR

if TYPE_CHECKING:
    from learning_memory_server.index.engines.base import CollectionSpec

OWNER: Final = "owner"
REBUILD: Final = "rebuild"  # Payload fields of the adapter: the owner of a point, and the rebuild that wrote it


class _Params(Struct):
    vectors: dict[str, Any]


class _Config(Struct):
    params: _Params
    metadata: dict[str, Any] | None = None


class _Info(Struct):
    """What a server says of a collection."""

    config: _Config
    payload_schema: dict[str, Any]


class _Named(Struct):
    name: str


class _Collections(Struct):
    collections: list[_Named]


class _Cluster(Struct):
    peers: dict[str, Any] = {}


_PEERS: Final = Call(RequestKind.READ, "GET", "", "/cluster", Answer[_Cluster])


def collection_settings(spec: CollectionSpec) -> dict[str, Any]:
    """Return the body of the request that creates a collection, except the metadata.

    Only the points of each owner are linked (`payload_m`). The server does not weigh terms: it would count all owners'
    documents. Vectors are on disk, and their int8 copies in RAM. Decision 23 has figures.
    """
    return {
        "vectors": {VECTOR: {"size": spec.dimension, "distance": "Cosine", "on_disk": True}},
        "sparse_vectors": {TERMS: {}},
        "hnsw_config": {"m": 0, "payload_m": 16},
        "quantization_config": {"scalar": {"type": "int8", "always_ram": True}},
        "strict_mode_config": {
            "enabled": True,
            "unindexed_filtering_retrieve": False,
            "unindexed_filtering_update": False,
        },
    }


def payload_indexes(spec: CollectionSpec) -> dict[str, dict[str, object]]:
    """Return an index for each filterable field of `spec`: first the owner's, without which no owner can read."""
    indexes: dict[str, dict[str, object]] = {OWNER: {"type": "keyword", "is_tenant": True}}
    indexes |= {name: {"type": "keyword", "enable_hnsw": False} for name in (REBUILD, *spec.keyword_fields)}
    indexes |= {name: {"type": "datetime", "enable_hnsw": False} for name in spec.datetime_fields}
    for principal in spec.datetime_fields[:1]:
        indexes[principal]["is_principal"] = True
    return indexes


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

    requests: Requests

    async def ensure(self, spec: CollectionSpec) -> Variant:
        """Return the collection for `spec`; it and its indexes are created where they are missing."""
        name, info = await self.look(spec)
        if info is None:
            info = await self._create(spec, name)
        for field, index in payload_indexes(spec).items():
            if field not in info.payload_schema:
                body = {"field_name": field, "field_schema": index}
                await self.requests.ask(
                    Call(RequestKind.CREATE, "PUT", name, "/index?wait=true", Answer[Updated], body),
                    CHANGING_NO_ALIASES,
                )
        return Variant(spec.name, name, spec.dimension)

    async def all_collections(self, labels: Collection[str]) -> list[Variant]:
        """Return all variants of some collections that the key may see, by name; their dimensions are not known."""
        listed = await self.requests.ask(Call(RequestKind.READ, "GET", "", "/collections", Answer[_Collections]))
        found = (_NAME.fullmatch(each.name) for each in listed.result.collections)
        variants = [Variant(each["label"], each[0], 0) for each in found if each and each["label"] in labels]
        return sorted(variants, key=lambda each: each.name)

    async def nodes(self) -> frozenset[str]:
        """Return the ids of the nodes of a cluster; none for a single server, or if the key may not know them."""
        try:
            return frozenset((await self.requests.ask(_PEERS)).result.peers)
        except NoAnswerError:
            raise
        except StorageUnavailableError:
            return frozenset()

    async def look(self, spec: CollectionSpec) -> tuple[str, _Info | None]:
        """Return the first collection that fits, or the first name that is not taken."""
        for number in count(1):
            name = f"{spec.name}-{spec.variant}-{number}"
            try:
                info = await self._info(name)
            except MissingCollectionError:
                return name, None
            # Another program's collection may have no such vectors.
            vectors = info.config.params.vectors.get(VECTOR) or {}
            if vectors.get("size") == spec.dimension and not spec.refuses(info.config.metadata or {}):
                return name, info
        raise AssertionError

    async def _create(self, spec: CollectionSpec, name: str) -> _Info:
        body = collection_settings(spec) | ({"metadata": dict(spec.about)} if spec.about else {})
        try:
            await self.requests.ask(Call(RequestKind.CREATE, "PUT", name, "", Answer[bool], body), CHANGING_NO_ALIASES)
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

    async def _info(self, name: str) -> _Info:
        try:
            return (await self.requests.ask(Call(RequestKind.READ, "GET", name, "", Answer[_Info]))).result
        except ForbiddenCollectionError as error:
            error.name = name
            raise


@dataclass(frozen=True, slots=True)
class Examined:
    """The findings of an examination."""

    version: str
    is_one_cluster: bool  # whether all addresses are nodes of the same cluster
    unreachable: dict[str, StorageUnavailableError]  # why an address does not answer, by address
    missing: list[str]  # the names of the owner's collections that are not there
    no_writing: StorageUnavailableError | None  # Why nothing could be written to them; None if it could
    no_creating: StorageUnavailableError | None  # why no collection could be created; None if it could


async def examine(requests: Requests, catalog: Catalog, specs: Sequence[CollectionSpec]) -> Examined:
    """Ask a server what it is and what may be done there."""
    version = await requests.version()
    variants = [await catalog.look(spec) for spec in specs]
    peers = await requests.ask_every(_PEERS)
    answers = [each.result.peers.keys() for each in peers.values() if not isinstance(each, StorageUnavailableError)]
    return Examined(
        version=version,
        is_one_cluster=len(peers) == 1 or all(each and each == answers[0] for each in answers),
        unreachable={
            address: each
            for address, each in peers.items()
            # A key for some collections may not ask which nodes there are, and need not.
            if isinstance(each, StorageUnavailableError) and not isinstance(each, ForbiddenCollectionError)
        },
        missing=[name for name, info in variants if info is None],
        no_writing=await _refusal(requests, [writing_nothing(name) for name, info in variants if info]),
        no_creating=await _refusal(requests, [CHANGING_NO_ALIASES]),
    )


async def _refusal(requests: Requests, calls: Iterable[Call[Any]]) -> StorageUnavailableError | None:
    """Make requests that change nothing. Return the first refusal."""
    for call in calls:
        try:
            await requests.ask(call)
        except StorageUnavailableError as error:
            return error
    return None
