"""Hooks while no hub can be reached: the first waits, and the next ones are answered with nothing."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.hub.front.link import HubLink
from learning_memory_server.hub.front.relay import Relay
from tests.hub.front.scripted import notification, request


class NoHub:
    """A way to a hub that never answers, or fails."""

    def __init__(self, *, fails: bool) -> None:
        self.attempts = 0
        self._fails = fails

    def connect(self, wait: Callable[[float, socket.socket | None], bool]) -> None:
        self.attempts += 1
        if self._fails:
            raise StorageUnavailableError("The memory hub could not be started.")
        while wait(0.01, None):
            pass


@contextmanager
def relaying(link: NoHub) -> Iterator[tuple[Callable[[dict[str, Any]], None], Callable[[], dict[str, Any]]]]:
    """Run a relay, and yield how to send it a message and how to read an answer."""
    from_client, to_relay = os.pipe()
    from_relay, to_client = os.pipe()
    relay = Relay(cast("HubLink", link), from_client, to_client)
    thread = threading.Thread(target=relay.run)
    thread.start()
    with os.fdopen(from_relay, "rb") as answers:
        yield lambda message: _write(to_relay, message), lambda: json.loads(answers.readline())
        os.close(to_relay)
        thread.join(30)
    for descriptor in (from_client, to_client):
        os.close(descriptor)
    assert not thread.is_alive()


def _write(descriptor: int, message: dict[str, Any]) -> None:
    os.write(descriptor, json.dumps(message).encode() + b"\n")


def hook(identity: int) -> dict[str, Any]:
    return request(identity, "tools/call", name="hook", arguments={"event": "Stop"})


SILENCE = {"content": [{"type": "text", "text": "{}"}], "isError": False, "resultType": "complete"}


@pytest.mark.parametrize("fails", [False, True])
def test_after_one_that_waited_in_vain_the_next_hooks_are_answered_at_once(*, fails: bool) -> None:
    link = NoHub(fails=fails)
    with relaying(link) as (send, read):
        send(hook(1))
        if fails:
            assert read()["id"] == 1
        else:
            # What Claude Code sends when a hook has reached its limit.
            send(notification("cancelled", requestId=1))
        attempts = link.attempts
        for identity in range(2, 5):
            send(hook(identity))
            assert read() == {"jsonrpc": "2.0", "id": identity, "result": SILENCE}
        if fails:
            assert link.attempts == attempts


def test_what_a_model_asks_is_tried_again() -> None:
    link = NoHub(fails=True)
    with relaying(link) as (send, read):
        for identity in (1, 2):
            send(request(identity, "tools/call", name="get_stats", arguments={}))
            assert read()["result"]["isError"] is True

        assert link.attempts == 2
