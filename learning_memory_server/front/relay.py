"""Lines from the client to the hub and back, over as many hubs as it takes.

What the client asked and was not yet answered is kept. When a hub is lost, the next one gets it again: a read does
no harm twice, and a write carries the front's id and the request's, under which the hub has journalled it, so that
it is done once. An answer is passed on only while its question is open, so the client never sees two.
"""

from __future__ import annotations

import json
import os
import select
import time

from learning_memory_server import rendezvous
from learning_memory_server.errors import (
    DeadlineExceededError,
    InvalidInputError,
    LearningMemoryError,
    StorageUnavailableError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any, Final

    from learning_memory_server.front.link import HubLink

_CHUNK: Final = 1 << 18
PING_AFTER: Final = 2.0
"""Seconds of silence from the hub, while an answer is awaited, after which it is asked for a sign of life."""
HUNG_AFTER: Final = 15.0
"""Seconds without a sign of life after which the open calls are given an error."""
_DIGITS_MAX: Final = 20
LOSSES_MAX: Final = 3
"""How often the open calls are asked again when hubs end without any answer: a call may be what ends them."""
_SUBSCRIBE: Final = "subscriptions/listen"


class Relay:
    """One client's session.

    Args:
        link: Makes connections to the hub.
        client_in: The descriptor that the client writes to.
        client_out: The descriptor that the client reads from.
        ping_after: Seconds; see `PING_AFTER`.
        hung_after: Seconds; see `HUNG_AFTER`.
        frame_max: Bytes of the longest message that is read from the client.
    """

    def __init__(  # noqa: PLR0913 - two ends and three limits
        self,
        link: HubLink,
        client_in: int = 0,
        client_out: int = 1,
        *,
        ping_after: float = PING_AFTER,
        hung_after: float = HUNG_AFTER,
        frame_max: int = rendezvous.FRAME_MAX,
    ) -> None:
        self._link = link
        self._client_in = client_in
        self._client_out = client_out
        self._ping_after = ping_after
        self._hung_after = hung_after
        self._frame_max = frame_max
        self._hub: socket.socket | None = None
        self._to_hub = bytearray()
        self._is_cut = False
        self._from_hub = Lines()
        self._open: dict[str | int, tuple[str, bytes]] = {}
        self._handshake: list[bytes] = []
        self._heard = time.monotonic()
        self._pinged = 0.0
        self._losses = 0
        self._sent_before: dict[Any, None] = {}

    def run(self) -> None:
        """Relay until the client closes its side and has its answers."""
        from_client, client_open = Lines(self._frame_max), True
        while client_open or self._awaited():
            if self._hub is None and (self._to_hub or self._open):
                self._reconnect()
            readable: list[Any] = [self._client_in] if client_open else []
            readable += [self._hub] if self._hub else []
            writable = [self._hub] if self._hub and self._to_hub else []
            waiting = bool(self._hub and self._awaited())
            ready, sendable, _ = select.select(readable, writable, [], self._ping_after if waiting else None)
            if self._client_in in ready:
                data = os.read(self._client_in, _CHUNK)
                client_open = bool(data)
                # The last line may come without its line feed.
                for line in from_client.feed(data or b"\n"):
                    self._from_client(line)
            if self._hub in ready:
                self._receive()
            if self._hub in sendable:
                self._send()
            if self._hub and self._awaited():
                self._watch()
        if self._hub:
            self._hub.close()

    def _from_client(self, line: bytes | None) -> None:
        if line is None:
            error = InvalidInputError(
                f"The message is longer than {self._frame_max} bytes and was not read.",
                hint="Split it.",
            )
            self._answer(None, "", error)
            return
        message = _parsed(line)
        method, identity = message.get("method"), message.get("id")
        if isinstance(method, str) and isinstance(identity, (str, int)):
            if not self._awaited():
                self._heard = time.monotonic()
            self._open[identity] = method, line
            if method == "initialize":
                self._handshake = [line]
        elif method == "notifications/initialized":
            self._handshake[1:] = [line]
        elif method == "notifications/cancelled":
            self._forget(message.get("params"))
        if self._hub is None and (
            line in self._handshake or any(line is kept for _, kept in self._open.values())
        ):
            # What is kept is sent, in its order, once there is a hub.
            return
        self._to_hub += line

    def _forget(self, parameters: object) -> None:
        """Take a request that the client has cancelled for answered."""
        if isinstance(parameters, dict):
            identity = parameters.get("requestId")
            if isinstance(identity, (str, int)):
                self._open.pop(identity, None)

    def _receive(self) -> None:
        assert self._hub is not None  # noqa: S101 - the caller has one
        try:
            data = self._hub.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose_hub()
            return
        self._heard = time.monotonic()
        for line in self._from_hub.feed(data):
            if line is not None and not line.startswith(rendezvous.PRIVATE):
                self._from_hub_line(line)

    def _from_hub_line(self, line: bytes) -> None:
        message = _parsed(line)
        is_answer = "method" not in message
        if is_answer:
            identity = message.get("id")
            if identity is not None and self._open.pop(identity, None) is None:
                # The answer to a replayed handshake, or to a call that was given up.
                return
            self._losses = 0
        _write(self._client_out, line)

    def _send(self) -> None:
        assert self._hub is not None  # noqa: S101 - the caller has one
        try:
            sent = self._hub.send(self._to_hub[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            self._lose_hub()
            return
        self._is_cut = self._to_hub[sent - 1] != ord("\n")
        del self._to_hub[:sent]

    def _lose_hub(self) -> None:
        assert self._hub is not None  # noqa: S101 - the caller has one
        self._hub.close()
        self._hub = None
        self._losses += 1
        self._sent_before.update(dict.fromkeys(self._open))
        # What was half sent is in `_open` if it matters: requests are sent again, whole.
        self._to_hub.clear()
        self._is_cut = False
        self._from_hub = Lines()

    def _reconnect(self) -> None:
        try:
            if self._losses > LOSSES_MAX:
                self._losses = 0
                raise StorageUnavailableError(
                    f"The memory hub ended {LOSSES_MAX + 1} times while it worked on this.",
                    hint="Run `learning-memory-server hub logs` to see why. What was written is kept.",
                )
            self._hub = self._link.connect()
        except LearningMemoryError as error:
            self._give_up(error)
            return
        self._hub.setblocking(False)
        again = bytearray()
        if self._sent_before:
            again += rendezvous.again(list(self._sent_before))
            self._sent_before.clear()
        initialize, initialized = self._handshake[:1], self._handshake[1:]
        lines = [line for _, line in self._open.values()]
        for line in lines if any(line in initialize for line in lines) else [*initialize, *lines]:
            again += line
            if line in initialize:
                again += b"".join(initialized)
        self._to_hub = again + self._to_hub
        self._heard = time.monotonic()

    def _watch(self) -> None:
        """Ask for a sign of life, and give up on the open calls when none comes."""
        silent = time.monotonic() - self._heard
        if silent > self._hung_after:
            self._give_up(
                DeadlineExceededError(
                    f"The memory hub has not given a sign of life for {self._hung_after:.0f} seconds.",
                    hint="See with get_active_ghap or list_ghap_entries whether the call was carried out, before "
                    "you call again. If it stays so, run "
                    "`learning-memory-server hub status` to find the process, and end it.",
                )
            )
            self._heard = time.monotonic()
        elif silent > self._ping_after and time.monotonic() - self._pinged > self._ping_after:
            self._pinged = time.monotonic()
            self._to_hub += rendezvous.PING

    def _awaited(self) -> bool:
        """Tell whether an answer is due; a subscription is open for as long as the client likes."""
        return any(method != _SUBSCRIBE for method, _ in self._open.values())

    def _give_up(self, error: LearningMemoryError) -> None:
        for identity, (method, _) in list(self._open.items()):
            del self._open[identity]
            self._answer(identity, method, error)
        # A line that is half sent is finished, or the next one would be taken for its rest.
        del self._to_hub[self._to_hub.find(b"\n") + 1 if self._is_cut else 0 :]

    def _answer(self, identity: Any, method: str, error: LearningMemoryError) -> None:  # noqa: ANN401
        outcome: dict[str, Any]
        if method == "tools/call":
            text = json.dumps({"error": error.to_body()}, separators=(",", ":"))
            outcome = {"result": {"content": [{"type": "text", "text": text}], "isError": True}}
        else:
            outcome = {"error": {"code": -32603, "message": error.sentence}}
        message = {"jsonrpc": "2.0", "id": identity, **outcome}
        _write(self._client_out, json.dumps(message).encode() + b"\n")


class Lines:
    """Cuts a stream into lines. One of more than `limit` bytes is skipped and becomes None."""

    def __init__(self, limit: int = rendezvous.FRAME_MAX) -> None:
        self._limit = limit
        self._rest = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | None]:
        """Take more of the stream and return the lines that are now complete."""
        lines: list[bytes | None] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._rest += data[start : end + 1]
            too_long = self._skipping or len(self._rest) > self._limit
            line = bytes(self._rest)
            if too_long or line.strip():
                lines.append(None if too_long else line)
            self._rest.clear()
            self._skipping = False
            start = end + 1
        self._rest += data[start:]
        if len(self._rest) > self._limit:
            self._rest.clear()
            self._skipping = True
        return lines


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the message, or an empty one if it is none: the hub's protocol library answers that."""
    try:
        # A number of thousands of digits would raise; it is no id, and the hub refuses it.
        message = json.loads(line, parse_int=lambda digits: int(digits) if len(digits) < _DIGITS_MAX else 0)
    except (ValueError, RecursionError):
        return {}
    return message if isinstance(message, dict) else {}


def _write(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
