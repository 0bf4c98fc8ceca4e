"""The connections of fronts and commands; and plain calls, which are answered without the MCP SDK.

Importing the SDK takes a second and 30 MB, and few sessions need it. A plain call is a small `tools/call` after
the handshake, of protocols with the same form of results. The first line of another kind leaves the connection to the
SDK.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeVar

import structlog

from learning_memory_server.errors import LearningMemoryError, StorageUnavailableError
from learning_memory_server.server.calls import TOOL_USE, unforeseen
from learning_memory_server.system import timeouts
from learning_memory_server.system.imports import fast_imports
from learning_memory_server.system.ipc import discovery, jsonrpc
from learning_memory_server.system.waiting import Budget

if TYPE_CHECKING:
    from learning_memory_server.server.calls import Calls
    from learning_memory_server.server.composition.services import Services
    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.session import Lines, Session
    from learning_memory_server.server.tools.toolset import Result
    from learning_memory_server.system.ipc.jsonrpc import Frame

    OpenSession = Callable[[Calls, "PlainCalls"], Session]


log = structlog.get_logger()
T = TypeVar("T")


@dataclass(slots=True)
class FrontLines:
    """Reads and writes lines, and handles the private ones.

    `on_drain` is called when the front asks the hub to end, and returns whether it waits. `asked_again` has the ids of
    requests that another hub got before.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    on_drain: Callable[[], bool]
    asked_again: set[object] = field(default_factory=set)

    async def read(self) -> bytes:
        """Return the next line for the server; empty if the front has nothing more to say."""
        while (line := await self.reader.readline()).startswith(discovery.PRIVATE):
            if line == discovery.DRAIN and self.on_drain():
                return b""
            if line == discovery.PING:
                await self.write(discovery.PONG)
                continue
            with suppress(ValueError, KeyError, TypeError):
                self.asked_again.update(json.loads(line)["ids"])
        return line

    async def write(self, line: bytes) -> None:
        """Write a line."""
        self.writer.write(line)
        await self.writer.drain()


async def answer(
    work: Callable[[Report], Coroutine[Any, Any, dict[str, Any]]],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    on_replaced: Callable[[], None] | None = None,
) -> dict[str, Any]:
    """Do the work, report its progress, and return its reply or failure. If the command leaves: `OSError`.

    For `on_replaced` see `unforeseen`.
    """

    def report(doing: str, done: int = 0, total: int = 0) -> None:
        writer.write(discovery.progress(doing, done, total))

    task = asyncio.create_task(work(report))
    try:
        await _show_life(task, reader, writer)
    except OSError:
        log.info("command.withdrawn")
        raise
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    try:
        return task.result()
    except LearningMemoryError as error:
        return {"error": error.to_control_body()}
    except Exception as error:
        # The top level of every operation: the hub serves others, and the command shows only the sentence.
        log.exception("command.crashed")
        return {"error": unforeseen(error, on_replaced=on_replaced).to_control_body()}


