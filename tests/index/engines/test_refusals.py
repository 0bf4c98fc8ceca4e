"""What a Qdrant server refuses, and to whom a key is sent: each refusal has its own words."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.errors import ForbiddenCollectionError, InvalidSettingsError, StorageUnavailableError
from learning_memory_server.index.engines.base import CollectionSpec
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.engines.qdrant import QdrantStore
from tests.index.engines.double import QdrantDouble, opened
from tests.index.engines.double_engine import recorded
from tests.index.engines.points import EAST, worded as point


@pytest.mark.parametrize(
    ("situation", "operation", "message"),
    [
        ("no key: upsert", "upsert", "requires an API key"),
        ("wrong key: upsert", "upsert", "refused the API key"),
        ("token expired: upsert", "upsert", "has expired"),
        ("read-only key: upsert", "upsert", "may not write"),
        ("token for another collection: upsert", "upsert", "may not use collection `notes-"),
        ("read-only key: create", "ensure", "may not create collections"),
        ("token for this collection: create", "ensure", "may not create collections"),
        ("strict mode: write rate", "upsert", "come back in 60 seconds"),
        ("cluster: one of three nodes dead, write consistency 2, try 1", "upsert", "Too few nodes"),
        ("cluster: two of three nodes dead, query", "search", "Too few nodes"),
        ("cluster: no quorum, create collection", "ensure", "Too few nodes"),
        ("disk full: upsert", "upsert", "disk is full"),
        ("count with a filter on a field without an index", "search", "still being created"),
    ],
)
async def test_each_refusal_has_its_words(
    ann: QdrantStore, spec: CollectionSpec, double: QdrantDouble, situation: str, operation: str, message: str
) -> None:
    double.refuse(recorded(situation), only=lambda each: each.method == "PUT" or each.path.endswith("/query"))
    operations: dict[str, Callable[[], Awaitable[object]]] = {
        "ensure": lambda: ann.ensure(replace(spec, variant="abcdef012345")),
        "upsert": lambda: ann.upsert("notes", [point(1)]),
        "search": lambda: ann.search("notes", EAST, limit=1),
    }
    with pytest.raises(StorageUnavailableError, match=re.escape(message)) as caught:
        await operations[operation]()
    if isinstance(caught.value, ForbiddenCollectionError) and operation == "ensure":
        assert caught.value.name == "notes-abcdef012345-1"


async def test_a_server_that_says_when_to_come_back_is_not_asked_before(ann: QdrantStore, double: QdrantDouble) -> None:
    double.refuse(recorded("strict mode: write rate"), only=lambda each: each.method == "PUT")
    for _ in range(3):
        with pytest.raises(StorageUnavailableError, match="60 seconds"):
            await ann.upsert("notes", [point(1)])
    assert len([each for each in double.asked if each.path.endswith("/points")]) == 1
    assert await ann.count("notes") == 0


@pytest.mark.parametrize("host", ["qdrant.example.org", "10.0.0.7", "[2001:db8::1]", "128.0.0.1"])
def test_a_key_is_not_sent_to_another_machine_in_plain_text(tmp_path: Path, host: str) -> None:
    owner = open_owner(tmp_path / "owner.json")
    with pytest.raises(InvalidSettingsError, match="in plain text") as caught:
        QdrantStore([f"http://{host}:6333"], owner, api_key="sk-very-secret")
    assert "qdrant_allow_plaintext_key" in str(caught.value.hint)
    assert "sk-very-secret" not in caught.value.sentence


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.0.1", "[::1]"])
async def test_a_key_is_sent_to_this_machine_in_plain_text(tmp_path: Path, host: str) -> None:
    owner = open_owner(tmp_path / "owner.json")
    await QdrantStore([f"http://{host}:6333"], owner, api_key="k").close()
    await QdrantStore(["http://10.0.0.7"], owner, api_key="k", allow_plaintext_key=True).close()


async def test_another_node_answers_for_one_that_is_dead(
    double: QdrantDouble, spec: CollectionSpec, tmp_path: Path
) -> None:
    nodes = QdrantStore(["http://127.0.0.1:1", double.url], open_owner(tmp_path / "owner.json"))
    async with opened(nodes, spec) as store:
        await store.upsert("notes", [point(1)])
        assert await store.count("notes") == 1
        double.fault = lambda _request: recorded("disk full: upsert")
        with pytest.raises(StorageUnavailableError, match="disk is full"):
            await store.upsert("notes", [point(2)])


async def test_when_no_node_answers_the_error_names_them_all(tmp_path: Path, spec: CollectionSpec) -> None:
    nodes = QdrantStore(["http://127.0.0.1:1", "http://127.0.0.1:2"], open_owner(tmp_path / "owner.json"))
    with pytest.raises(StorageUnavailableError, match=r"127.0.0.1:1, 127.0.0.1:2 cannot be reached"):
        async with opened(nodes, spec):
            pass
