"""One client's connection to the SDK's server, also the only one of a process without a hub."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Protocol

import anyio
import structlog
from anyio import to_thread
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.server import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.caller import folder_of, session_of
from learning_memory_server.model.limits import FRAME_MAX
from learning_memory_server.server.app import build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.claims import Folders
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import load_settings, setting_notices
from learning_memory_server.system import timeouts
from learning_memory_server.system.ipc import jsonrpc
from learning_memory_server.system.locations import is_attended


class Lines(Protocol):
    """Where a session reads its messages, and where it writes them."""

    async def read(self) -> bytes:
        """Return the next line, or `FRAME_MAX` + 1 bytes of a longer one; empty if the client has closed its side."""

    async def write(self, line: bytes) -> None:
        """Write a line. Raises `ConnectionError` if the client is gone."""


class Session:
    """Serves one connection. Open requests have `grace` seconds left once the client has closed its side."""

    def __init__(self, server: Server[dict[str, Any]], lines: Lines, *, grace: float = 0.0) -> None:
        self._server = server
        self._lines = lines
        self._grace: float | None = grace
        self._unanswered = Unanswered()
        self._reading = anyio.CancelScope()

    async def run(self) -> None:
        """Serve until the client leaves or, after `stop_reading`, until the last answer is written."""
        incoming, messages = anyio.create_memory_object_stream[SessionMessage | Exception](16)
        answers, outgoing = anyio.create_memory_object_stream[SessionMessage | bytes](16)
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, incoming, answers.clone())
            group.start_soon(self._write, outgoing)
            await self._server.run(messages, answers, self._server.create_initialization_options())
            self._reading.cancel()  # Ends the reader. The writer ends after the last answer.

    def stop_reading(self) -> None:
        """Stop reading messages, and end once those already read are answered."""
        self._grace = None
        self._reading.cancel()

    async def _read(
        self,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[SessionMessage | bytes],
    ) -> None:
        async with incoming, answers:
            with self._reading, suppress(ConnectionError):
                while line := await self._lines.read():
                    await self._pass_on(line, incoming, answers)
                    del line  # It may have 64 MiB, and the next one may be hours away
            # When `incoming` closes, the SDK interrupts the calls that are still running.
            with anyio.move_on_after(self._grace):
                await self._unanswered.wait()

    async def _pass_on(
        self,
        line: bytes,
        incoming: MemoryObjectSendStream[SessionMessage | Exception],
        answers: MemoryObjectSendStream[SessionMessage | bytes],
    ) -> None:
        if len(line) > FRAME_MAX:
            await answers.send(_failure(jsonrpc.too_long(FRAME_MAX)))
            return
        message = _message(line)
        if not isinstance(message, types.JSONRPCRequest) and (answer := refusal(line)):
            await answers.send(answer)
        elif isinstance(message, ValidationError):
            await incoming.send(message)
        else:
            await incoming.send(SessionMessage(message))
            # Not before: if `stop_reading` cancels the sending, the message has no answer to wait for.
            self._unanswered.read(message)

    async def _write(self, outgoing: MemoryObjectReceiveStream[SessionMessage | bytes]) -> None:
        async with outgoing:
            with suppress(ConnectionError):
                async for item in outgoing:
                    if isinstance(item, bytes):
                        await self._lines.write(item)
                        continue
                    if (
                        isinstance(item.message, types.JSONRPCError)
                        and item.message.error.code == types.CONNECTION_CLOSED
                    ):
                        # The SDK interrupted a call. A front sends it to the next hub, and other clients are gone.
                        continue
                    text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await self._lines.write(text.encode() + b"\n")
                    self._unanswered.written(item.message)
        # The client is gone, or everything is answered.
        self._unanswered.drop()
        self._reading.cancel()


class Unanswered:
    """The client's unanswered requests."""

    def __init__(self) -> None:
        self._open: set[int | str] = set()
        self._answered = asyncio.Event()

    def read(self, message: object) -> None:
        """Note a message from the client."""
        # A subscription is not answered before the client leaves.
        if isinstance(message, types.JSONRPCRequest) and message.method != "subscriptions/listen":
            self._open.add(message.id)
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._close((message.params or {}).get("requestId"))

    def written(self, message: object) -> None:
        """Note a message that was written to the client."""
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._close(message.id)

    def drop(self) -> None:
        """Forget all requests: their answers are not read."""
        self._open.clear()
        self._answered.set()

    async def wait(self) -> None:
        """Wait until every request has its answer."""
        while self._open:
            self._answered.clear()
            await self._answered.wait()

    def _close(self, identity: object) -> None:
        if isinstance(identity, int | str):
            self._open.discard(identity)
        self._answered.set()


