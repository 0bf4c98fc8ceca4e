"""The hub: its connections, what they can ask for, and when it shuts down."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import structlog

from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.errors import InvalidInputError, LearningMemoryError, StorageUnavailableError
from learning_memory_server.hooks.event import answer_for, event_of, is_for_advice
from learning_memory_server.hub import connections
from learning_memory_server.hub.cleared import CLEARED, ClearedSessions
from learning_memory_server.hub.connections import PlainCalls, import_protocol
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller, session_hash
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.claims import Folders
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import Services, services_over
from learning_memory_server.server.composition.statistics import journal_notices
from learning_memory_server.server.settings import Settings, explain_settings_mismatch, setting_notices
from learning_memory_server.server.tools.catalog import HOOK
from learning_memory_server.system import locations, timeouts
from learning_memory_server.system.ending import leave_shortly
from learning_memory_server.system.ipc import discovery, programs, socket_security
from learning_memory_server.system.paths import LOCK

if TYPE_CHECKING:
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.hub.connections import OpenSession
    from learning_memory_server.hub.listener import Listener
    from learning_memory_server.server.operations.report import Report
    from learning_memory_server.server.session import Session

log = structlog.get_logger()

_LOOK_SECONDS: Final = 1.0  # Seconds between checks that the hub is still needed
_TURN_SECONDS: Final = 0.0005  # A CPU-bound thread keeps the GIL so long: with 5 ms, clustering stalled calls


def run(
    place: discovery.HubPaths, door: Listener, settings: Settings, packaged: Callable[[], Embedder] = load_packaged
) -> bool:
    """Serve on the socket until the hub is not needed. Return whether Ctrl-C ended it."""
    configure_logging(settings.log_level, settings.storage_path / discovery.LOG)
    sys.setswitchinterval(_TURN_SECONDS)
    for sentence in setting_notices():
        log.warning("setting.unknown", message=sentence)

    async def serve() -> bool:
        async with services_over(settings, utc_now, packaged=packaged) as services:
            return await Hub(services, place, door).serve()

    return asyncio.run(serve())


class Hub:
    """Serves all fronts and commands of one user."""

    def __init__(self, services: Services, place: discovery.HubPaths, door: Listener) -> None:
        self._services = services
        self._place = place
        self._door = door
        self._program = programs.this_program()
        self._started = time.time()
        self._readers: set[PlainCalls | Session] = set()
        self._users: dict[asyncio.StreamWriter, str] = {}
        self._successors: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._calls = 0
        self._no_calls = asyncio.Event()
        self._no_calls.set()
        self._used = asyncio.Event()
        self._ending = asyncio.Event()
        self._is_interrupted = False
        self._last_needed = time.monotonic()
        self._folders = Folders(services.claims, services.journal.names, services.projects.has, services.exclusion)
        self._cleared = ClearedSessions(Path(place.storage) / CLEARED)
        self._server: asyncio.Server | None = None
        self._protocol: Future[OpenSession] | None = None

    async def serve(self) -> bool:
        """Accept connections until the hub is asked to end, is idle, or loses its data. Return whether by Ctrl-C."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, self._ending.set)
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        # Before anybody waits for an answer.
        await asyncio.to_thread(self._services.read_journal)
        await self._listen()
        # Only now that the journal is open: a program that cannot read it must not be the one to start.
        self._record()
        locations.end_silence(str(self._place.storage))
        background = [asyncio.create_task(self._services.writer.run(self._used)), asyncio.create_task(self._watch())]
        log.info("hub.started", pid=os.getpid(), version=self._program["version"])
        await self._ending.wait()
        if self._server:
            self._server.close()
        await self._drain()
        for task in background:
            task.cancel()
        log.info("hub.ended")
        return self._is_interrupted

    def _make_room(self) -> None:
        """End for a new hub: an upgrade has replaced files under this process, and the next hub imports all of them."""
        log.warning("hub.installation_replaced")
        self._ending.set()

    def _interrupt(self) -> None:
        self._is_interrupted = True
        self._ending.set()
        leave_shortly()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            user = socket_security.user_of(writer.get_extra_info("socket"))
            if user != os.geteuid():
                log.warning("connection.refused", user=user)
                return
            async with asyncio.timeout(timeouts.HELLO):
                hello = discovery.read_hello(await reader.readline())
            if hello["role"] == "control":
                reply = await connections.answer(partial(self._obey, hello), reader, writer, self._make_room)
                await connections.send(writer, reply)
                if "stopping" in reply:
                    self._ending.set()
            elif hello["role"] == "hook":
                # One that has given up tells its agent nothing.
                if not reader.at_eof():
                    await self._answer_hook(hello, reader, writer)
            elif (ack := await self._acknowledge(hello, writer))["refused"] is None:
                await self._serve_front(hello, ack, reader, writer)
        except (TimeoutError, OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            log.info("connection.broken", reason=type(error).__name__)
        finally:
            self._tasks.discard(task)
            was_as_it_is = self._users.pop(writer, None) == ""
            if was_as_it_is and self._users and all(self._users.values()) and not self._calls:
                log.info("hub.left_to_other_settings")
                self._ending.set()
            self._last_needed = time.monotonic()
            if writer not in self._successors:
                writer.close()

    def _gives_way_to(self, hello: dict[str, Any], writer: asyncio.StreamWriter) -> bool:
        """Return whether this hub ends, if it is asked: for a newer program, or for other settings of its only user."""
        is_alone = self._users.keys() == {writer} and not self._calls
        can_read = hello["build"]["journal"] >= self._program["journal"]
        others = is_alone and can_read and self._users[writer]
        return bool(others or programs.replaces(hello["build"], self._program)) and not hello.get("settles")

    def _record(self, successor: dict[str, Any] | None = None) -> None:
        # A store that cannot be written is still read.
        with suppress(OSError):
            programs.record(self._place.storage, self._program, successor)

    async def _acknowledge(self, hello: dict[str, Any], writer: asyncio.StreamWriter) -> dict[str, Any]:
        refused, is_command = self._place.reason_to_refuse(hello), hello["role"] == "command"
        kept = explain_settings_mismatch(self._services.settings, hello.get("settings"))
        if not (refused or is_command):
            self._users[writer] = kept  # Before anything is awaited, so that the hub is not promised to another
        ack = {
            "ack": discovery.PROTOCOL_VERSION,
            "pid": os.getpid(),
            "build": self._program,
            "kept": kept,
            "refused": refused,
            "gives_way": self._gives_way_to(hello, writer),
            # Commands do this by themselves. A front cannot: the module that knows the settings is slow to import.
            "notices": [] if is_command else self._notices(hello),
        }
        await connections.send(writer, ack)
        return ack

    async def _caller(self, hello: dict[str, Any], session: str) -> Caller:
        caller = await self._folders.caller(hello["directory"], hello["project"], session)
        return replace(caller, is_attended=hello.get("attended") is not False)

    async def _serve_front(
        self, hello: dict[str, Any], ack: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        caller = await self._caller(hello, session_hash(hello["session"]))

        def on_drain() -> bool:
            # Somebody may have come since.
            if ack["gives_way"] and self._gives_way_to(hello, writer):
                log.info("hub.asked_to_drain", version=hello["build"]["version"])
                # The fronts of older programs that lose this hub start that program, too.
                self._record(successor=hello["build"])
                self._ending.set()
                self._successors.append(writer)  # Closed by the end of this process, when the next hub can start
            return bool(ack["gives_way"])

        lines = connections.FrontLines(reader, writer, on_drain)
        if hello["role"] == "command":
            # It asks for a drain, or leaves.
            await lines.read()
            return
        calls = Calls(
            self._services.injectable(),
            caller,
            around=self._counted,
            front=hello["front"],
            asked_again=lines.asked_again,
            has_hooks=hello.get("hooks", False),
            note=self._users[writer],
            on_replaced=self._make_room,
        )
        plain = PlainCalls(lines, calls)
        try:
            with self._services.live.connected(caller.session, hello.get("process")):
                with self._while_reading(plain):
                    is_for_sdk = not self._ending.is_set() and await plain.serve()
                if is_for_sdk:
                    await self._serve_session(calls, plain)
                if self._ending.is_set():
                    await plain.finish()
        finally:
            await plain.close()

    async def _answer_hook(
        self, hello: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Answer a client's hook that is a command. A hub that is not the right one says nothing."""
        if self._place.reason_to_refuse(hello):
            return
        client = str(hello.get("client", ""))
        event = event_of(hello["given"], client)
        folder, group = str(hello["directory"]), hello.get("group")
        group = group if isinstance(group, int) else None
        # Two clients that do not name their sessions are not one.
        name = session_hash(event.get("session") or f"{client} {folder} {group}")
        given = hello["given"] if isinstance(hello["given"], dict) else {}
        if given.get("reason") == "clear":
            session = self._cleared.end(name, folder, group)
        elif given.get("source") == "clear":
            session = self._cleared.begin(name, folder, group)
        else:
            session = self._cleared.session(name)
        caller = await self._caller(hello, session)
        # It is not counted: then the hub would not give way to the session that this hook is of.
        self._used.set()
        calls = Calls(self._services.injectable(), caller, has_hooks=True, on_replaced=self._make_room)
        call = calls.call(None, HOOK, {"event": event})
        # Advice for a hook that has given up would count as shown.
        result = await (connections.unless_left(call, reader) if is_for_advice(event) else call)
        writer.write(answer_for(client, result.text).encode() + b"\n")
        await writer.drain()

    async def _serve_session(self, calls: Calls, lines: PlainCalls) -> None:
        """Leave a connection to the SDK, once it is imported."""
        self._protocol = self._protocol or in_daemon_thread(import_protocol)
        imported = asyncio.wrap_future(self._protocol)
        if not await lines.keep_until(imported) or self._ending.is_set():
            return
        if error := imported.exception():
            log.error("protocol.not_imported", exc_info=error)
            self._make_room()
            return
        session = imported.result()(calls, lines)
        with self._while_reading(session):
            await session.run()

    @contextmanager
    def _while_reading(self, reader: PlainCalls | Session) -> Iterator[None]:
        self._readers.add(reader)
        try:
            yield
        finally:
            self._readers.discard(reader)

    def _notices(self, hello: dict[str, Any]) -> list[str]:
        journal = self._services.journal
        return setting_notices(hello.get("variables", ())) + journal_notices(journal, journal.known_damage)

    async def _obey(self, hello: dict[str, Any], report: Report) -> dict[str, Any]:
        command, fields = hello.get("command"), hello.get("fields", {})
        if not isinstance(command, str) or not isinstance(fields, dict):
            raise InvalidInputError("The memory hub refused this: `command` must be a text, `fields` an object.")
        # Even a command meant for different data may ask which process is in its way, and stop it.
        if command == "status":
            return await self._status(hello)
        if command == "stop":
            return {"stopping": True, "pid": os.getpid()}
        if refused := self._place.reason_to_refuse(hello):
            raise StorageUnavailableError(f"The memory hub refused this command: {refused}.")
        from learning_memory_server.server.operations import operate

        with self._counted():
            return await operate(self._services, report, command, fields)

    async def _status(self, hello: dict[str, Any]) -> dict[str, Any]:
        own = explain_settings_mismatch(self._services.settings, hello.get("settings"))
        others = list(filter(None, (*self._users.values(), own)))[:1]
        return {
            "pid": os.getpid(),
            "version": self._program["version"],
            "build": self._program,
            "uptime_seconds": round(time.time() - self._started),
            "sessions": len(self._users),
            "notice": " ".join((*others, *journal_notices(self._services.journal, damaged=0))) or None,
            **await connections.describe(self._services),
            "journal": str(self._place.journal),
            "settings_current": not own,
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

    async def _listen(self) -> None:
        earlier = self._server
        self._server = await asyncio.start_unix_server(
            self._connected, sock=self._door.listener, limit=limits.FRAME_MAX + 1
        )
        if earlier:
            earlier.close()  # Its connections stay

    async def _watch(self) -> None:
        """Keep the socket in place, and shut down when the hub is not needed any more, or its data is gone."""
        idle_seconds = self._services.settings.hub_idle_minutes * 60
        inode = self._inode_of_lock()
        while True:
            await asyncio.sleep(min(_LOOK_SECONDS, idle_seconds))
            locations.end_silence(str(self._place.storage))
            if self._tasks:
                self._last_needed = time.monotonic()
            elif time.monotonic() - self._last_needed > idle_seconds:
                log.info("hub.idle")
                self._ending.set()
            # The data may be gone before the first look, or may not be looked at any more.
            if inode is None or self._inode_of_lock() != inode:
                log.warning("hub.lost_data")
                self._ending.set()
            else:
                await self._keep_reachable()

    def _inode_of_lock(self) -> int | None:
        try:
            return (self._place.journal / LOCK).stat().st_ino
        except OSError:
            return None

    async def _keep_reachable(self) -> None:
        """Bind the socket again if its file or folder was removed, or shut down if that is impossible."""
        if self._ending.is_set() or self._door.is_in_place():
            return
        try:
            self._door.bind_again()
        except LearningMemoryError as error:
            log.warning("hub.lost_socket", reason=error.message)
            self._ending.set()
        else:
            log.warning("hub.bound_again")
            await self._listen()

    async def _drain(self) -> None:
        """Let running calls finish and deliver their answers. Unread calls go to the next hub."""
        for reader in self._readers:
            reader.stop_reading()
        with suppress(TimeoutError):
            async with asyncio.timeout(timeouts.CALLS_END):
                await self._no_calls.wait()
                if self._tasks:
                    await asyncio.wait(self._tasks)
        for task in self._tasks:
            task.cancel()
