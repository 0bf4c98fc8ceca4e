"""What a Qdrant server may answer, over real HTTP on the loopback interface."""

import asyncio
import re
import socket
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from learning_memory_server.composition.backends import open_server
from learning_memory_server.embedding.base import EmbeddingIdentity
from learning_memory_server.errors import (
    DiskFullError,
    InvalidSettingsError,
    MissingCollectionError,
    StorageUnavailableError,
    WrongDimensionError,
)
from learning_memory_server.settings import Settings
from learning_memory_server.storage import qdrant
from learning_memory_server.storage.base import CollectionSpec, Filter, Point, SparseVector
from learning_memory_server.storage.qdrant import QdrantStore
from learning_memory_server.storage.qdrant_schema import Spread
from tests.acceptance.hubs import until
from tests.storage.stub import Stub, StubHandler, collection_info, refusal, success

ID = str(UUID(int=1))
EAST = [1.0, 0.0, 0.0, 0.0]
SPEC = CollectionSpec(
    "notes", 4, keyword_fields=("project", "tags"), datetime_fields=("seen_at", "created_at")
)
KEY = "sk-very-secret"

OPERATIONS: dict[str, Callable[[QdrantStore], Awaitable[Any]]] = {
    "ensure": lambda store: store.ensure(SPEC),
    "upsert": lambda store: store.upsert("notes", [Point(ID, EAST, {})]),
    "retrieve": lambda store: store.retrieve("notes", [ID]),
    "scroll": lambda store: store.scroll("notes"),
    "count": lambda store: store.count("notes"),
    "delete": lambda store: store.delete("notes", [ID]),
    "search": lambda store: store.search("notes", EAST, limit=1),
    "search_terms": lambda store: store.search_terms("notes", SparseVector([7], [1.0]), limit=1),
}


