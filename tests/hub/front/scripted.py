"""A hub that follows a test's script, and a client of a relay in a thread."""

from __future__ import annotations

import json
import os
import select
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from learning_memory_server.hub.front.link import HubLink
from learning_memory_server.hub.front.relay import Relay
from learning_memory_server.system.ipc import discovery, programs, socket_security
from tests.support import MINUTES

"""Seconds before a test gives up waiting."""


def place_in(directory: Path) -> discovery.HubPaths:
    """Return a place in a directory whose path is short."""
    place = discovery.HubPaths(
        {
            "HOME": str(directory),
            "XDG_RUNTIME_DIR": str(directory),
            "LEARNING_MEMORY_STORAGE_PATH": str(directory / "data"),
        }
    )
    socket_security.prepare_folder(place.socket.parent)
    return place


def hello_of(place: discovery.HubPaths, **changes: Any) -> dict[str, Any]:
    return {
        "hello": discovery.PROTOCOL_VERSION,
        "role": "session",
        "build": programs.this_program(),
        "journal": str(place.journal),
        "storage": str(place.storage),
        "settings": place.settings,
        "project": None,
        "directory": "/",
        "session": "one session",
        "front": "one front",
        **changes,
    }


def ack_of(**changes: Any) -> dict[str, Any]:
    return {
        "ack": discovery.PROTOCOL_VERSION,
        "pid": os.getpid(),
        "build": programs.this_program(),
        "kept": "",
        "refused": None,
        "gives_way": False,
        **changes,
    }


class ScriptedHub:
    """Listens at the hub's socket and speaks its protocol. To the front, every `accept` is a new hub."""

    def __init__(self, place: discovery.HubPaths) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place.socket))
        self._listener.listen()
        self._listener.settimeout(MINUTES)
        self.hello: dict[str, Any] = {}
        self._connections: list[Connection] = []

    def accept(self, **changes: Any) -> Connection:
        """Wait for a front and send an ack with the given changes."""
        connection = self.accept_silently()
        connection.send(ack_of(**changes))
        return connection

    def accept_silently(self) -> Connection:
        """Wait for a front's hello and say nothing."""
        connection = Connection(self._listener.accept()[0])
        self._connections.append(connection)
        self.hello = connection.read()
        return connection

    def answer_everything(self) -> None:
        """Answer every request, until the front leaves."""
        if self._connections and not self._connections[-1].is_closed:
            self._connections[-1].answer_everything()

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._listener.close()


class Connection:
    """The hub's end of a connection."""

    def __init__(self, connected: socket.socket) -> None:
        connected.settimeout(MINUTES)
        self._socket = connected
        self._lines = connected.makefile("rb")
        self._asked: list[str | int] = []
        self.is_closed = False
        self.pings = 0
        self.said_again: list[str | int] = []

    def read_line(self) -> bytes:
        """Return the next line, after answering pings and skipping the ids of repeated requests."""
        deadline = time.monotonic() + MINUTES
        while (line := self._lines.readline()) == discovery.PING or line.startswith(b'{"hub":"again"'):
            assert time.monotonic() < deadline, "only pings came"
            if line == discovery.PING:
                self.answer_ping()
            else:
                self.said_again += json.loads(line)["ids"]
        try:
            self._asked.append(json.loads(line)["id"])
        except (ValueError, KeyError, TypeError, RecursionError):
            return line
        return line

    def read(self) -> Any:
        """Return the next message."""
        return json.loads(self.read_line())

    def wait_for_pings(self, count: int) -> None:
        """Read and answer only pings."""
        for _ in range(count):
            assert self._lines.readline() == discovery.PING
            self.answer_ping()

    def answer_ping(self) -> None:
        self.pings += 1
        self.send(discovery.PONG)

    def send(self, message: dict[str, Any] | bytes) -> None:
        self._socket.sendall(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")

    def answer(self, identity: str | int, text: str = "done") -> None:
        self.send(answer(identity, text))

    def serve(self, client: Client, asked: dict[str, Any], text: str = "done") -> None:
        """Read a request, answer it, and see that the client hears that next."""
        assert self.read() == asked
        self.tell(client, asked["id"], text)

    def tell(self, client: Client, identity: str | int, text: str = "done") -> None:
        """Answer a request, and see that the client hears that next."""
        self.answer(identity, text)
        assert client.receive() == answer(identity, text)

    def answer_everything(self) -> None:
        with suppress(OSError):
            while True:
                while self._asked:
                    self.answer(self._asked.pop())
                if not self.read_line():
                    return

    def close(self) -> None:
        self.is_closed = True
        self._lines.close()
        self._socket.close()


class Client:
    """A relay in a thread, and the client's ends of its pipes."""

    def __init__(self, link: HubLink, **limits: Any) -> None:
        their_in, self._in = os.pipe()
        self._out, their_out = os.pipe()
        relay = Relay(link, their_in, their_out, **limits)

        def run() -> None:
            try:
                relay.run()
            finally:
                os.close(their_in)
                os.close(their_out)

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        self._rest = b""

    def send(self, *messages: dict[str, Any] | bytes) -> None:
        """Write the messages at once."""
        view = memoryview(b"".join(m if isinstance(m, bytes) else json.dumps(m).encode() + b"\n" for m in messages))
        while view:
            view = view[os.write(self._in, view) :]

    def reach(self, hub: ScriptedHub, *messages: dict[str, Any] | bytes) -> Connection:
        """Write the messages, and return the hub's end of the connection that they bring."""
        self.send(*messages)
        return hub.accept()

    def receive_line(self) -> bytes:
        """Return the next line; empty at the end."""
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self._out], [], [], MINUTES)
            assert ready, "nothing came"
            data = os.read(self._out, 1 << 16)
            if not data:
                break
            self._rest += data
        line, feed, self._rest = self._rest.partition(b"\n")
        return line + feed

    def receive(self) -> Any:
        """Return the next message."""
        return json.loads(self.receive_line())

    def hears_nothing(self, seconds: float) -> bool:
        """Return whether nothing arrives for a while."""
        ready, _, _ = select.select([self._out], [], [], seconds)
        return not ready and not self._rest

    def close_stdin(self) -> None:
        os.close(self._in)
        self._in = -1

    def leave(self) -> None:
        """Close the client's end; the relay ends by itself."""
        self.close_stdin()
        self.wait_for_end()

    def wait_for_end(self) -> None:
        """Wait until the relay has ended by itself."""
        self._thread.join(MINUTES)
        assert not self._thread.is_alive(), "the front did not end"

    def close(self, hub: ScriptedHub | None = None) -> None:
        """End like a client that expects no more answers."""
        if self._in >= 0:
            self.close_stdin()
        if hub:
            hub.answer_everything()
        self.wait_for_end()
        os.close(self._out)


ClientOf = Callable[..., Client]
"""Starts a client of a relay with the given limits."""


def request(identity: str | int, method: str = "tools/call", **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "method": method, "params": params}


def notification(name: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": f"notifications/{name}", "params": params}


def answer(identity: str | int, text: str = "done") -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": identity, "result": {"text": text}}


def ids(messages: list[Any]) -> list[Any]:
    return [message.get("id", message.get("method")) for message in messages]


def error_of(message: dict[str, Any]) -> dict[str, str]:
    """Return the error of a tool call, after checking its form."""
    result = message["result"]
    assert result.keys() == {"content", "isError", "resultType"}
    assert result["isError"] is True
    (block,) = result["content"]
    error: dict[str, str] = json.loads(block["text"])["error"]
    return error
