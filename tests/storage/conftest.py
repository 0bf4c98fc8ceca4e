"""The stores that the contract is tested with. All are real."""

import os
from collections.abc import AsyncIterator
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import pytest

from learning_memory_server.storage.base import CollectionSpec, VectorStore
from learning_memory_server.storage.edge import EdgeStore
from learning_memory_server.storage.qdrant import MEMORY, QdrantStore
from tests.storage.double import serving

SERVER_URL = os.environ.get("LMS_TEST_QDRANT_URL")
SERVER_KEY = os.environ.get("LMS_TEST_QDRANT_API_KEY")
STORES = ["edge", "qdrant-memory", "qdrant-double", *(["qdrant-server"] if SERVER_URL else [])]


@pytest.fixture
def spec() -> CollectionSpec:
    return CollectionSpec(
        "notes", 4, keyword_fields=("project", "tags"), datetime_fields=("created_at", "seen_at")
    )


async def remove_collections(url: str, suffix: str) -> None:
    from qdrant_client import AsyncQdrantClient  # noqa: PLC0415 - only where there is a server

    client = AsyncQdrantClient(url=url, api_key=SERVER_KEY, check_compatibility=False)
    for collection in (await client.get_collections()).collections:
        if f"-{suffix}-" in collection.name:
            await client.delete_collection(collection.name)
    await client.close()


@pytest.fixture(params=STORES)
async def bare_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[VectorStore]:
    """A store without a collection."""
    suffix, stack = uuid4().hex, ExitStack()
    store: VectorStore
    if request.param == "edge":
        store = EdgeStore(tmp_path / "index")
    elif request.param == "qdrant-memory":
        store = QdrantStore(MEMORY)
    elif request.param == "qdrant-double":
        double = stack.enter_context(serving())
        store = QdrantStore(double.url)
    else:
        assert SERVER_URL
        store = QdrantStore(SERVER_URL, api_key=SERVER_KEY, suffix=suffix)
    with stack:
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
