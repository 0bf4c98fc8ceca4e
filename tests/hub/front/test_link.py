"""The way to the hub, and the checks that it is the right one."""

import os
import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from learning_memory_server.errors import DeadlineExceededError, StorageUnavailableError
from learning_memory_server.hub.front.link import HubLink
from learning_memory_server.system import locations
from learning_memory_server.system.ipc import programs
from learning_memory_server.system.ipc.discovery import HubPaths
from learning_memory_server.system.locking import exclusive
from learning_memory_server.system.paths import LOCK
from tests.hub.front.scripted import ScriptedHub, ack_of, hello_of
from tests.support import MINUTES

Connect = Callable[..., Future[socket.socket]]

NEWER = {**programs.this_program(), "version": "99.0", "fingerprint": "newer"}


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def connect(place: HubPaths, said: list[str]) -> Iterator[Connect]:
    """Connect in another thread, and close the connection at the end."""
    link = HubLink(place, hello_of(place), said.append, connect_seconds=MINUTES)
    begun: list[Future[socket.socket]] = []
    with ThreadPoolExecutor(1) as threads:

        def connected() -> socket.socket:
            connection = link.connect()
            assert connection is not None
            return connection

        def begin() -> Future[socket.socket]:
            begun.append(threads.submit(connected))
            return begun[-1]

        yield begin
    for future in begun:
        if not future.exception():
            future.result().close()


def test_a_hub_that_acknowledges_the_hello_is_used(place: HubPaths, hub: ScriptedHub, connect: Connect) -> None:
    connecting = connect()
    accepted = hub.accept()
    # The settings are those of the environment at this moment.
    assert hub.hello == hello_of(place, settings={})
    connecting.result(MINUTES).sendall(b'{"id": 1}\n')
    assert accepted.read() == {"id": 1}


def test_nothing_after_the_ack_is_lost(hub: ScriptedHub, connect: Connect) -> None:
    connecting = connect()
    hub.accept().send(b"the first line\n")
    assert connecting.result(MINUTES).recv(100) == b"the first line\n"


@pytest.mark.parametrize("last_words", [b"", b"garbage\n", b"[]\n", b'{"ack": 1'])
def test_a_connection_to_a_dying_hub_is_repeated(hub: ScriptedHub, connect: Connect, last_words: bytes) -> None:
    connecting = connect()
    dying = hub.accept_silently()
    dying.send(last_words)
    dying.close()
    hub.accept()
    connecting.result(MINUTES)


def test_a_refusal_is_an_error_with_its_reason(hub: ScriptedHub, connect: Connect) -> None:
    connecting = connect()
    hub.accept(refused="it serves different data")
    with pytest.raises(StorageUnavailableError, match="refused this session: it serves different data"):
        connecting.result(MINUTES)


def test_other_settings_are_named_and_accepted(hub: ScriptedHub, connect: Connect, said: list[str]) -> None:
    for _ in range(2):
        connecting = connect()
        hub.accept(kept="This hub has other settings.")
        connecting.result(MINUTES)
    assert said == ["This hub has other settings."]


def test_the_hubs_notices_about_a_session_are_shown_once(hub: ScriptedHub, connect: Connect, said: list[str]) -> None:
    for _ in range(2):
        connecting = connect()
        hub.accept(notices=["LEARNING_MEMORY_PROJEKT is not a setting."])
        connecting.result(MINUTES)
    assert said == ["LEARNING_MEMORY_PROJEKT is not a setting."]


def test_an_older_hub_is_asked_to_shut_down(hub: ScriptedHub, connect: Connect, said: list[str]) -> None:
    connecting = connect()
    older = hub.accept(gives_way=True)
    assert older.read_line() == b'{"hub":"drain"}\n'
    assert not connecting.done()
    older.close()
    hub.accept()
    connecting.result(MINUTES)
    assert len(said) == 1


def test_a_hub_with_other_settings_is_asked_to_shut_down_once(
    hub: ScriptedHub, connect: Connect, said: list[str]
) -> None:
    connecting = connect()
    first = hub.accept(kept="This hub has another qdrant_url.", gives_way=True)
    assert first.read_line() == b'{"hub":"drain"}\n'
    first.close()
    # Somebody else was quicker. If each ended the other's hub, neither would ever have one.
    hub.accept(kept="This one has, too.", gives_way=True)
    connecting.result(MINUTES)
    asked, kept = said
    assert "for other settings" in asked
    assert kept == "This one has, too."


