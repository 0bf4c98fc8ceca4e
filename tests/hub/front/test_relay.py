"""One client's lines to the hub and back, across several hubs."""

import json
import time
from typing import Any

import pytest

from learning_memory_server.system import timeouts
from tests.hub.front.scripted import Client, ClientOf, ScriptedHub, answer, error_of, ids, notification, request

INITIALIZE = request(
    0, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "a client", "version": "1"}
)
OPENING = {**INITIALIZE, "id": "learning-memory-front/initialize"}
"""What a hub gets, because the front has answered the client."""
INCOMPLETE = request(0, "initialize", protocolVersion="2025-11-25")
"""What the front cannot answer."""
INITIALIZED = notification("initialized")


def shake_hands(client: Client, hub: ScriptedHub) -> Any:
    """Complete the handshake of the 2025 protocol and a call, and return the hub's end."""
    client.send(INITIALIZE)
    assert client.receive()["id"] == 0
    connection = client.reach(hub, INITIALIZED, request("first"))
    assert [connection.read() for _ in range(3)] == [OPENING, INITIALIZED, request("first")]
    connection.answer(OPENING["id"], "the client has one")
    connection.tell(client, "first")
    return connection


def test_lines_pass_both_ways_unchanged(client: Client, hub: ScriptedHub) -> None:
    connection = client.reach(hub, b'{ "jsonrpc": "2.0", "id": "a", "method": "tools/call" }\n')
    assert connection.read_line() == b'{ "jsonrpc": "2.0", "id": "a", "method": "tools/call" }\n'
    connection.send(b'{"result": {}, "jsonrpc": "2.0", "id": "a"}\n')
    assert client.receive_line() == b'{"result": {}, "jsonrpc": "2.0", "id": "a"}\n'
    connection.send(notification("message", data="hello"))
    assert client.receive() == notification("message", data="hello")


def test_a_line_may_come_in_pieces(client: Client, hub: ScriptedHub) -> None:
    whole = json.dumps(request(1)).encode() + b"\n"
    connection = client.reach(hub, json.dumps(request(0)).encode() + b"\n" + whole[:9])
    assert connection.read() == request(0)
    client.send(whole[9:20])
    client.send(whole[20:])
    assert connection.read() == request(1)
    back = json.dumps(answer(1)).encode() + b"\n"
    connection.send(json.dumps(answer(0)).encode() + b"\n" + back[:5])
    assert client.receive() == answer(0)
    connection.send(back[5:])
    assert client.receive() == answer(1)


def test_several_lines_may_come_at_once(client: Client, hub: ScriptedHub) -> None:
    connection = client.reach(hub, request(1), b"\n", request(2), request("three"))
    assert [connection.read()["id"] for _ in range(3)] == [1, 2, "three"]
    lines = [json.dumps(answer(identity)).encode() + b"\n" for identity in ("three", 1, 2)]
    connection.send(b"".join(lines))
    assert [client.receive()["id"] for _ in range(3)] == ["three", 1, 2]


def test_a_last_line_without_line_feed_is_answered(client: Client, hub: ScriptedHub) -> None:
    client.send(json.dumps(request(1)).encode())
    client.close_stdin()
    hub.accept().serve(client, request(1))
    client.wait_for_end()


def test_lines_that_are_piped_in_keep_their_order(client: Client, hub: ScriptedHub) -> None:
    connection = client.reach(hub, INITIALIZE, INITIALIZED, request(1))
    assert ids([connection.read() for _ in range(3)]) == [OPENING["id"], "notifications/initialized", 1]


def test_an_answer_is_passed_on_only_once(client: Client, hub: ScriptedHub) -> None:
    connection = client.reach(hub, request(1), request(2))
    connection.answer(1, "first")
    connection.answer(1, "again")
    connection.answer(7, "nobody asked")
    connection.answer(2)
    assert [client.receive(), client.receive()] == [answer(1, "first"), answer(2)]


