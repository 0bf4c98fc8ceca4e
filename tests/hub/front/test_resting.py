"""Hooks while no hub can be reached: the first waits, and the next ones are answered with nothing."""

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.hub.front.link import HubLink
from tests.hub.front.scripted import Client, notification, request


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
def relaying(link: NoHub) -> Iterator[Client]:
    client = Client(cast("HubLink", link))
    yield client
    client.close()


def hook(identity: int) -> dict[str, Any]:
    return request(identity, "tools/call", name="hook", arguments={"event": {"event": "Stop"}})


SILENCE = {"content": [{"type": "text", "text": "{}"}], "isError": False, "resultType": "complete"}


@pytest.mark.parametrize("fails", [False, True])
def test_after_one_that_waited_in_vain_the_next_hooks_are_answered_at_once(*, fails: bool) -> None:
    link = NoHub(fails=fails)
    with relaying(link) as client:
        client.send(hook(1))
        if fails:
            assert client.receive()["id"] == 1
        else:
            # What Claude Code sends when a hook has reached its limit.
            client.send(notification("cancelled", requestId=1))
        attempts = link.attempts
        for identity in range(2, 5):
            client.send(hook(identity))
            assert client.receive() == {"jsonrpc": "2.0", "id": identity, "result": SILENCE}
        if fails:
            assert link.attempts == attempts


def test_what_a_model_asks_is_tried_again() -> None:
    link = NoHub(fails=True)
    with relaying(link) as client:
        for identity in (1, 2):
            client.send(request(identity, "tools/call", name="get_stats", arguments={}))
            assert client.receive()["result"]["isError"] is True

        assert link.attempts == 2
