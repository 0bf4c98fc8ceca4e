"""The hub's life: connections, what they may ask, and when it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import struct
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server import rendezvous
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.identity import project_of, session_hash
from learning_memory_server.server.app import build_server
from learning_memory_server.server.config import load_settings, unknown_variables
from learning_memory_server.server.hub import control
from learning_memory_server.server.hub.session import Session
from learning_memory_server.server.logging import configure_file_logging
from learning_memory_server.server.operations import operate
from learning_memory_server.server.services import services_over

if TYPE_CHECKING:
    from collections.abc import Iterator

    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.services import Services

log = structlog.get_logger()

_HELLO_SECONDS: Final = 10.0
_CALLS_END_SECONDS: Final = 10.0
"""How long a draining hub waits for calls that run."""
_LOOK_SECONDS: Final = 1.0
"""Between two looks at whether the hub is still needed."""
_TURN_SECONDS: Final = 0.0005
"""For how long a thread that computes keeps the interpreter from another. A call reads and writes a dozen times and asks
for the interpreter after each, so with Python's own 5 ms one clustering thread stalled calls for 60 ms."""


def run(place: rendezvous.Place, listener: socket.socket) -> None:
    """Serve on the listening socket until nobody needs the hub any more."""
    settings = load_settings()
    configure_file_logging(settings.log_level, settings.storage_path / "hub.log")

    sys.setswitchinterval(_TURN_SECONDS)
    for sentence in unknown_variables(os.environ):
        log.warning("setting.unknown", message=sentence)

    async def serve() -> None:
        async with services_over(settings, utc_now) as services:
            await Hub(services, place).serve(listener)

    asyncio.run(serve())


class Hub:
    """Serves every front of its user.

    Args:
        services: What all sessions share.
        place: The data that is held.
    """

    def __init__(self, services: Services, place: rendezvous.Place) -> None:
        self._services = services
        self._place = place
        self._build = rendezvous.build()
        self._started = time.time()
        self._sessions: set[Session] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls = 0
        self._no_calls = asyncio.Event()
        self._no_calls.set()
        self._used = asyncio.Event()
        self._ending = asyncio.Event()
        self._last_needed = time.monotonic()

    async def serve(self, listener: socket.socket) -> None:
        """Accept connections until the hub is asked to end, is idle for long, or has lost its data."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ending.set)
        server = await asyncio.start_unix_server(
            self._connected, sock=listener, limit=rendezvous.FRAME_MAX + 1
        )
        background = [
            asyncio.create_task(self._services.writer.run_after(self._used)),
            asyncio.create_task(self._watch()),
        ]
        log.info("hub.started", pid=os.getpid(), version=self._build["version"])
        await self._ending.wait()
        server.close()
        await self._drain()
        for task in background:
            task.cancel()
        log.info("hub.ended")

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the event loop runs this as a task
        self._tasks.add(task)
        try:
            if not _is_same_user(writer.get_extra_info("socket")):
                log.warning("connection.refused", reason="another user")
                return
            async with asyncio.timeout(_HELLO_SECONDS):
                hello = json.loads(await reader.readline())
            if hello["role"] == "control":
                await self._control(hello, writer)
            else:
                await self._serve_front(hello, reader, writer)
        except (TimeoutError, OSError, ValueError, KeyError, TypeError) as error:
            log.info("connection.broken", reason=type(error).__name__)
        finally:
            self._tasks.discard(task)
            self._last_needed = time.monotonic()
            writer.close()

    async def _serve_front(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        refused = self._reason_to_refuse(hello)
        ack = {
            "ack": rendezvous.PROTOCOL,
            "pid": os.getpid(),
            "build": self._build,
            "settings": self._place.settings,
            "refused": refused,
            # The front cannot know: the settings are described in a module that takes long to import.
            "notices": unknown_variables(hello.get("variables", ())),
        }
        await control.send(writer, ack)
        if refused:
            return
        project = hello["project"] or await asyncio.to_thread(project_of, Path(hello["directory"]))
        caller = Caller(project, session_hash(hello["session"]))
        asked_again: set[object] = set()
        server = build_server(
            self._services.injectable(),
            caller,
            around_call=self._counted,
            front=hello["front"],
            asked_again=asked_again,
        )

        def on_drain() -> None:
            if rendezvous.is_newer(hello["build"], self._build):
                log.info("hub.asked_to_drain", version=hello["build"]["version"])
                self._ending.set()

        session = Session(server, reader, writer, on_drain, self._no_calls.wait, asked_again)
        self._sessions.add(session)
        try:
            await session.run()
        finally:
            self._sessions.discard(session)

    def _reason_to_refuse(self, hello: dict[str, Any]) -> str | None:
        if hello["hello"] != rendezvous.PROTOCOL:
            return f"it speaks version {rendezvous.PROTOCOL} of the hub's protocol, not {hello['hello']}"
        if (hello["journal"], hello["storage"]) != (str(self._place.journal), str(self._place.storage)):
            return "it holds other data"
        return None

    async def _control(self, hello: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        reply = await control.answer(lambda report: self._obey(hello, report), writer)
        await control.send(writer, reply)
        if "stopping" in reply:
            self._ending.set()

    async def _obey(self, hello: dict[str, Any], report: Report) -> dict[str, Any]:
        command = hello["command"]
        # Whoever holds other data may ask who is in its way, and end it.
        if command == "status":
            return await self._status()
        if command == "stop":
            return {"stopping": True, "pid": os.getpid()}
        if refused := self._reason_to_refuse(hello):
            raise StorageUnavailableError(f"The memory hub refused this command: {refused}.")
        with self._counted():
            return await operate(self._services, report, command, hello["fields"])

    async def _status(self) -> dict[str, Any]:
        return {
            "pid": os.getpid(),
            "version": self._build["version"],
            "build": self._build,
            "uptime_seconds": round(time.time() - self._started, 1),
            "sessions": len(self._sessions),
            "calls": self._calls,
            **await control.describe(self._services),
            "journal": str(self._place.journal),
            "storage": str(self._place.storage),
            "settings": self._place.settings,
            "executable": sys.executable,
        }

    @contextmanager
    def _counted(self) -> Iterator[None]:
        self._used.set()
        self._calls += 1
        self._no_calls.clear()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._no_calls.set()

    async def _watch(self) -> None:
        """End the hub when nobody has needed it for long, or when its data is gone."""
        idle_seconds = self._services.settings.hub_idle_minutes * 60
        lock = self._place.journal / ".lock"
        inode = lock.stat().st_ino
        while True:
            await asyncio.sleep(min(_LOOK_SECONDS, idle_seconds))
            if self._tasks:
                self._last_needed = time.monotonic()
            elif time.monotonic() - self._last_needed > idle_seconds:
                log.info("hub.idle")
                self._ending.set()
            with suppress(FileNotFoundError):
                if lock.stat().st_ino == inode:
                    continue
            log.warning("hub.lost_data")
            self._ending.set()

    async def _drain(self) -> None:
        """Let running calls end and their answers reach the fronts; what was not read is asked again elsewhere."""
        for session in self._sessions:
            session.stop_reading()
        self._services.memories.stop_waiting()
        with suppress(TimeoutError):
            async with asyncio.timeout(_CALLS_END_SECONDS):
                await self._no_calls.wait()
                if self._tasks:
                    await asyncio.wait(self._tasks)
        for task in self._tasks:
            task.cancel()


def _is_same_user(connection: socket.socket) -> bool:
    """Ask the kernel who is at the other end. Elsewhere than on Linux the socket's folder must suffice."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, user, _ = struct.unpack("3i", credentials)
    return bool(user == os.getuid())