@pytest.fixture
def server() -> Iterator[Stub]:
    stub = Stub()
    thread = threading.Thread(target=stub.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield stub
    stub.released.set()
    stub.shutdown()
    thread.join()
    stub.server_close()


def answers(status: int, content: bytes, **headers: str) -> Callable[[Stub], None]:
    def prepare(stub: Stub) -> None:
        stub.headers = {name.replace("_", "-"): value for name, value in headers.items()}
        stub.answer = lambda _method, _path: (status, content)

    return prepare


def hangs_up(stub: Stub) -> None:
    stub.answer = lambda _method, _path: None


def never_answers(stub: Stub) -> None:
    def wait(_method: str, _path: str) -> tuple[int, bytes] | None:
        stub.released.wait()
        return None

    stub.answer = wait


FAULTS: dict[str, tuple[Callable[[Stub], None], type[StorageUnavailableError], str]] = {
    "bad key": (answers(401, b"Must provide an API key"), StorageUnavailableError, "refused the API key"),
    "key that may only read": (
        answers(403, refusal("Forbidden: Global write access is required")),
        StorageUnavailableError,
        "refused the API key",
    ),
    "not a Qdrant": (answers(404, b"<html>Not Found</html>"), StorageUnavailableError, "status 404"),
    "404 of another shape": (answers(404, b'{"status": "no"}'), StorageUnavailableError, "status 404"),
    "wrong dimension": (
        answers(400, refusal("Wrong input: Vector dimension error: expected dim: 4, got 3")),
        WrongDimensionError,
        "4 numbers, not 3",
    ),
    "unindexed filter": (
        answers(400, refusal('Bad request: Index required but not found for "x"')),
        StorageUnavailableError,
        "status 400",
    ),
    "too busy": (
        answers(429, refusal("Rate limit exceeded"), Retry_After="3"),
        StorageUnavailableError,
        "did not do what it was asked",
    ),
    "busy at odds with itself": (
        answers(429, refusal("Rate limit exceeded"), Retry_After="soon"),
        StorageUnavailableError,
        "did not do what it was asked",
    ),
    "internal error": (
        answers(500, refusal("Service internal error: task panicked at /qdrant/storage/x")),
        StorageUnavailableError,
        "status 500",
    ),
    "full disk": (
        answers(
            500, refusal("Service internal error: No space left on device: WAL buffer size exceeds available")
        ),
        DiskFullError,
        "disk is full",
    ),
    "redirect": (answers(302, b"", Location="/login"), StorageUnavailableError, "status 302"),
    "garbage": (answers(200, b"\x00\xff not json"), StorageUnavailableError, "is not a Qdrant server"),
    "nothing": (answers(200, b""), StorageUnavailableError, "is not a Qdrant server"),
    "JSON of another shape": (
        answers(200, b'{"hello": [1]}'),
        StorageUnavailableError,
        "is not a Qdrant server",
    ),
    "a result of another shape": (
        answers(200, success("x")),
        StorageUnavailableError,
        "is not a Qdrant server",
    ),
    "no result": (answers(200, success(None)), StorageUnavailableError, "is not a Qdrant server"),
    "dropped connection": (hangs_up, StorageUnavailableError, "cannot be reached"),
}


async def failure(store: QdrantStore, operation: str) -> StorageUnavailableError:
    """Return the error of the operation, after checking that it shows nothing it must not show."""
    with pytest.raises(StorageUnavailableError) as caught:
        await OPERATIONS[operation](store)
    await store.close()
    for secret in (KEY, "http://", "/qdrant/storage", "panicked"):
        assert secret not in f"{caught.value.message} {caught.value.hint}"
    return caught.value


@pytest.mark.filterwarnings("ignore:Api key is used with an insecure connection")
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("operation", OPERATIONS)
async def test_no_vendor_error_escapes(server: Stub, fault: str, operation: str) -> None:
    prepare, expected, message = FAULTS[fault]
    prepare(server)
    error = await failure(QdrantStore(server.url, api_key=KEY, timeout=5.0), operation)
    assert type(error) is expected
    assert message in error.message
    assert server.keys[0] == KEY


@pytest.mark.parametrize("operation", [name for name in OPERATIONS if name != "ensure"])
async def test_the_servers_reason_says_that_a_collection_is_missing(server: Stub, operation: str) -> None:
    answers(404, refusal("Not found: Collection `notes-abc` doesn't exist!"))(server)
    error = await failure(QdrantStore(server.url, suffix="abc"), operation)
    assert type(error) is MissingCollectionError
    assert error.message == "Collection `notes` does not exist."


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_server_that_never_answers_times_out(server: Stub, operation: str) -> None:
    never_answers(server)
    error = await failure(QdrantStore(server.url, timeout=0.05), operation)
    assert error.message == f"Qdrant at 127.0.0.1:{server.server_port} did not answer in time."


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_refused_connection_is_a_clear_error(operation: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        error = await failure(QdrantStore(f"http://127.0.0.1:{port}"), operation)
    assert error.message == f"Qdrant at 127.0.0.1:{port} cannot be reached."


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
        return 404, refusal("Not found: Collection `notes-m1` doesn't exist!")


async def test_a_new_collection_is_created_with_its_indexes_before_any_point(server: Stub) -> None:
    server.answer = FreshServer()
    store = QdrantStore(server.url, suffix="m1", spread=Spread(replication_factor=2))
    await store.ensure(SPEC)
    await store.close()
    writes = [(path, body) for method, path, body in server.asked if method != "GET"]
    path, created = writes[0]
    behind = path.removeprefix("/collections/")
    assert re.fullmatch("notes-m1-[0-9a-f]{8}", behind)
    assert writes[1] == (
        "/collections/aliases",
        {"actions": [{"create_alias": {"collection_name": behind, "alias_name": "notes-m1"}}]},
    )
    assert created["vectors"] == {"dense": {"size": 4, "distance": "Cosine"}}
    assert created["sparse_vectors"] == {"bm25": {"modifier": "idf"}}
    assert created["hnsw_config"] == {"m": 16, "payload_m": 16}
    assert created["quantization_config"] == {"scalar": {"type": "int8"}}
    assert created["replication_factor"] == 2
    assert created["strict_mode_config"]["enabled"] is True
    # The stub says that `tags` is already indexed.
    assert [(path, body) for path, body in writes[2:]] == [
        (
            "/collections/notes-m1/index",
            {"field_name": "project", "field_schema": {"type": "keyword", "is_tenant": True}},
        ),
        (
            "/collections/notes-m1/index",
            {"field_name": "seen_at", "field_schema": {"type": "datetime", "is_principal": True}},
        ),
        ("/collections/notes-m1/index", {"field_name": "created_at", "field_schema": {"type": "datetime"}}),
    ]


async def test_the_settings_decide_how_a_cluster_distributes_a_new_collection(
    server: Stub, tmp_path: Path
) -> None:
    server.answer = FreshServer()
    settings = Settings(
        storage_path=tmp_path,
        qdrant_shard_number=6,
        qdrant_replication_factor=3,
        qdrant_write_consistency_factor=2,
    )
    store = open_server(settings, EmbeddingIdentity("p", "m", "w", 4, 0), server.url, None)
    await store.ensure(SPEC)
    await store.close()
    created = next(body for method, _, body in server.asked if method == "PUT")
    spread = ("shard_number", "replication_factor", "write_consistency_factor")
    assert [created[name] for name in spread] == [6, 3, 2]


async def test_a_collection_of_another_program_is_refused(server: Stub) -> None:
    foreign = collection_info(vectors={"text": {"size": 4, "distance": "Dot"}})
    answers(200, success(foreign))(server)
    store = QdrantStore(server.url)
    with pytest.raises(StorageUnavailableError, match="another program created it"):
        await store.ensure(SPEC)
    await store.close()


async def test_a_search_among_given_points_is_exact_and_terms_have_their_own_vector(server: Stub) -> None:
    server.answer = lambda method, _path: (
        200,
        success(collection_info() if method == "GET" else {"points": []}),
    )
    store = QdrantStore(server.url)
    where = Filter((("project", "a"),))
    await store.search("notes", EAST, limit=1, ids=[ID])
    await store.search_terms("notes", SparseVector([7, 9], [1.0, 1.0]), limit=1, where=where, ids=[ID])
    await store.close()

    named = {"has_id": [ID]}
    near, worded = [body for method, _path, body in server.asked if method == "POST"]
    assert (near["using"], near["params"], near["filter"]) == ("dense", {"exact": True}, {"must": [named]})
    assert worded["using"] == "bm25"
    assert worded["query"] == {"nearest": {"indices": [7, 9], "values": [1.0, 1.0]}}
    assert worded["filter"] == {"must": [{"key": "project", "match": {"value": "a"}}, named]}


async def test_the_server_excludes_what_a_filter_is_without(server: Stub) -> None:
    server.answer = lambda method, _path: (
        200,
        success(collection_info() if method == "GET" else {"points": []}),
    )
    store = QdrantStore(server.url)
    await store.search("notes", EAST, limit=1, where=Filter(without=(("project", "a"), ("project", "b"))))
    await store.close()

    (body,) = [body for method, _path, body in server.asked if method == "POST"]
    assert body["filter"] == {
        "must_not": [{"key": "project", "match": {"value": name}} for name in ("a", "b")]
    }


async def test_writes_wait_until_they_are_applied(server: Stub) -> None:
    seen: list[str] = []

    class Recorder(StubHandler):
        def do_any(self) -> None:
            seen.append(self.path)
            super().do_any()

        do_GET = do_PUT = do_POST = do_any  # noqa: N815 - the base class's names

    server.RequestHandlerClass = Recorder
    server.answer = lambda method, _path: (
        200,
        success(collection_info() if method == "GET" else {"operation_id": 1, "status": "completed"}),
    )
    store = QdrantStore(server.url)
    await store.upsert("notes", [Point(ID, EAST, {})])
    await store.delete("notes", [ID])
    await store.close()
    assert seen[1:] == [
        "/collections/notes/points?wait=true",
        "/collections/notes/points/delete?wait=true",
    ]


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6333",
        "ftp://host",
        "http://",
        "http://host:port",
        "https://me:hunter2@host:6333",
        "https://[broken",
    ],
)
def test_a_malformed_url_is_refused_without_repeating_it(url: str) -> None:
    with pytest.raises(InvalidSettingsError) as caught:
        QdrantStore(url)
    assert "hunter2" not in caught.value.message


