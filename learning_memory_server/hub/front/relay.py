"""The front's process: lines from the client to the hub and back, across as many hubs as it takes.

Requests are kept until they are answered, and the next hub gets them again after a loss. Writes are journalled under
the ids of front and request, so that each is done once. Each request is answered once.
"""

from __future__ import annotations

import os
import select
import sys
import time
from contextlib import suppress

from learning_memory_server.errors import (
    DeadlineExceededError,
    InvalidInputError,
    LearningMemoryError,
    StorageUnavailableError,
)
from learning_memory_server.hub.front.answers import Answers
from learning_memory_server.hub.front.link import HubLink, hello_of
from learning_memory_server.model import limits
from learning_memory_server.system import timeouts
from learning_memory_server.system.ending import run_and_exit
from learning_memory_server.system.ipc import discovery, jsonrpc, socket_security
from learning_memory_server.system.locations import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from collections.abc import Collection
    from typing import Any, Final, NoReturn

_CHUNK: Final = 1 << 18
LOSSES_MAX: Final = 3  # Repetitions of open calls when hubs end: one of the calls may be what kills them


class Relay:
    """One client's session. For its seconds see `timeouts.PING_AFTER` and `timeouts.HUNG_AFTER`."""

    def __init__(
        self,
        link: HubLink,
        client_in: int = 0,
        client_out: int = 1,
        *,
        answers: Answers | None = None,
        ping_after: float = timeouts.PING_AFTER,
        hung_after: float = timeouts.HUNG_AFTER,
        frame_max: int = limits.FRAME_MAX,
    ) -> None:
        self._link = link
        self._client_in = client_in
        self._client_out = client_out
        self._ping_after = ping_after
        self._hung_after = hung_after
        self._frame_max = frame_max
        self._hub: socket.socket | None = None
        self._to_hub = bytearray()
        self._is_partial = False
        self._from_hub = jsonrpc.LineSplitter(limits.FRAME_MAX)
        self._open: dict[str | int, tuple[str, bytes]] = {}
        self._answers = answers or Answers()
        self._from_client = jsonrpc.LineSplitter(frame_max)
        self._client_open = True
        self._heard = time.monotonic()
        self._pinged = 0.0
        self._is_silent = False
        self._held = bytearray()
        self._losses = 0
        self._rest_until = 0.0
        self._sent_before: dict[Any, None] = {}

    def run(self) -> None:
        """Relay until the client has closed its side and has all its answers."""
        while self._client_open or self._awaited():
            if self._hub is None and (self._to_hub or self._open):
                self._reconnect()
                continue
            readable: list[Any] = [self._client_in] if self._client_open else []
            readable += [self._hub] if self._hub else []
            writable = [self._hub] if self._hub and self._to_hub else []
            waits = None
            if self._hub and self._awaited():
                waits = min(self._ping_after, timeouts.STILL_SILENT / 4) if self._is_silent else self._ping_after
            ready, sendable, _ = select.select(readable, writable, [], waits)
            if self._client_in in ready:
                self._read_client()
            if self._hub and self._hub in ready:
                self._receive(self._hub)
            if self._hub and self._hub in sendable:
                self._send(self._hub)
            if self._hub and self._awaited():
                self._watch()
        if self._hub:
            self._hub.close()

    def _read_client(self) -> None:
        data = os.read(self._client_in, _CHUNK)
        self._client_open = bool(data)
        # The last line may lack its line feed.
        for line in self._from_client.feed(data or b"\n"):
            self._take(line)

    def _take(self, line: bytes | None) -> None:
        """Answer a line from the client, or keep it for the hub."""
        frame = self._read(line)
        if frame.flaw and frame.is_answered:
            error = InvalidInputError(frame.flaw)
            write_all(self._client_out, jsonrpc.failure(frame.identity, frame.method, error, frame.code))
            return
        if line is None:
            return
        answered = self._answers.answer(line, frame)
        if answered is not None:
            answer, told = answered
            write_all(self._client_out, answer)
            self._to_hub += b"".join(each for each in told if self._hub or each not in self._answers.opening)
            return
        rests = self._is_silent or (self._hub is None and time.monotonic() < self._rest_until)
        if rests and frame.is_hook:
            self._ping()
            write_all(self._client_out, jsonrpc.empty_reply(frame.identity))
            return
        is_kept = line in self._answers.opening
        if frame.is_request:
            assert frame.identity is not None
            if not self._awaited():
                self._heard = time.monotonic()
            self._open[frame.identity] = frame.method, line
            is_kept = True
        elif frame.method == "notifications/cancelled":
            self._forget(frame.parameters)
        # Kept lines are sent, in order, once there is a hub, or a sign of life from it.
        if self._is_silent and frame.is_request:
            self._ping()
            self._held += line
        elif self._hub or not is_kept:
            self._to_hub += line

    def _read(self, line: bytes | None) -> jsonrpc.Frame:
        if line is None:
            return jsonrpc.too_long(self._frame_max)
        frame = jsonrpc.read(line)
        if line.startswith(discovery.PRIVATE):
            # The hub would take it for one of the front's own lines.
            frame.flaw = frame.flaw or "The message begins with a key that is reserved."
            frame.is_answered = True
        return frame

    def _forget(self, parameters: object) -> None:
        """Treat a request that the client has cancelled as answered."""
        if isinstance(parameters, dict):
            identity = parameters.get("requestId")
            if isinstance(identity, (str, int)) and identity in self._open:
                _, line = self._open.pop(identity)
                if self._hub and time.monotonic() - self._heard > timeouts.HOOK_IS_LATE and jsonrpc.read(line).is_hook:
                    self._is_silent = True
                    self._ping()
                if self._hub is None:
                    self._rest_until = time.monotonic() + timeouts.HOOKS_REST  # It has waited for a hub in vain

    def _receive(self, hub: socket.socket) -> None:
        try:
            data = hub.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lose_hub(hub)
            return
        self._heard = time.monotonic()
        self._is_silent = False
        self._to_hub += self._held
        self._held.clear()
        for line in self._from_hub.feed(data):
            if isinstance(line, bytes) and not line.startswith(discovery.PRIVATE):
                self._from_hub_line(line)

    def _from_hub_line(self, line: bytes) -> None:
        frame = jsonrpc.read(line)
        if not frame.method:
            if frame.identity is not None and self._open.pop(frame.identity, None) is None:
                return  # The answer to a repeated handshake, or to a call that has failed already
            self._losses = 0
        write_all(self._client_out, line)

    def _send(self, hub: socket.socket) -> None:
        try:
            sent = hub.send(self._to_hub[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:
            self._lose_hub(hub)
            return
        self._is_partial = self._to_hub[sent - 1] != ord("\n")
        del self._to_hub[:sent]

    def _lose_hub(self, hub: socket.socket) -> None:
        hub.close()
        self._hub = None
        self._losses += 1
        self._sent_before.update(dict.fromkeys(self._open))
        # A request that was sent in part is in `_open`, and is sent again as a whole.
        self._to_hub.clear()
        self._held.clear()
        self._is_silent = self._is_partial = False
        self._from_hub = jsonrpc.LineSplitter(limits.FRAME_MAX)

    def _reconnect(self) -> None:
        asked, is_awaited = list(self._open), self._awaited()

        def wait(seconds: float, connection: socket.socket | None = None) -> bool:
            self._serve_client(seconds, connection)
            if is_awaited:
                return self._awaited()
            # A call is given a whole attempt, not the rest of one that was made to be ready.
            return self._client_open and not self._awaited()

        try:
            if self._losses > LOSSES_MAX:
                self._losses = 0
                raise StorageUnavailableError(
                    f"The memory hub ended {LOSSES_MAX + 1} times during this call.",
                    hint="Run `learning-memory-server hub logs` to see why. What was written is safe.",
                )
            self._hub = self._link.connect(wait)
        except LearningMemoryError as error:
            self._rest_until = time.monotonic() + timeouts.HOOKS_REST
            self._give_up(error, asked)
            return
        if self._hub is None:
            return
        self._hub.setblocking(False)
        again = bytearray()
        if self._sent_before:
            again += discovery.again(list(self._sent_before))
            self._sent_before.clear()
        greeting, *rest = self._answers.opening or [b""]
        lines = [line for _, line in self._open.values()]
        if self._answers.opener in lines:
            # The front could not answer it, so it is still open, and is sent once.
            greeting = self._answers.opener
            lines.remove(greeting)
        again += b"".join([greeting, *rest, *lines])
        self._to_hub = again + self._to_hub
        self._heard = time.monotonic()

    def _serve_client(self, seconds: float, connection: socket.socket | None) -> None:
        """Let seconds pass, fewer if the client or the connection has something to say; the client is served."""
        readable: list[Any] = [self._client_in] if self._client_open else []
        readable += [] if connection is None else [connection]
        ready, _, _ = select.select(readable, [], [], seconds)
        if self._client_in in ready:
            self._read_client()

    def _watch(self) -> None:
        """Ask for a sign of life, and fail the open calls if there is none."""
        silent = time.monotonic() - self._heard
        if self._is_silent and silent > timeouts.STILL_SILENT:
            error = DeadlineExceededError(
                "The memory hub still gives no sign of life, so this call was not passed on to it.",
                hint="Calls work again as soon as it answers. `learning-memory-server hub stop` ends it, and the next "
                "call starts another.",
            )
            self._held.clear()
            self._give_up(error, list(self._open))
        elif silent > self._hung_after:
            error = DeadlineExceededError(
                f"The memory hub has given no sign of life for {self._hung_after:.0f} seconds.",
                hint="Before you call again, check with get_active_ghap or list_ghap_entries whether the call was "
                "carried out. If the hub stays silent, run `learning-memory-server status` to find its "
                "process, and end it.",
            )
            self._give_up(error, list(self._open))
            self._is_silent = True
        elif silent > self._ping_after:
            self._ping()

    def _ping(self) -> None:
        """Ask the hub for a sign of life, unless that was done a moment ago."""
        if self._hub and time.monotonic() - self._pinged > self._ping_after:
            self._pinged = time.monotonic()
            self._to_hub += discovery.PING

    def _awaited(self) -> bool:
        """Return whether an answer is due. A subscription does not count: it stays open as long as the client likes."""
        return any(method != "subscriptions/listen" for method, _ in self._open.values())

    def _give_up(self, error: LearningMemoryError, identities: Collection[str | int]) -> None:
        for identity in identities:
            if identity in self._open:
                method, _ = self._open.pop(identity)
                write_all(self._client_out, jsonrpc.failure(identity, method, error))
        # A line that was sent in part is completed, or the hub would take the next line for its rest.
        del self._to_hub[self._to_hub.find(b"\n") + 1 if self._is_partial else 0 :]


def main(*, has_hooks: bool = False, is_steered: bool = False) -> NoReturn:
    """Relay until the client leaves. It `is_steered` if variables of a project's file were ignored."""

    def relay() -> int:
        if not socket_security.has_hubs():
            _say(
                "This system does not support the hub. Start `learning-memory-server --direct`, one session at a time."
            )
            return 1
        place = discovery.HubPaths(os.environ)
        hello = {**hello_of(place, "session"), "hooks": has_hooks}
        # What is left then are not the user's settings: no hub may end for them.
        hello |= {"settings": None} if is_steered else {}
        # The end of a client.
        with suppress(BrokenPipeError):
            Relay(HubLink(place, hello, _say), answers=Answers(has_hooks=has_hooks)).run()
        return 0

    run_and_exit(relay)


def _say(sentence: str) -> None:
    print(f"learning-memory-server: {sentence}", file=sys.stderr)  # noqa: T201 - stderr is the log
