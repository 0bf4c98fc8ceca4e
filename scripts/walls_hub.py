"""The hub of one person in `scripts.walls`: the real program in a process of its own, which may end at any moment."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli.access.hub_client import HubClient, find_hub
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.system.ipc.discovery import Place

if TYPE_CHECKING:
    from pathlib import Path

_PROGRAM: Final = (sys.executable, "-m", "learning_memory_server")
_HUNG_SECONDS: Final = 120.0
"""Seconds without a sign of life after which the run fails."""
_IDLE_MINUTES: Final = 30
"""A hub that a broken run leaves behind ends on its own."""


class Hub:
    """A hub, and the commands of its person.

    Args:
        storage: The storage folder.
        runtime: Where sockets are; sockets need a short path.
        url: The Qdrant server.
    """

    def __init__(self, storage: Path, runtime: Path, url: str) -> None:
        self.storage = storage
        self._runtime = runtime
        self.url = url
        self._is_embedded = False
        self._process: asyncio.subprocess.Process | None = None
        self._client: HubClient | None = None

    def beside(self, name: str) -> Hub:
        """Return a hub for a folder next to this one's."""
        return Hub(self.storage.with_name(name), self._runtime, self.url)

    async def start(self, *, embedded: bool = False) -> None:
        """Start it.

        Args:
            embedded: Whether it uses the embedded engine in place of the server.
        """
        self._is_embedded = embedded
        environment = self._environment()
        self._process = await self._run("hub", "run", output=asyncio.subprocess.DEVNULL)
        place = Place(environment)
        async with asyncio.timeout(_HUNG_SECONDS):
            while (client := find_hub(place, hung_after=_HUNG_SECONDS)) is None:  # noqa: ASYNC110 - another process
                await asyncio.sleep(0.02)
        self._client = client

    async def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        if self._client is not None:
            await asyncio.to_thread(self._client.control, "stop")
        await self._gone()

    async def kill(self) -> None:
        """End it with SIGKILL. Nothing happens if none runs."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
        await self._gone()

    async def do(self, operation: str, **fields: object) -> dict[str, Any]:
        """Run one of the operations behind the commands.

        Raises:
            LearningMemoryError: Whatever the operation raises, or because the hub ended meanwhile.
        """
        assert self._client is not None  # noqa: S101 - started before anything else
        return await self._client.operate(lambda *_: None, operation, fields)

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool as an agent does.

        Raises:
            LearningMemoryError: See `do`.
        """
        return await self.do(
            "call", tool=tool, arguments=arguments, project=self.storage.name, session="walls"
        )

    async def command(self, *arguments: str) -> None:
        """Run a command as a person does.

        Raises:
            LearningMemoryError: If it fails, with what it printed.
        """
        process = await self._run(*arguments, output=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        if process.returncode:
            raise LearningMemoryError(f"`{arguments[0]}` failed: {output.decode()[-500:]}")

    async def _run(self, *arguments: str, output: int) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *_PROGRAM,
            *arguments,
            env=self._environment(),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=asyncio.subprocess.STDOUT,
        )

    async def _gone(self) -> None:
        if self._process is not None:
            await self._process.wait()
        self._process = self._client = None

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("LEARNING_MEMORY_")}
        engine = {} if self._is_embedded else {"LEARNING_MEMORY_QDRANT_URL": self.url}
        return {
            **kept,
            **engine,
            "XDG_RUNTIME_DIR": str(self._runtime),
            "LEARNING_MEMORY_CONFIG": os.devnull,
            "LEARNING_MEMORY_STORAGE_PATH": str(self.storage),
            "LEARNING_MEMORY_PROJECT": self.storage.name,
            "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
            "LEARNING_MEMORY_REDACTION": "false",
            "LEARNING_MEMORY_LOG_LEVEL": "warning",
            "LEARNING_MEMORY_HUB_IDLE_MINUTES": str(_IDLE_MINUTES),
        }