def test_open_requests_are_sent_to_the_next_hub_after_the_handshake(client: Client, hub: ScriptedHub) -> None:
    first = shake_hands(client, hub)
    client.send(request(1), request(2), request(3), request(4))
    assert [first.read()["id"] for _ in range(4)] == [1, 2, 3, 4]
    first.tell(client, 2)
    first.close()

    second = hub.accept()
    assert [second.read() for _ in range(5)] == [OPENING, INITIALIZED, request(1), request(3), request(4)]
    assert (first.said_again, second.said_again) == ([], [1, 3, 4])
    second.answer(OPENING["id"], "the client has had this one")
    for identity in (1, 3, 4):
        second.answer(identity)
    assert [client.receive()["id"] for _ in range(3)] == [1, 3, 4]


def test_the_next_hub_gets_no_handshake_if_there_was_none(client: Client, hub: ScriptedHub) -> None:
    first = client.reach(hub, request(1, "server/discover"), request(2))
    first.tell(client, 1)
    first.close()
    second = hub.accept()
    assert second.read() == request(2)
    client.send(request(3))
    assert second.read() == request(3)


def test_an_unanswered_handshake_is_sent_once(client: Client, hub: ScriptedHub) -> None:
    first = client.reach(hub, INCOMPLETE, INITIALIZED, request(1))
    assert first.read() == INCOMPLETE
    first.close()
    second = hub.accept()
    assert ids([second.read() for _ in range(3)]) == [0, "notifications/initialized", 1]
    second.answer(0)
    second.answer(1)
    assert [client.receive()["id"], client.receive()["id"]] == [0, 1]


def test_an_idle_session_does_not_reconnect(client: Client, hub: ScriptedHub) -> None:
    shake_hands(client, hub).close()
    second = client.reach(hub, request(1))
    assert [second.read() for _ in range(3)] == [OPENING, INITIALIZED, request(1)]
    second.close()
    client.close_stdin()
    third = hub.accept()
    assert [third.read() for _ in range(3)] == [OPENING, INITIALIZED, request(1)]
    third.tell(client, 1)
    client.wait_for_end()


def test_half_an_answer_of_a_lost_hub_is_dropped(client: Client, hub: ScriptedHub) -> None:
    first = client.reach(hub, request(1))
    first.read()
    first.send(b'{"jsonrpc": "2.0", "id": 1, "res')
    first.close()
    hub.accept().serve(client, request(1))


def test_a_cancelled_request_is_not_sent_again(client: Client, hub: ScriptedHub) -> None:
    first = client.reach(hub, request(1), request(2))
    assert [first.read()["id"], first.read()["id"]] == [1, 2]
    client.send(notification("cancelled", requestId=1))
    assert first.read()["method"] == "notifications/cancelled"
    first.answer(1, "too late")
    first.close()
    hub.accept().serve(client, request(2))


def test_a_call_that_kills_every_hub_fails(client: Client, hub: ScriptedHub) -> None:
    first = shake_hands(client, hub)
    client.send(request(1))
    assert first.read() == request(1)
    first.close()
    for _ in range(3):
        following = hub.accept()
        assert [following.read() for _ in range(3)] == [OPENING, INITIALIZED, request(1)]
        # The call kills it, not the preceding handshake.
        following.answer(OPENING["id"])
        following.close()
    error = error_of(client.receive())
    assert error["type"] == "storage_unavailable"
    assert "hub logs" in error["hint"]
    last = client.reach(hub, request(2))
    assert [last.read() for _ in range(3)] == [OPENING, INITIALIZED, request(2)]


def test_a_subscription_is_sent_again_under_its_id(client: Client, hub: ScriptedHub) -> None:
    first = client.reach(hub, request("listening", "subscriptions/listen"))
    assert first.read()["id"] == "listening"
    first.close()
    assert hub.accept().read() == request("listening", "subscriptions/listen")


def test_a_subscription_does_not_keep_the_front_alive(client: Client, hub: ScriptedHub) -> None:
    connection = client.reach(hub, request("listening", "subscriptions/listen"), request(1))
    assert [connection.read()["id"], connection.read()["id"]] == ["listening", 1]
    client.close_stdin()
    connection.tell(client, 1)
    client.wait_for_end()


def test_a_call_that_mentions_subscriptions_is_answered_before_the_front_exits(
    client: Client, hub: ScriptedHub
) -> None:
    client.send(request(1, name="search_experiences", arguments={"query": "subscriptions/listen"}))
    client.close_stdin()
    connection = hub.accept()
    connection.read()
    connection.tell(client, 1)
    client.wait_for_end()


