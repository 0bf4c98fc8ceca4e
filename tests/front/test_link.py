"""Coming to the hub, and making sure that it is the right one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from learning_memory_server import rendezvous
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.front.link import HubLink
from tests.front.scripted import SECONDS, hello_of

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from learning_memory_server.rendezvous import Place
    from tests.front.scripted import ScriptedHub

    Connect = Callable[..., Future[socket.socket]]

OLDER = {**rendezvous.build(), "version": "0.0.1", "fingerprint": "older"}
NEWER = {**rendezvous.build(), "version": "99.0", "fingerprint": "newer"}


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def connect(place: Place, said: list[str]) -> Iterator[Connect]:
    """Begin to connect, in another thread; what comes of it is closed at the end."""
    link = HubLink(place, hello_of(place), said.append, connect_seconds=SECONDS)
    begun: list[Future[socket.socket]] = []
    with ThreadPoolExecutor(1) as threads:

        def begin() -> Future[socket.socket]:
            begun.append(threads.submit(link.connect))
            return begun[-1]

        yield begin
    for future in begun:
        if not future.exception():
            future.result().close()


def test_a_hub_that_acknowledges_the_hello_is_trusted(
    place: Place, hub: ScriptedHub, connect: Connect
) -> None:
    connecting = connect()
    accepted = hub.accept()
    assert hub.hello == hello_of(place)
    connecting.result(SECONDS).sendall(b'{"id": 1}\n')
    assert accepted.read() == {"id": 1}


def test_nothing_after_the_ack_is_lost(hub: ScriptedHub, connect: Connect) -> None:
    connecting = connect()
    hub.accept().send(b"the first line\n")
    assert connecting.result(SECONDS).recv(100) == b"the first line\n"


@pytest.mark.parametrize("last_words", [b"", b"garbage\n", b"[]\n", b'{"ack": 1'])
def test_a_connection_that_a_dying_hub_accepted_is_made_again(
    hub: ScriptedHub, connect: Connect, last_words: bytes
) -> None:
    connecting = connect()
    dying = hub.accept_silently()
    dying.send(last_words)
    dying.close()
    hub.accept()
    connecting.result(SECONDS)


def test_a_refusal_is_given_as_its_reason(hub: ScriptedHub, connect: Connect) -> None:
    connecting = connect()
    hub.accept(refused="it holds other data")
    with pytest.raises(StorageUnavailableError, match="refused this session: it holds other data"):
        connecting.result(SECONDS)


def test_other_settings_are_told_once_and_accepted(
    hub: ScriptedHub, connect: Connect, said: list[str]
) -> None:
    for _ in range(2):
        connecting = connect()
        hub.accept(settings="others")
        connecting.result(SECONDS)
    (sentence,) = said
    assert "other settings" in sentence
    assert "hub stop" in sentence


def test_what_the_hub_notices_about_this_session_is_told_once(
    hub: ScriptedHub, connect: Connect, said: list[str]
) -> None:
    for _ in range(2):
        connecting = connect()
        hub.accept(notices=["LEARNING_MEMORY_PROJEKT is not a setting."])
        connecting.result(SECONDS)
    assert said == ["LEARNING_MEMORY_PROJEKT is not a setting."]


def test_an_older_hub_is_asked_to_make_room(hub: ScriptedHub, connect: Connect, said: list[str]) -> None:
    connecting = connect()
    older = hub.accept(build=OLDER)
    assert older.read_line() == b'{"hub":"drain"}\n'
    assert not connecting.done()
    older.close()
    hub.accept()
    connecting.result(SECONDS)
    assert len(said) == 1


def test_an_older_hub_that_ends_unasked_is_no_failure(hub: ScriptedHub, connect: Connect) -> None:
    connecting = connect()
    # Another front was quicker: this one's request is never read, which resets the connection.
    hub.accept(build=OLDER).close()
    hub.accept()
    connecting.result(SECONDS)


def test_a_newer_hub_is_never_asked_to_make_room(hub: ScriptedHub, connect: Connect, said: list[str]) -> None:
    connecting = connect()
    newer = hub.accept(build=NEWER)
    connecting.result(SECONDS).sendall(b"the first line\n")
    assert newer.read_line() == b"the first line\n"
    assert said == []
