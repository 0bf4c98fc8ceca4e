"""What a Qdrant server may answer, over real HTTP on the loopback interface."""

import asyncio
import math
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from qdrant_client import models

from learning_memory_server.errors import (
    InvalidSettingsError,
    MissingCollectionError,
    NoAnswerError,
    StorageUnavailableError,
)
from learning_memory_server.index.engines.base import CollectionSpec, Filter, SparseVector
from learning_memory_server.index.engines.owner import Owner, open_owner
from learning_memory_server.index.engines.qdrant import QdrantStore
from learning_memory_server.index.engines.qdrant_server import Ask
from learning_memory_server.system import timeouts
from tests.index.engines import points
from tests.index.engines.double import QdrantDouble, Wrong, answering, opened
from tests.index.engines.double_engine import recorded
from tests.index.engines.faults import FAULTS, answers, never_answers
from tests.index.engines.points import EAST, point, uid
from tests.index.engines.stub import Stub, collection_info, refusal, stub_serving, success
from tests.support import MINUTES

SPEC = CollectionSpec(
    "notes", 4, keyword_fields=("project", "tags"), datetime_fields=("seen_at", "created_at"), variant="m1"
)
KEY = "sk-very-secret"
KEYWORD = models.PayloadSchemaType.KEYWORD

ASKING = {name: operation for name, operation in points.OPERATIONS.items() if name != "search_no_terms"}
"""The operations that send a request: there is nothing to ask for without terms."""
OPERATIONS: dict[str, Callable[[QdrantStore], Awaitable[Any]]] = {"ensure": lambda store: store.ensure(SPEC), **ASKING}


@pytest.fixture
def server() -> Iterator[Stub]:
    with stub_serving() as stub:
        yield stub


class FreshServer:
    """Answers like a Qdrant server without collections, until one is created."""

    def __init__(self) -> None:
        self.created = False

    def __call__(self, method: str, path: str) -> tuple[int, bytes]:
        if path.endswith("/index"):
            return 200, success({"operation_id": 1, "status": "completed"})
        if method in {"PUT", "POST"}:
            self.created = True
            return 200, success(result=True)
        if self.created:
            return 200, success(collection_info())
        return 404, refusal("Not found: Collection `notes-m1-1` doesn't exist!")


@pytest.fixture
def owner(tmp_path: Path) -> Owner:
    return open_owner(tmp_path / "owner.json")


@pytest.fixture
async def store(server: Stub, owner: Owner) -> AsyncIterator[QdrantStore]:
    """A store with the collection of `SPEC`, on a server that has done nothing else yet."""
    server.answer = FreshServer()
    async with opened(QdrantStore([server.url], owner, api_key=KEY, timeout=30), SPEC) as made:
        server.asked.clear()
        server.answer = lambda method, _path: (200, success(collection_info() if method == "GET" else {"points": []}))
        yield made


async def failure(store: QdrantStore, operation: str) -> StorageUnavailableError:
    """Return the error of the operation, after checking that it shows nothing it must not show."""
    with pytest.raises(StorageUnavailableError) as caught:
        await OPERATIONS[operation](store)
    for secret in (KEY, "http://", "/qdrant/storage", "panicked"):
        assert secret not in f"{caught.value.message} {caught.value.hint}"
    return caught.value


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_no_vendor_error_escapes(server: Stub, store: QdrantStore, fault: str, operation: str) -> None:
    prepare, expected, message = FAULTS[fault]
    prepare(server)
    error = await failure(store, operation)
    assert type(error) is expected
    assert message in error.message
    assert set(server.keys) == {KEY}


@pytest.mark.parametrize("operation", ASKING)
async def test_the_servers_reason_says_that_a_collection_is_missing(
    server: Stub, store: QdrantStore, operation: str
) -> None:
    answers(404, refusal("Not found: Collection `notes-m1-1` doesn't exist!"))(server)
    error = await failure(store, operation)
    assert type(error) is MissingCollectionError
    assert error.message == "Collection `notes` does not exist."


ANSWERED: dict[str, Ask[object]] = {
    "version": lambda client: client.info(),
    "collection info": lambda client: client.get_collection("notes"),
    "cluster: collection info": lambda client: client.get_collection("notes"),
    "cluster: status": lambda client: client.cluster_status(),
    "read-only key: list": lambda client: client.get_collections(),
    "disk full: create collection": lambda client: client.create_collection("notes"),
    "index creation done": lambda client: client.create_payload_index("notes", "owner", KEYWORD),
    "full key: change of no aliases": lambda client: client.update_collection_aliases([]),
    "upsert done": lambda client: client.upsert("notes", []),
    "delete": lambda client: client.delete("notes", [1]),
    "count": lambda client: client.count("notes"),
    "disk full: query": lambda client: client.query_points("notes"),
}