def test_a_client_that_leaves_gets_its_answers_first(client: Client, hub: ScriptedHub) -> None:
    client.send(request(1), request(2))
    client.close_stdin()
    first = hub.accept()
    first.tell(client, 1)
    first.close()
    hub.accept().serve(client, request(2))
    client.wait_for_end()
    assert client.receive_line() == b""


def test_a_client_without_requests_starts_no_hub(client: Client) -> None:
    client.leave()
    assert client.receive_line() == b""


@pytest.mark.slow
def test_a_hub_that_gives_signs_of_life_has_time(client_of: ClientOf, hub: ScriptedHub) -> None:
    client = client_of(ping_after=0.1, hung_after=2.0)
    connection = client.reach(hub, request(1))
    assert connection.read() == request(1)
    connection.wait_for_pings(25)
    connection.tell(client, 1)


@pytest.mark.slow
def test_a_hub_is_pinged_only_if_an_answer_is_due(client_of: ClientOf, hub: ScriptedHub) -> None:
    client = client_of(ping_after=0.02)
    begun = time.monotonic()
    connection = client.reach(hub, request(1))
    connection.serve(client, request(1))
    due = time.monotonic() - begun
    assert client.hears_nothing(0.5)
    begun = time.monotonic()
    client.send(request(2))
    assert connection.read() == request(2)
    # Those that were sent while an answer was due, however long that took.
    due += time.monotonic() - begun
    assert connection.pings <= due / 0.02 + 1


@pytest.mark.slow
def test_each_call_to_a_hung_hub_fails_once_and_the_session_goes_on(client_of: ClientOf, hub: ScriptedHub) -> None:
    client = client_of(ping_after=0.05, hung_after=1.5)
    connection = client.reach(hub, request(1), request("two", "tools/list"))
    error = error_of(client.receive())
    assert error["type"] == "timeout"
    assert "sign of life" in error["message"]
    assert "server status" in error["hint"]
    other = client.receive()
    assert (other["id"], other["error"]["code"]) == ("two", -32603)
    assert "sign of life" in other["error"]["message"]

    assert [connection.read()["id"], connection.read()["id"]] == [1, "two"]
    connection.answer(1, "late")
    connection.answer("two", "late")
    client.send(request(3))
    connection.serve(client, request(3))


@pytest.mark.slow
def test_after_the_first_silence_calls_fail_soon_and_are_not_passed_on(client_of: ClientOf, hub: ScriptedHub) -> None:
    client = client_of(ping_after=0.05, hung_after=60 * timeouts.STILL_SILENT)
    hook = request("hook", name="hook", arguments={})
    connection = client.reach(hub, hook)
    assert connection.read_line()
    # The client has waited for its own limit.
    assert client.hears_nothing(1.2)
    client.send(notification("cancelled", requestId="hook"))
    for identity in (1, 2):
        client.send(request(identity))
        error = error_of(client.receive())
        assert (error["type"], "was not passed on" in error["message"]) == ("timeout", True)
        client.send({**hook, "id": f"hook {identity}"})
        assert client.receive()["result"]["isError"] is False

    client.send(request(3))
    # The cancellation was sent while nobody knew; the calls that have failed were not.
    assert connection.read()["method"] == "notifications/cancelled"
    connection.serve(client, request(3))


@pytest.mark.slow
def test_a_message_that_a_hung_hub_received_in_part_is_completed(client_of: ClientOf, hub: ScriptedHub) -> None:
    client = client_of(ping_after=0.05, hung_after=1.5)
    long = request(1, text="x" * 3_000_000)
    connection = client.reach(hub, long)
    assert error_of(client.receive())["type"] == "timeout"
    client.send(request(2))
    assert connection.read() == long
    connection.serve(client, request(2))


@pytest.mark.slow
def test_a_call_after_a_long_silence_does_not_time_out_at_once(client_of: ClientOf, hub: ScriptedHub) -> None:
    client = client_of(ping_after=0.1, hung_after=2.0)
    connection = client.reach(hub, request("listening", "subscriptions/listen"))
    assert connection.read()["id"] == "listening"
    assert client.hears_nothing(2.5)
    client.send(request(1))
    connection.serve(client, request(1))
