"""Messages between a command and the hub, one a line."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server import rendezvous
from learning_memory_server.errors import LearningMemoryError

if TYPE_CHECKING:
    import socket
    from collections.abc import Mapping

_PING_AFTER: Final = 1.0
"""Seconds of silence after which the hub is asked for a sign of life."""
_CHUNK: Final = 1 << 18


class Conversation:
    """One connection to the hub, which is blocking.

    Args:
        connection: Where they go.
        hung_after: Seconds of silence before `TimeoutError`.
    """

    def __init__(self, connection: socket.socket, hung_after: float) -> None:
        self._connection = connection
        self._hung_after = hung_after
        self._received = bytearray()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        self._connection.settimeout(self._hung_after)
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def receive(self, *, ping: bool = False) -> dict[str, Any]:
        """Wait for the next message; with `ping`, ask the hub for signs of life meanwhile.

        Raises:
            TimeoutError: After long silence.
            EOFError: If the hub has closed the connection.
        """
        heard = time.monotonic()
        while True:
            line, found, rest = self._received.partition(b"\n")
            if found:
                self._received = rest
                if line.startswith(rendezvous.PRIVATE):
                    continue
                message: dict[str, Any] = json.loads(line)
                return message
            left = heard + self._hung_after - time.monotonic()
            if left <= 0:
                raise TimeoutError
            self._connection.settimeout(min(left, _PING_AFTER))
            try:
                data = self._connection.recv(_CHUNK)
            except TimeoutError:
                if ping:
                    self._connection.sendall(rendezvous.PING)
                continue
            if not data:
                raise EOFError
            self._received += data
            heard = time.monotonic()

    def ask(self, identity: int, method: str, **params: object) -> dict[str, Any]:
        """Send a request and return its result.

        Raises:
            LearningMemoryError: If it is an error.
        """
        self.send({"jsonrpc": "2.0", "id": identity, "method": method, "params": params})
        while (message := self.receive(ping=True)).get("id") != identity or "method" in message:
            continue
        if "error" in message:
            raise LearningMemoryError(f"The memory hub failed: {message['error']['message']}")
        result: dict[str, Any] = message["result"]
        return result
