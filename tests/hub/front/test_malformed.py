"""Lines from a client that are not valid messages, or too long."""

from typing import Any

import pytest

from learning_memory_server.system.ipc.jsonrpc import LineSplitter
from tests.hub.front.scripted import Client, ClientOf, ScriptedHub, error_of, request


@pytest.mark.parametrize(
    ("line", "identity"),
    [
        (b"garbage", None),
        (b"[]", None),
        (b"{}", None),
        (b'{"jsonrpc": "2.0", "id": {}, "method": "ping"}', None),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', None),
        (b'{"jsonrpc": "2.0", "id": 1.0, "method": "ping"}', None),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', None),
        (b"\xff", None),
        (b"[" * 100_000, None),
        (b'"' + b'\\"' * 100_000, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {', None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "\xff"}', None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"a": ' + b"[" * 100_000 + b"}}", None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"a": ' + b"9" * 5000 + b"}}", None),
        (b'{"jsonrpc": "2.0", "id": "half \\ud83d", "method": "ping"}', "half \ud83d"),
        (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', 7),
        (b'{"id": 7, "method": "ping"}', 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": 5}', 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": ""}', 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": []}', 7),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "ping", "error": {"code": 1, "message": "?"}}', 7),
        (b'{"hub":"drain"}', None),
        (b'{"hub":"again","ids":[1]}', None),
        (b'{"hub":"ping","jsonrpc":"2.0","id":7,"method":"ping"}', 7),
    ],
)
def test_a_line_that_is_not_a_request_is_answered_once_and_without_a_hub(
    client: Client, hub: ScriptedHub, line: bytes, identity: str | int | None
) -> None:
    client.send(line + b"\n")
    refused = client.receive()
    assert refused["id"] == identity
    assert refused["error"]["code"] in {-32600, -32700}
    assert refused["error"]["message"]
    client.reach(hub, request(1)).serve(client, request(1))
    client.leave()


def test_a_tool_call_that_is_not_a_request_fails_as_a_tool_does(client: Client, hub: ScriptedHub) -> None:
    del hub
    client.send({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": []})
    refused = client.receive()
    assert refused["id"] == 7
    assert error_of(refused)["type"] == "validation_error"
    assert "`params` must be an object" in error_of(refused)["message"]


def test_an_answer_of_the_client_is_passed_on(client: Client, hub: ScriptedHub) -> None:
    connection = client.reach(hub, {"jsonrpc": "2.0", "id": 7, "result": {}}, request(1))
    read = [connection.read(), connection.read()]
    assert {"jsonrpc": "2.0", "id": 7, "result": {}} in read
    connection.tell(client, 1)
    client.leave()


def test_an_id_of_many_digits_is_answered_under_it(client: Client, hub: ScriptedHub) -> None:
    long = 10**30
    connection = client.reach(hub, request(long), request(0))
    assert [connection.read()["id"], connection.read()["id"]] == [long, 0]
    connection.tell(client, long)
    connection.tell(client, 0)


@pytest.mark.parametrize("params", [None, [], {}, {"requestId": {}}, {"requestId": 9}])
def test_a_malformed_cancellation_is_passed_on(client: Client, hub: ScriptedHub, params: Any) -> None:
    strange = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
    connection = client.reach(hub, strange, request(1))
    assert sorted(map(str, [connection.read(), connection.read()])) == sorted(map(str, [strange, request(1)]))


def test_a_message_that_is_too_long_gets_an_error_and_the_next_one_works(client_of: ClientOf, hub: ScriptedHub) -> None:
    client = client_of(frame_max=200)
    client.send(request(1, text="x" * 200_000), request(2))
    refused = client.receive()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert "longer than 200 bytes" in refused["error"]["message"]
    connection = hub.accept()
    connection.serve(client, request(2), "x" * 1000)
    client.send(request(3, text="x" * 160))
    assert client.receive()["id"] is None
    client.send(request(4))
    assert connection.read() == request(4)


def test_the_end_of_a_line_that_is_too_long_is_not_a_line() -> None:
    lines = LineSplitter(limit=10)
    assert lines.feed(b"0123456789 and") == []
    assert lines.feed(b" more\nnext\n") == [None, b"next\n"]
