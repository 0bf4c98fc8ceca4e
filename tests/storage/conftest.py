"""The stores that the contract is tested with. All are real."""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest

from learning_memory_server.storage.base import CollectionSpec, VectorStore
from learning_memory_server.storage.edge import EdgeStore
from learning_memory_server.storage.qdrant import MEMORY, QdrantStore

SERVER_URL = os.environ.get("LMS_TEST_QDRANT_URL")
SERVER_KEY = os.environ.get("LMS_TEST_QDRANT_API_KEY")
STORES = ["edge", "qdrant-memory", *(["qdrant-server"] if SERVER_URL else [])]


@pytest.fixture
def spec() -> CollectionSpec:
    return CollectionSpec(
        "notes", 4, keyword_fields=("project", "tags"), datetime_fields=("created_at", "seen_at")
    )


async def remove_collections(url: str, suffix: str) -> None:
    from qdrant_client import AsyncQdrantClient  # noqa: PLC0415 - only where there is a server

    client = AsyncQdrantClient(url=url, api_key=SERVER_KEY)
    for collection in (await client.get_collections()).collections:
        if f"-{suffix}-" in collection.name:
            await client.delete_collection(collection.name)
    await client.close()


@pytest.fixture(params=STORES)
async def bare_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorStore]:
    """A store without a collection."""
    suffix = uuid4().hex
    store: VectorStore
    if request.param == "edge":
        store = EdgeStore(tmp_path / "index")
    elif request.param == "qdrant-memory":
        store = QdrantStore(MEMORY)
    else:
        assert SERVER_URL
        store = QdrantStore(SERVER_URL, api_key=SERVER_KEY, suffix=suffix)
    yield store
    await store.close()
    if request.param == "qdrant-server":
        assert SERVER_URL
        await remove_collections(SERVER_URL, suffix)


@pytest.fixture
async def store(bare_store: VectorStore, spec: CollectionSpec) -> VectorStore:
    """A store with the collection of `spec`."""
    await bare_store.ensure(spec)
    return bare_store
