"""The double of a Qdrant server: what goes wrong there reaches the adapter as it would from a real one."""

import asyncio
import json
import socket

import httpx2
import pytest

from learning_memory_server.errors import DiskFullError, StorageUnavailableError
from learning_memory_server.index.engines.qdrant import QdrantStore
from tests.index.engines.double import QdrantDouble, Wrong, answering
from tests.index.engines.double_engine import _DELETED_MOST, Engine, recorded
from tests.index.engines.points import point
from tests.support import MINUTES


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [Wrong.RESETS, Wrong.HALF])
async def test_a_connection_that_breaks_is_an_error_and_the_next_one_works(
    double: QdrantDouble, ann: QdrantStore, wrong: Wrong
) -> None:
    double.refuse(wrong, only=lambda request: request.path.endswith("/count"))
    with pytest.raises(StorageUnavailableError, match="cannot be reached"):
        await ann.count("notes")
    double.heal()
    await answering(ann)
    assert await ann.count("notes") == 0


@pytest.mark.slow
async def test_what_hangs_ends_when_the_server_is_healed(double: QdrantDouble, ann: QdrantStore) -> None:
    double.refuse(Wrong.HANGS, only=lambda request: request.path.endswith("/points"))
    writing = asyncio.create_task(ann.upsert("notes", [point(1)]))
    async with asyncio.timeout(MINUTES):
        while not double.asked[-1].path.endswith("/points"):
            await asyncio.sleep(0.01)
    assert not writing.done()
    double.heal()
    # It was asked once more.
    await writing
    assert await ann.count("notes") == 1


async def test_a_recorded_refusal_is_given_to_some_requests_only(double: QdrantDouble, ann: QdrantStore) -> None:
    double.refuse(recorded("disk full: upsert"), only=lambda request: request.method == "PUT")
    with pytest.raises(DiskFullError):
        await ann.upsert("notes", [point(1)])
    assert await ann.count("notes") == 0


def test_a_filter_on_a_field_without_an_index_is_refused_in_a_servers_words(double: QdrantDouble) -> None:
    ours = double.url + "/collections/rec"
    with httpx2.Client() as client:
        client.put(ours, json={"vectors": {"dense": {"size": 2, "distance": "Cosine"}}})
        counted = {"filter": {"must": [{"key": "owner", "match": {"value": "a"}}]}, "exact": True}
        refused = client.post(ours + "/points/count", json=counted)
        real = recorded("count with a filter on a field without an index")
        assert refused.status_code == real.status
        assert refused.json()["status"] == json.loads(real.body)["status"]

        client.put(ours + "/index", json={"field_name": "owner", "field_schema": {"type": "keyword"}})
        assert client.post(ours + "/points/count", json=counted).json()["result"] == {"count": 0}


def test_a_contradictory_filter_is_answered_as_wrongly_as_by_a_server(double: QdrantDouble) -> None:
    ours = double.url + "/collections/rec"
    condition = {"key": "project", "match": {"value": "a"}}
    with httpx2.Client() as client:
        client.put(ours, json={"vectors": {"dense": {"size": 2, "distance": "Cosine"}}})
        client.put(ours + "/index", json={"field_name": "project", "field_schema": {"type": "keyword"}})
        points = [{"id": 1, "vector": {"dense": [1, 0]}, "payload": {"project": "a"}}]
        client.put(ours + "/points", params={"wait": "true"}, json={"points": points})
        found = client.post(
            ours + "/points/scroll",
            json={"filter": {"must": [condition], "must_not": [condition]}, "with_payload": True},
        )
    assert [each["id"] for each in found.json()["result"]["points"]] == [1]


def test_a_request_that_ends_in_the_middle_is_not_done(double: QdrantDouble) -> None:
    head = b"POST /collections/aliases HTTP/1.1\r\nHost: here\r\nContent-Length: 20\r\n\r\n"
    with socket.create_connection(("127.0.0.1", double.server_port)) as connection:
        connection.sendall(head)
        connection.shutdown(socket.SHUT_WR)
        assert connection.recv(1) == b""
    assert double.asked == []


def test_a_delay_and_the_connections_are_counted(double: QdrantDouble) -> None:
    double.delay = 0.02
    with httpx2.Client() as client:
        for _ in range(3):
            assert client.get(double.url + "/").elapsed.total_seconds() >= double.delay
    assert double.connections == 1
    assert [request.path for request in double.asked] == ["/"] * 3


def test_an_answer_is_compressed_if_that_is_asked_for(double: QdrantDouble) -> None:
    with httpx2.Client() as client:
        compressed = client.get(double.url + "/")
        plain = client.get(double.url + "/", headers={"accept-encoding": "identity"})
    assert compressed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert compressed.json() == plain.json()
    assert double.compressed == 1


def test_what_remains_after_many_deletions_is_unchanged() -> None:
    engine = Engine()
    ours = "/collections/rec"
    engine.answer("PUT", ours, {"vectors": {"dense": {"size": 2, "distance": "Dot"}}})
    points = [{"id": n, "vector": {"dense": [1.0, n]}, "payload": {"n": n}} for n in range(_DELETED_MOST + 5)]
    engine.answer("PUT", f"{ours}/points", {"points": points})
    everything = {"limit": 10_000, "with_payload": True, "with_vector": True}
    before = json.loads(engine.answer("POST", f"{ours}/points/scroll", everything).body)["result"]["points"]
    engine.answer("POST", f"{ours}/points/delete", {"points": [*range(_DELETED_MOST + 1)]})
    after = json.loads(engine.answer("POST", f"{ours}/points/scroll", everything).body)["result"]["points"]
    assert after == before[_DELETED_MOST + 1 :]
    assert len(after) == 4
