"""What a Qdrant server is, and what a key may do there, found out without changing anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from learning_memory_server.errors import ForbiddenCollectionError, NoAnswerError, StorageUnavailableError
from learning_memory_server.index.engines.qdrant_errors import Kind
from learning_memory_server.index.engines.qdrant_requests import changing_no_aliases, writing_nothing

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

    from learning_memory_server.index.engines.base import CollectionSpec
    from learning_memory_server.index.engines.qdrant_catalog import Catalog
    from learning_memory_server.index.engines.qdrant_requests import Requests


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found out."""

    version: str
    is_one_cluster: bool  # whether all addresses are nodes of the same cluster
    unreachable: dict[str, StorageUnavailableError]  # why an address does not answer, by address
    missing: list[str]  # the names of one's own collections that are not there
    no_writing: StorageUnavailableError | None
    """Why one's own collections could not be written to; None if they could, or none is there to try."""
    no_creating: StorageUnavailableError | None  # why no collection could be created; None if it could
    former: list[str]  # collections that earlier versions of this program made


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
        former=await catalog.former_layout(),
    )


async def nodes_of(requests: Requests) -> frozenset[str]:
    """Return the ids of the nodes of a cluster; none for a single server, or if the key may not know them."""
    try:
        return await requests.ask("", Kind.READ, _peers)
    except NoAnswerError:
        raise
    except StorageUnavailableError:
        return frozenset()


async def _peers(client: AsyncQdrantClient) -> frozenset[str]:
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