async def unless_left(work: Coroutine[Any, Any, T], reader: asyncio.StreamReader) -> T:
    """Return the result of some work; give it up, and raise `ConnectionResetError`, if the client leaves before."""
    task = asyncio.create_task(work)
    leaving = asyncio.create_task(reader.read())
    try:
        await asyncio.wait([task, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ConnectionResetError
        return task.result()
    finally:
        for each in (task, leaving):
            each.cancel()
        await asyncio.gather(task, leaving, return_exceptions=True)


async def _show_life(
    task: asyncio.Task[dict[str, Any]], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """Give signs of life until the task is done. Raise `OSError` if the command leaves before that."""
    # A command sends nothing else, so the next thing to read is its end.
    leaving = asyncio.create_task(reader.read())
    try:
        while True:
            await asyncio.wait([task, leaving], timeout=timeouts.SIGN_OF_LIFE, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return
            if leaving.done():
                leaving.result()
                raise ConnectionResetError
            writer.write(discovery.PONG)
            await writer.drain()
    finally:
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)


async def describe(services: Services) -> dict[str, Any]:
    """Return the state of the model, the index and the journal; `points` is None if the index does not answer."""
    points = None
    if services.index.is_open:
        try:
            points = await services.index.with_budget(Budget(timeouts.COUNT)).counts()
        except StorageUnavailableError as error:
            services.writer.invalidate(error)
    return {
        "model": services.embeddings.state.value,
        "runtime": services.embeddings.runtime,
        "unrelated": services.index.scale.known and services.index.scale.known.unrelated,
        "scale_failed": services.index.scale.failure,
        "pending": services.writer.missing,
        "complete": services.writer.is_complete,
        "points": points,
        **(services.availability.refusal() if services.availability else {}),
    }


async def send(writer: asyncio.StreamWriter, message: dict[str, Any]) -> None:
    """Send a message."""
    writer.write(json.dumps(message).encode() + b"\n")
    await writer.drain()


VERSIONS: Final = ("2025-06-18", "2025-11-25")  # Protocols with the same form of a call's result
_LONGEST: Final = 16_000  # Bytes of the longest line here: whether a text is valid Unicode is checked before the call
_VERSION: Final = "io.modelcontextprotocol/protocolVersion"  # What requests of later protocols have in their `_meta`
_INITIALIZED: Final = "notifications/initialized"


class PlainCalls:
    """The lines of a connection. Until `serve` returns, its plain calls are answered, each in a task of its own."""

    def __init__(self, lines: Lines, calls: Calls) -> None:
        self._lines = lines
        self._calls = calls
        self._kept: deque[bytes] = deque()
        self._reading: asyncio.Task[bytes] | None = None
        self._running: dict[asyncio.Task[None], str | int | None] = {}
        self._is_greeted = False
        self._is_stopped = False

    async def serve(self) -> bool:
        """Answer calls until a line is for the SDK; False after `stop_reading`, or if the client left."""
        while not self._is_stopped:
            reading = self._read_ahead()
            await asyncio.wait([reading])
            if reading.cancelled():
                break
            self._reading = None
            if not (line := reading.result()):
                break
            if not self._take(line):
                self._kept.append(line)
                return True
        return False

    def stop_reading(self) -> None:
        """Read no more lines: `serve` returns False."""
        self._is_stopped = True
        if self._reading is not None:
            self._reading.cancel()

    async def finish(self) -> None:
        """Wait until the calls that were read are answered."""
        # Also beside one that the client has cancelled.
        await asyncio.gather(*self._running, return_exceptions=True)

    async def keep_until(self, work: asyncio.Future[Any]) -> bool:
        """Keep lines and answer pings until some work is done, or the client has left: then return False."""
        while not work.done():
            reading = self._read_ahead()
            await asyncio.wait([reading, work], return_when=asyncio.FIRST_COMPLETED)
            if reading.done():
                self._reading = None
                if not (line := reading.result()):
                    return False
                self._kept.append(line)
        return True

    async def read(self) -> bytes:
        """Return the next line: first those that were kept, then what the connection brings."""
        if self._kept:
            return self._kept.popleft()
        reading, self._reading = self._read_ahead(), None
        return await reading

    async def write(self, line: bytes) -> None:
        """Write a line."""
        await self._lines.write(line)

    async def close(self) -> None:
        """Stop reading, and give up the calls that are not answered."""
        self.stop_reading()
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _read_ahead(self) -> asyncio.Task[bytes]:
        self._reading = self._reading or asyncio.create_task(self._next())
        return self._reading

    async def _next(self) -> bytes:
        """Return the next line of the connection, which may cancel a plain call whoever else reads it."""
        line = await self._lines.read()
        if self._running and len(line) <= _LONGEST:
            frame = jsonrpc.read(line)
            if frame.method == "notifications/cancelled" and isinstance(frame.parameters, dict):
                self._cancel(frame.parameters.get("requestId"))
        return line

    def _take(self, line: bytes) -> bool:
        """Begin what a line asks for. Return False, and do nothing, if it is for the SDK."""
        frame = jsonrpc.read(line) if len(line) <= _LONGEST else None
        if frame is None or frame.flaw:
            return False
        if self._is_plain_call(frame):
            task = asyncio.create_task(self._answer(frame))
            self._running[task] = frame.identity
            task.add_done_callback(self._running.pop)
            return True
        is_own = isinstance(frame.identity, str) and frame.identity.startswith(jsonrpc.OWN_ID)
        if not (is_own or frame.identity is None):
            return False
        if frame.method == "tools/list":
            # A client that lists the tools will use them.
            with self._calls.around():
                pass
        elif is_own or frame.method == _INITIALIZED:
            # What opens a session. Nobody waits for the answers to the front's own requests.
            self._kept.append(line)
            if frame.method == "initialize" and isinstance(frame.parameters, dict):
                self._is_greeted = frame.parameters.get("protocolVersion") in VERSIONS
        return True

    def _cancel(self, wanted: object) -> None:
        for task, identity in self._running.items():
            if identity == wanted:
                task.cancel()

    def _is_plain_call(self, frame: Frame) -> bool:
        params = frame.parameters
        if not (self._is_greeted and frame.is_request and frame.method == "tools/call"):
            return False
        if not isinstance(params, dict) or not params.keys() <= {"name", "arguments", "_meta"}:
            return False
        meta = params.get("_meta", {})
        return (
            isinstance(params.get("name"), str)
            and isinstance(params.get("arguments", {}), dict)
            and isinstance(meta, dict)
            and _VERSION not in meta
            # The SDK refuses half a surrogate pair.
            and jsonrpc.is_unicode(json.dumps(params, ensure_ascii=False))
        )

    async def _answer(self, frame: Frame) -> None:
        assert isinstance(frame.parameters, dict)
        arguments: dict[str, Any] = frame.parameters.get("arguments", {})
        tool_use = frame.parameters.get("_meta", {}).get(TOOL_USE)
        result = await self._calls.call(frame.identity, frame.parameters["name"], arguments, tool_use=tool_use)
        message = {"jsonrpc": "2.0", "id": frame.identity, "result": as_json(result)}
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        with suppress(ConnectionError):  # A client that has left is noticed where it is read
            # Half a surrogate pair in a file's name, say, is no reason to leave a call without its answer.
            await self._lines.write(text.encode("utf-8", "replace") + b"\n")


def as_json(result: Result) -> dict[str, Any]:
    """Return a result as the protocols in `VERSIONS` have it."""
    structured = {} if result.structured is None else {"structuredContent": result.structured}
    return {"content": [{"type": "text", "text": result.text}], **structured, "isError": result.is_error}


def import_protocol() -> OpenSession:
    """Import what the MCP SDK is needed for, and return what makes a session."""
    with fast_imports():
        from learning_memory_server.server.app import build_server
        from learning_memory_server.server.session import Session
    return lambda calls, lines: Session(build_server(calls), lines)