def _message(line: bytes) -> types.JSONRPCMessage | ValidationError:
    try:
        return types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        whole = jsonrpc.whole_letters(line)
        return error if whole == line else _message(whole)


def refusal(line: bytes) -> bytes | None:
    """Return the answer to a line that the SDK would drop or misread, or None if it needs no answer."""
    frame = jsonrpc.read(line)
    if not frame.is_answered:
        return None
    frame.flaw = frame.flaw or (
        "The message is not a JSON-RPC request, or it contains an unpaired surrogate (such as half an emoji), or "
        "too long a number, or too deep an array."
    )
    return _failure(frame)


def _failure(frame: jsonrpc.Frame) -> bytes:
    return jsonrpc.failure(frame.identity, frame.method, InvalidInputError(frame.flaw or ""), frame.code)


log = structlog.get_logger()


async def serve_stdio(*, has_hooks: bool = False) -> None:
    """Serve one client on stdin and stdout until it leaves."""
    settings = load_settings()
    configure_logging(settings.log_level)
    for sentence in setting_notices():
        log.warning("setting.unknown", message=sentence)
    used = asyncio.Event()
    async with open_services(settings, purpose="learning-memory-server on stdio") as services:

        @contextmanager
        def noticed() -> Iterator[None]:
            used.set()
            yield

        folders = Folders(services.claims, services.journal.names, services.projects.has, services.exclusion)
        caller = await folders.caller(str(folder_of(os.environ)), settings.project, session_of(os.environ))
        caller = replace(caller, is_attended=is_attended(os.environ))
        calls = Calls(services.injectable(), caller, around=noticed, has_hooks=has_hooks)
        server = build_server(calls)
        indexing = asyncio.create_task(services.writer.run(used))
        try:
            await Session(server, StdioLines(*_claim_stdio()), grace=timeouts.GRACE).run()
        finally:
            indexing.cancel()


class StdioLines:
    """Reads and writes lines in threads: stdin and stdout can be files, which an event loop cannot wait for."""

    def __init__(self, source: int, target: int, frame_max: int = FRAME_MAX) -> None:
        # Not closed: at the end of the process a thread may still read.
        self._source = os.fdopen(source, "rb", closefd=False)
        self._target = os.fdopen(target, "wb", closefd=False)
        self._frame_max = frame_max

    async def read(self) -> bytes:
        """Return the next line, or the first `frame_max` + 1 bytes of a longer one; empty at the end."""
        return await to_thread.run_sync(self._read, abandon_on_cancel=True)

    async def write(self, line: bytes) -> None:
        """Write a line."""
        await to_thread.run_sync(self._write, line)

    def _read(self) -> bytes:
        line = rest = self._source.readline(self._frame_max + 1)
        while len(line) > self._frame_max and rest and not rest.endswith(b"\n"):
            rest = self._source.readline(self._frame_max)
        return line

    def _write(self, line: bytes) -> None:
        self._target.write(line)
        self._target.flush()


def _claim_stdio() -> tuple[int, int]:
    """Return the descriptors of the client, and point stdin at nothing and stdout at stderr, for libraries."""
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target
