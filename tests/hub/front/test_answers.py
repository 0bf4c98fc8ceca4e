"""The front's own answers are the server's, byte for byte; whatever is unusual is left to the hub."""

import json
from typing import Any

import pytest

from learning_memory_server.hub.front.answers import Answers
from learning_memory_server.system.ipc import jsonrpc
from scripts.answers import LISTS, answers_of_the_server
from tests.hub.front.scripted import Client, ClientOf, ScriptedHub, notification, request

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "a client", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
}
INITIALIZE_PARAMS: dict[str, Any] = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"roots": {"listChanged": True}},
    "clientInfo": {"name": "a client", "version": "1", "title": "A client"},
}
INITIALIZED = notification("initialized")
EVERYTHING = {"toolsListChanged": True, "promptsListChanged": False, "resourceSubscriptions": ["memory://1"]}


def initialize(identity: str | int = 0, **changes: Any) -> dict[str, Any]:
    return request(identity, "initialize", **{**INITIALIZE_PARAMS, **changes})


def enveloped(identity: str | int, method: str, **params: Any) -> dict[str, Any]:
    return request(identity, method, _meta=META, **params)


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def answered(answers: Answers, message: dict[str, Any]) -> bytes | None:
    given = answers.answer(line(message), jsonrpc.read(line(message)))
    return given[0] if given else None


HANDSHAKES = [
    [initialize(7, protocolVersion=version), INITIALIZED, request("t", "tools/list")]
    for version in (*HANDSHAKE_VERSIONS, "1999-01-01", "2026-07-28")
]
SESSIONS = [
    *HANDSHAKES,
    [request(1, "ping"), initialize(2), request(3, "ping"), *(request(name, name) for name in LISTS)],
    [initialize(0), INITIALIZED, {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}],
    [initialize(0), INITIALIZED, request(1, "tools/list", _meta={"progressToken": 5})],
    [initialize(0, clientInfo={"name": "\u00e9", "version": ""}, _meta={})],
    [enveloped(name, name) for name in ("server/discover", "ping", *LISTS)],
    [enveloped(5, "tools/list"), enveloped(5, "tools/list"), enveloped("5", "server/discover")],
    [enveloped("all", "subscriptions/listen", notifications=EVERYTHING), enveloped(1, "tools/list")],
    [enveloped(1, "subscriptions/listen", notifications={}), enveloped(2, "tools/list")],
]


@pytest.mark.parametrize("has_hooks", [False, True])
@pytest.mark.parametrize("session", SESSIONS)
def test_the_front_says_what_the_server_says(session: list[dict[str, Any]], *, has_hooks: bool) -> None:
    answers = Answers(has_hooks=has_hooks)
    own = [answer for message in session if (answer := answered(answers, message)) is not None]
    assert len(own) == sum("id" in message for message in session)
    assert own == answers_of_the_server(map(line, session), has_hooks=has_hooks)


@pytest.mark.parametrize(
    "message",
    [
        request(1, "tools/call", name="get_stats", arguments={}),
        request(1, "tools/list", cursor="next"),
        request(1, "tools/list", _meta=META),
        request(1, "server/discover"),
        request(1, "memories/list"),
        initialize(1, protocolVersion=5),
        initialize(1, clientInfo={"name": "nameless version"}),
        initialize(1, capabilities={"roots": 5}),
        initialize(1, unheard="of"),
        initialize(1, clientInfo={"name": "half a \ud83d", "version": "1"}),
        {**request(1, "tools/list"), "id": True},
        {**request(1, "tools/list"), "id": 1.5},
        {**request(1, "tools/list"), "id": None},
        {**request(1, "tools/list"), "jsonrpc": "1.0"},
        {**request(1, "tools/list"), "params": []},
        {**request(1, "tools/list"), "params": {"_meta": 5}},
        {**request(1, "tools/list"), "extra": 1},
        INITIALIZED,
        {"jsonrpc": "2.0", "id": 1, "result": {}},
    ],
)
def test_what_is_unusual_is_left_to_the_hub(message: dict[str, Any]) -> None:
    answers = Answers()
    assert answered(answers, initialize())
    assert answered(answers, message) is None
    assert answered(answers, request(2, "ping")) == b'{"jsonrpc":"2.0","id":2,"result":{}}\n'


@pytest.mark.parametrize(
    "message",
    [
        request(1, "tools/list"),
        request(1, "tools/list", _meta={**META, "io.modelcontextprotocol/protocolVersion": "2099-01-01"}),
        request(1, "tools/list", _meta={**META, "io.modelcontextprotocol/clientCapabilities": 5}),
        request(1, "tools/list", _meta={**META, "io.modelcontextprotocol/clientInfo": {}}),
        request(1, "tools/list", _meta={"io.modelcontextprotocol/protocolVersion": "2026-07-28"}),
        initialize(1),
        enveloped(1, "subscriptions/listen"),
        enveloped(1, "subscriptions/listen", notifications={"toolsListChanged": "yes"}),
        enveloped(1, "subscriptions/listen", notifications={"resourceSubscriptions": [5]}),
        enveloped(1, "subscriptions/listen", notifications={"resourceSubscriptions": "memory://1"}),
        enveloped(1, "subscriptions/listen", notifications={"unheard": True}),
    ],
)
def test_what_does_not_fit_an_enveloped_session_is_left_to_the_hub(message: dict[str, Any]) -> None:
    answers = Answers()
    assert answered(answers, enveloped(0, "server/discover"))
    assert answered(answers, message) is None
    assert answered(answers, enveloped(2, "tools/list"))