@pytest.mark.parametrize("key", ["", "secret\n", "sécret", "two words"])
def test_a_key_that_cannot_be_sent_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(InvalidSettingsError) as caught:
        QdrantStore("https://localhost", api_key=key)
    assert "cret" not in caught.value.message


async def test_suffixes_keep_two_models_apart(spec: CollectionSpec) -> None:
    store = QdrantStore(":memory:", suffix="m1")
    await store.ensure(spec)
    await store.ensure(replace(spec, name="notes-m1", dimension=8))
    await store.upsert("notes", [Point(ID, EAST, {})])
    assert await store.count("notes-m1") == 0
    await store.close()


@pytest.mark.slow
async def test_after_a_late_answer_requests_fail_at_once_for_a_while(
    server: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    skipped = 0.0
    monkeypatch.setattr(qdrant, "monotonic", lambda: time.monotonic() + skipped)
    monkeypatch.setattr(qdrant, "_SILENCE", 3600)
    never_answers(server)
    store = QdrantStore(server.url, timeout=0.5)
    for _ in range(3):
        with pytest.raises(StorageUnavailableError, match="did not answer in time"):
            await store.count("notes")

    skipped = 3600
    with pytest.raises(StorageUnavailableError, match="did not answer in time"):
        await store.count("notes")
    # The first of the three, and the last: the server may notice them later than they were given up.
    await asyncio.to_thread(until, lambda: len(server.asked) >= 2, "the server was not asked")
    assert len(server.asked) == 2
    await store.close()


async def test_a_read_waits_less_than_a_write(server: Stub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant, "_READ_WITHIN", 0.05)
    never_answers(server)
    store = QdrantStore(server.url, timeout=30)
    async with asyncio.timeout(10):
        with pytest.raises(StorageUnavailableError, match="did not answer in time"):
            await store.count("notes")
    await store.close()
