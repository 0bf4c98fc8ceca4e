"""The server in one process: one client on stdin and stdout, and no hub."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from anyio import to_thread

from learning_memory_server.model.identity import folder_of
from learning_memory_server.model.limits import FRAME_MAX
from learning_memory_server.server.app import build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.claims import Folders, caller_of
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.session import Session
from learning_memory_server.server.settings import load_settings, unknown_variables
from learning_memory_server.system import timeouts

log = structlog.get_logger()


async def serve_stdio(*, has_hooks: bool = False) -> None:
    """Serve one client on stdin and stdout until it leaves."""
    settings = load_settings()
    configure_logging(settings.log_level)
    for sentence in unknown_variables(os.environ):
        log.warning("setting.unknown", message=sentence)
    caller = caller_of(os.environ, settings)
    used = asyncio.Event()
    async with open_services(settings, purpose="learning-memory-server on stdio") as services:

        @contextmanager
        def noticed() -> Iterator[None]:
            used.set()
            yield

        folder, named = str(folder_of(os.environ)), settings.project
        telling = await Folders(services.claims, services.knows).telling(folder, named, caller.project)
        calls = Calls(services.injectable(), caller, around=noticed, has_hooks=has_hooks, may_tell=telling)
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
    """Return the descriptors of the client, and point stdin at nothing and stdout at stderr.

    Whatever a library or a child process prints then goes to the log, not into the protocol.
    """
    source, target = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return source, target