def test_an_older_hub_that_ends_by_itself_is_not_a_failure(hub: ScriptedHub, connect: Connect) -> None:
    connecting = connect()
    # Another front was quicker: this one's request is never read, which resets the connection.
    hub.accept(gives_way=True).close()
    hub.accept()
    connecting.result(MINUTES)


def test_a_newer_hub_is_never_asked_to_shut_down(hub: ScriptedHub, connect: Connect, said: list[str]) -> None:
    connecting = connect()
    newer = hub.accept(build=NEWER)
    connecting.result(MINUTES).sendall(b"the first line\n")
    assert newer.read_line() == b"the first line\n"
    assert said == []


def test_hubs_that_end_one_after_another_are_an_error_with_the_last_ones_reason(
    place: HubPaths, hub: ScriptedHub, connect: Connect
) -> None:
    place.storage.mkdir(parents=True)
    (place.storage / "hub.log").write_text("learning-memory-server hub: The index is of a later version.\n")
    connecting = connect()
    for _ in range(5):
        hub.accept_silently().close()
    with pytest.raises(StorageUnavailableError, match=r"The index is of a later version\."):
        connecting.result(MINUTES / 2)


def test_the_process_that_locked_the_data_is_named_if_no_hub_answers(place: HubPaths, hub: ScriptedHub) -> None:
    # The hub's socket is there, but nobody accepts connections.
    del hub
    link = HubLink(place, hello_of(place), [].append, connect_seconds=0.1)
    with exclusive(place.journal, "a nightly import"), pytest.raises(StorageUnavailableError, match="a nightly import"):
        link.connect()


@pytest.mark.slow
def test_a_hub_that_is_slow_to_start_is_waited_for(place: HubPaths, hub: ScriptedHub) -> None:
    seconds = 2.0
    link = HubLink(place, hello_of(place), [].append, connect_seconds=seconds)
    begun = time.monotonic()
    is_late = threading.Event()

    def wait(limit: float, connection: socket.socket | None = None) -> bool:
        select.select([connection] if connection else [], [], [], min(limit, 0.05))
        if time.monotonic() > begun + seconds:
            is_late.set()
        return True

    def start_slowly() -> None:
        accepted = hub.accept_silently()
        assert is_late.wait(MINUTES)
        accepted.send(ack_of())

    # What the hub before it has left, which was killed.
    place.storage.mkdir(parents=True)
    locations.note_silence(str(place.storage))
    with exclusive(place.journal, "the memory hub", socket=place.socket), ThreadPoolExecutor(1) as threads:
        starting = threads.submit(start_slowly)
        connection = link.connect(wait)
        starting.result(MINUTES)
    assert connection
    connection.close()


@pytest.mark.slow
def test_a_hub_that_is_known_to_be_silent_is_not_waited_for_again(place: HubPaths, hub: ScriptedHub) -> None:
    del hub
    place.storage.mkdir(parents=True)
    link = HubLink(place, hello_of(place), [].append, connect_seconds=MINUTES)
    begun = time.monotonic()
    with exclusive(place.journal, "the memory hub", socket=place.socket):
        os.utime(place.journal / LOCK, (0, 1))
        locations.note_silence(str(place.storage))
        with pytest.raises(DeadlineExceededError, match="listens"):
            link.connect()
    assert time.monotonic() - begun < MINUTES / 2


def test_a_hub_that_stays_silent_is_named(place: HubPaths, hub: ScriptedHub) -> None:
    # Its socket is there, but it does not answer.
    del hub
    link = HubLink(place, hello_of(place), [].append, connect_seconds=0.1)
    with (
        exclusive(place.journal, "the memory hub", socket=place.socket),
        pytest.raises(DeadlineExceededError, match=rf"hub \(process {os.getpid()}\) listens") as silent,
    ):
        link.connect()
    assert "hub stop" in str(silent.value.hint)