@pytest.mark.parametrize("situation", ANSWERED)
async def test_what_real_servers_answered_is_understood(server: Stub, store: QdrantStore, situation: str) -> None:
    answers(200, recorded(situation).body)(server)
    assert await store.server.read(ANSWERED[situation])


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_server_that_never_answers_times_out(
    server: Stub, store: QdrantStore, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    never_answers(server)
    monkeypatch.setattr(store.server, "_timeout", 0.05)
    error = await failure(store, operation)
    assert error.message == f"Qdrant at 127.0.0.1:{server.server_port} cannot be reached: it does not answer in time."


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_refused_connection_is_a_clear_error(server: Stub, store: QdrantStore, operation: str) -> None:
    port = server.server_port
    server.shutdown()
    server.server_close()
    error = await failure(store, operation)
    assert error.message == f"Qdrant at 127.0.0.1:{port} cannot be reached: nothing listens at that port."


async def test_a_new_collection_is_made_with_its_indexes_before_any_point(server: Stub, owner: Owner) -> None:
    server.answer = FreshServer()
    async with opened(QdrantStore([server.url], owner), SPEC):
        pass
    writes = [(path, body) for method, path, body in server.asked if method != "GET"]
    path, created = writes[0]
    assert path == "/collections/notes-m1-1"
    assert created["vectors"] == {"dense": {"size": 4, "distance": "Cosine", "on_disk": True}}
    assert created["sparse_vectors"] == {"bm25": {}}
    assert created["hnsw_config"] == {"m": 0, "payload_m": 16}
    assert created["quantization_config"] == {"scalar": {"type": "int8", "always_ram": True}}
    assert created["strict_mode_config"]["enabled"] is True
    # The stub says that `tags` is already indexed.
    fields = {body["field_name"]: body["field_schema"] for path, body in writes[1:] if path.endswith("/index")}
    assert fields == {
        "owner": {"type": "keyword", "is_tenant": True},
        "rebuild": {"type": "keyword", "enable_hnsw": False},
        "project": {"type": "keyword", "enable_hnsw": False},
        "seen_at": {"type": "datetime", "is_principal": True, "enable_hnsw": False},
        "created_at": {"type": "datetime", "enable_hnsw": False},
    }
    assert next(iter(fields)) == "owner"
    assert len(writes) == 1 + len(fields)


async def test_a_search_among_given_points_is_exact_and_terms_have_their_own_vector(
    server: Stub, store: QdrantStore, owner: Owner
) -> None:
    where = Filter((("project", "a"),))
    await store.search("notes", EAST, limit=1, ids=[uid(1)])
    await store.search("notes", SparseVector([7, 9], [1.0, 1.0]), limit=1, where=where, ids=[uid(1)])

    mine, named = {"key": "owner", "match": {"value": owner.name}}, {"has_id": [owner.outside(uid(1))]}
    near, worded = [body for _method, path, body in server.asked if path.endswith("/query")]
    assert (near["using"], near["params"], near["filter"]) == ("dense", {"exact": True}, {"must": [mine, named]})
    assert worded["using"] == "bm25"
    # Nobody has them, so both are as rare as can be.
    rarity = math.log(1 + 0.5 / 0.5)
    assert worded["query"] == {"nearest": {"indices": [7, 9], "values": [rarity, rarity]}}
    assert worded["filter"] == {"must": [mine, {"key": "project", "match": {"value": "a"}}, named]}


async def test_the_server_excludes_what_a_filter_is_without(server: Stub, store: QdrantStore, owner: Owner) -> None:
    await store.search("notes", EAST, limit=1, where=Filter(without=(("project", "a"), ("project", "b"))))

    (body,) = [body for method, _path, body in server.asked if method == "POST"]
    assert body["filter"] == {
        "must": [{"key": "owner", "match": {"value": owner.name}}],
        "must_not": [{"key": "project", "match": {"value": name}} for name in ("a", "b")],
    }


async def test_writes_wait_until_they_are_applied(server: Stub, store: QdrantStore) -> None:
    server.answer = lambda _method, _path: (200, success({"operation_id": 1, "status": "completed"}))
    await store.upsert("notes", [point(1)])
    await store.delete("notes", [uid(1)])
    assert server.paths[-2:] == [
        "/collections/notes-m1-1/points?wait=true",
        "/collections/notes-m1-1/points/delete?wait=true",
    ]


@pytest.mark.parametrize(
    "url",
    ["localhost:6333", "ftp://host", "http://", "http://host:port", "https://me:hunter2@host:6333", "https://[broken"],
)
def test_a_malformed_url_is_refused_without_repeating_it(url: str, owner: Owner) -> None:
    with pytest.raises(InvalidSettingsError) as caught:
        QdrantStore([url], owner)
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("key", ["", "secret\n", "sécret", "two words"])
def test_a_key_that_cannot_be_sent_is_refused_without_repeating_it(key: str, owner: Owner) -> None:
    with pytest.raises(InvalidSettingsError) as caught:
        QdrantStore(["https://localhost"], owner, api_key=key)
    assert "cret" not in caught.value.message


async def test_variants_keep_two_models_apart(double: QdrantDouble, owner: Owner) -> None:
    async with opened(QdrantStore([double.url], owner), SPEC) as store:
        await store.upsert("notes", [point(1)])
        await store.ensure(replace(SPEC, variant="m2"))
        assert await store.count("notes") == 0


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_no_answer_is_asked_for_compressed(double: QdrantDouble, owner: Owner, operation: str) -> None:
    async with opened(QdrantStore([double.url], owner, api_key=KEY), SPEC) as store:
        double.asked.clear()
        await OPERATIONS[operation](store)
    assert double.asked
    assert double.compressed == 0


async def test_no_proxy_of_the_environment_gets_what_is_meant_for_this_machine(
    double: QdrantDouble, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with opened(QdrantStore([double.url], owner, api_key=KEY), SPEC):
        pass


@pytest.mark.slow
async def test_after_a_late_answer_requests_fail_at_once_until_the_server_is_back(
    double: QdrantDouble, owner: Owner, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(QdrantStore([double.url], owner), SPEC) as store:
        double.asked.clear()
        double.refuse(Wrong.HANGS)
        with monkeypatch.context() as patch:
            patch.setattr(store.server, "_timeout", 0.05)
            for _ in range(3):
                with pytest.raises(NoAnswerError, match="does not answer in time"):
                    await store.upsert("notes", [point(1)])
        # Reads have a circuit of their own, and a refusal opens none.
        double.refuse(recorded("wrong key: upsert"))
        for _ in range(2):
            with pytest.raises(StorageUnavailableError, match="refused"):
                await store.count("notes")

        double.heal()
        await answering(store)
        await store.upsert("notes", [point(1)])
        store.server.availability.reads.answered()
        assert await store.count("notes") == 1
    # What the probes wrote is nothing.
    upserts = [each.body for each in double.asked if each.path.endswith("/points") and each.method == "PUT"]
    assert upserts[1:-1]
    assert all(not body["points"] for body in upserts[1:-1])


async def test_a_read_waits_less_than_a_write(
    server: Stub, store: QdrantStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timeouts, "QDRANT_READ", 0.05)
    monkeypatch.setattr(store.server, "_timeout", 2 * MINUTES)
    never_answers(server)
    async with asyncio.timeout(MINUTES):
        with pytest.raises(StorageUnavailableError, match="does not answer in time"):
            await store.count("notes")


LOOKS: Final = """
import asyncio, sys
from pathlib import Path
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.hub import main
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings

async def look():
    _, folder, *url = sys.argv
    settings = Settings(storage_path=Path(folder), embedding_backend="hashing", qdrant_url=next(iter(url), None))
    async with open_services(settings, purpose="a test") as services:
        print("qdrant_client" in sys.modules, file=sys.stderr)
        try:
            await services.writer.complete()
        except LearningMemoryError as error:
            print(type(error).__name__, file=sys.stderr)
        print("qdrant_client" in sys.modules, file=sys.stderr)

asyncio.run(look())
"""


@pytest.mark.parametrize(
    ("url", "seen"), [((), ["False", "False"]), (("http://127.0.0.1:1",), ["False", "NoAnswerError", "True"])]
)
def test_the_vendors_client_is_loaded_only_when_an_index_on_a_server_is_opened(
    tmp_path: Path, url: tuple[str, ...], seen: list[str]
) -> None:
    looked = [sys.executable, "-c", LOOKS, str(tmp_path), *url]
    assert subprocess.run(looked, capture_output=True, text=True, check=True).stderr.split() == seen


@pytest.mark.parametrize("query", [EAST, points.WORD], ids=["vector", "terms"])
@pytest.mark.parametrize("count", [9, 50, 1_000])
async def test_of_points_that_tie_at_the_cut_only_scores_are_read(
    double: QdrantDouble, owner: Owner, query: list[float] | SparseVector, count: int
) -> None:
    async with opened(QdrantStore([double.url], owner), SPEC) as store:
        await store.upsert("notes", [points.worded(number, project="a") for number in range(count)])
        double.asked.clear()
        hits = await store.search("notes", query, limit=1)
        assert points.numbers(hits) == [0]
        asked = [each.body for each in double.asked if each.path.endswith("/query")]
        assert not any(each.get("with_payload") for each in asked)
        limits = [each["limit"] for each in asked]
        assert all(after == 32 * before for before, after in pairwise(limits))
        # Not more often than it takes to have them all.
        assert limits[-2:-1] < [count + 1]
