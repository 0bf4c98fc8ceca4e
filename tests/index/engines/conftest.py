"""The stores that the contract is tested with. All are real, but for the double of a server."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from learning_memory_server.index.engines.base import CollectionSpec, Point, SparseVector, VectorStore
from learning_memory_server.index.engines.edge import EdgeStore
from learning_memory_server.index.engines.qdrant import QdrantStore
from tests.index.engines.double import QdrantDouble, opened, serving, store_of
from tests.index.engines.points import EAST, uid

SERVER_URL = os.environ.get("LMS_TEST_QDRANT_URL")
# A double asks for no key.
SERVER_KEY = os.environ.get("LMS_TEST_QDRANT_API_KEY")
STORES = ["edge", "qdrant-double", *(["qdrant-server"] if SERVER_URL else [])]


@pytest.fixture
def spec() -> CollectionSpec:
    return CollectionSpec(
        "notes",
        4,
        keyword_fields=("project", "tags"),
        datetime_fields=("created_at", "seen_at"),
        # On a real server, every test has collections of its own.
        variant=uuid4().hex[:12],
    )


@pytest.fixture
async def ann(double: QdrantDouble, tmp_path: Path, spec: CollectionSpec) -> AsyncIterator[QdrantStore]:
    """Somebody's store on the double, with the collection of `spec`."""
    async with opened(store_of(double.url, tmp_path / "ann" / "owner.json"), spec) as store:
        yield store


async def remove_collections(url: str, variant: str) -> None:
    from qdrant_client import AsyncQdrantClient

    client = AsyncQdrantClient(url=url, api_key=SERVER_KEY, check_compatibility=False)
    for collection in (await client.get_collections()).collections:
        if f"-{variant}-" in collection.name:
            await client.delete_collection(collection.name)
    await client.close()


@pytest.fixture(params=STORES)
async def server(request: pytest.FixtureRequest, spec: CollectionSpec) -> AsyncIterator[str | None]:
    """The URL of a Qdrant server, None for the embedded engine."""
    if request.param == "qdrant-double":
        with serving() as running:
            yield running.url
    elif request.param == "qdrant-server":
        assert SERVER_URL
        yield SERVER_URL
        await remove_collections(SERVER_URL, spec.variant)
    else:
        yield None


@pytest.fixture
async def bare_store(server: str | None, tmp_path: Path) -> AsyncIterator[VectorStore]:
    """A store without a collection."""
    store: VectorStore = EdgeStore(tmp_path / "index")
    if server:
        store = store_of(server, tmp_path / "owner.json", SERVER_KEY)
    async with opened(store):
        yield store


@pytest.fixture
async def store(bare_store: VectorStore, spec: CollectionSpec, server: str | None, tmp_path: Path) -> VectorStore:
    """A store with the collection of `spec`. On a server somebody else has points in it, under the same ids."""
    await bare_store.ensure(spec)
    if server:
        others = [Point(uid(n), EAST, {"project": "a"}, SparseVector([7], [3.0])) for n in range(20)]
        async with opened(store_of(server, tmp_path / "neighbour.json", SERVER_KEY), spec) as neighbour:
            await neighbour.upsert("notes", others)
    return bare_store