def test_the_tools_are_listed_after_the_greeting_only() -> None:
    answers = Answers()
    assert answered(answers, request(1, "tools/list")) is None
    assert answered(answers, initialize())
    assert answered(answers, request(2, "tools/list"))


@pytest.mark.parametrize("garbage", [b"garbage\n", b"[]\n", b"null\n", b"\xff\n", b"[" * 100_000 + b"\n", b"\n"])
def test_garbage_is_left_to_the_hub(garbage: bytes) -> None:
    assert Answers().answer(garbage, jsonrpc.read(garbage)) is None


def test_an_error_of_the_hub_answers_an_impossible_greeting(client: Client, hub: ScriptedHub) -> None:
    connection = client.reach(hub, initialize(0, clientInfo=None))
    assert connection.read() == initialize(0, clientInfo=None)
    connection.send({"jsonrpc": "2.0", "id": 0, "error": {"code": -32602, "message": "no"}})
    assert client.receive()["error"]["message"] == "no"


@pytest.mark.parametrize(
    "opening", [[initialize(), INITIALIZED], [enveloped(0, "server/discover")]], ids=["handshake", "envelope"]
)
def test_a_later_initialize_does_not_open_the_session_of_the_next_hub(
    client: Client, hub: ScriptedHub, opening: list[dict[str, Any]]
) -> None:
    late = initialize(5, clientInfo=None)
    client.send(*opening)
    client.receive()
    connection = client.reach(hub, late, request(6))
    first, *_, before, last = [connection.read() for _ in range(len(opening) + 2)]
    assert first["method"] == opening[0]["method"]
    assert first["id"] not in (0, 5)
    assert [before, last] == [late, request(6)]


def test_a_client_is_greeted_while_the_hub_is_silent(client: Client, hub: ScriptedHub) -> None:
    client.send(initialize(), INITIALIZED, request(1, "tools/list"))
    assert [client.receive()["id"], client.receive()["id"]] == [0, 1]
    # The front is connecting now, for the list.
    silent = hub.accept_silently()
    client.send(request(2, "ping"), request(3, "tools/list"))
    assert [client.receive()["id"], client.receive()["id"]] == [2, 3]
    client.send(request(4))
    silent.close()
    connection = hub.accept()
    told = [connection.read()["method"] for _ in range(5)]
    assert told == ["initialize", "notifications/initialized", "tools/call", "tools/list", "tools/list"]
    connection.answer(4)
    assert client.receive()["id"] == 4


def test_a_hub_that_comes_later_learns_what_the_front_has_answered(client: Client, hub: ScriptedHub) -> None:
    client.send(enveloped(0, "server/discover"), enveloped(1, "tools/call"))
    assert client.receive()["id"] == 0
    connection = hub.accept()
    opening = connection.read()
    assert opening["method"] == "server/discover"
    assert opening["params"] == {"_meta": META}
    assert connection.read() == enveloped(1, "tools/call")
    connection.answer(opening["id"], "the client has one")
    connection.answer(1)
    assert client.receive()["id"] == 1
    connection.close()
    second = client.reach(hub, enveloped(2, "tools/call"))
    assert [second.read()["id"], second.read()["id"]] == [opening["id"], 2]


def test_a_hub_that_is_there_already_learns_it_at_once(client: Client, hub: ScriptedHub) -> None:
    connection = client.reach(hub, request(1))
    connection.read()
    connection.answer(1)
    assert client.receive()["id"] == 1
    client.send(initialize(), INITIALIZED, request(2, "tools/list"))
    assert [client.receive()["id"], client.receive()["id"]] == [0, 2]
    told = [connection.read()["method"] for _ in range(3)]
    assert told == ["initialize", "notifications/initialized", "tools/list"]


def test_ids_that_a_client_uses_twice_are_not_mixed_up(client: Client, hub: ScriptedHub) -> None:
    client.send(initialize(1))
    assert "protocolVersion" in client.receive()["result"]
    connection = client.reach(hub, INITIALIZED, request(1))
    opening = connection.read()
    connection.answer(opening["id"], "the client has one")
    connection.answer(1, "the call's")
    assert client.receive()["result"] == {"text": "the call's"}


def test_a_greeted_client_can_leave_without_a_hub(client_of: ClientOf, hub: ScriptedHub) -> None:
    client = client_of()
    client.send(initialize(), INITIALIZED, request(1, "tools/list"))
    client.close_stdin()
    assert [client.receive()["id"], client.receive()["id"]] == [0, 1]
    client.wait_for_end()
    assert not hub.hello
