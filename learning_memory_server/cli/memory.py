"""The memory as commands use it: through the hub that runs, or held by the command itself.

Both ways run the same tools, so that a command has one way to show what it got.
"""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from learning_memory_server.cli.access import services_of
from learning_memory_server.cli.hub_client import find_hub
from learning_memory_server.cli.terminal import progress_bar, show_notice, working
from learning_memory_server.domain.caller import Caller
from learning_memory_server.identity import caller_of
from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.rendezvous import Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from learning_memory_server.cli.hub_client import HubClient
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.server.config import Settings
    from learning_memory_server.server.services import Services

_BATCH: Final = 50
"""Entries that are sent to the hub at a time: small enough that its sessions get their turn in between."""
_LOADING: Final = "Loading the embedding model"


class Memory(Protocol):
    """What a command can do with the memory."""

    async def complete_index(self) -> int:
        """Wait for the model and until everything is in the index, and return how many points were added.

        Raises:
            EmbeddingUnavailableError: If there is no model.
            StorageUnavailableError: If the engine does not work.
        """
        ...

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its reply; absent (None) arguments are left out.

        Raises:
            LearningMemoryError: What the tool raises.
        """
        ...

    async def add(self, entries: Sequence[Ghap]) -> int:
        """Take resolved entries into the journal and return how many were new.

        Raises:
            JournalUnavailableError: If they cannot be written.
        """
        ...


def running_hub() -> HubClient | None:
    """Return the hub that holds the data of these settings, if one runs."""
    # Elsewhere there is no hub, and no lock either.
    return find_hub(Place(os.environ)) if hasattr(socket, "AF_UNIX") else None


@asynccontextmanager
async def open_memory(settings: Settings, command: str) -> AsyncIterator[Memory]:
    """Come to the memory through the hub, or hold it alone if there is none.

    Raises:
        AlreadyRunningError: If another process than a hub holds it.
        DeadlineExceededError: If the hub hangs.
    """
    hub = running_hub()
    if hub is not None:
        yield HubMemory(hub)
        return
    async with services_of(settings, command) as services:
        memory = OwnMemory(services, caller_of(os.environ, settings.project))
        try:
            yield memory
        finally:
            await memory.close()


class HubMemory:
    """The memory that a hub holds.

    Args:
        hub: The hub.
    """

    def __init__(self, hub: HubClient) -> None:
        self._hub = hub
        self._missing = 0
        status = hub.control("status")
        if status["settings"] != hub.place.settings:
            show_notice(
                "The memory hub that runs was started with other settings than these, and keeps them."
            )
        self._pending: int = status["pending"]

    async def complete_index(self) -> int:
        """See `Memory`. What others write meanwhile may be counted, too."""
        with working(_LOADING if not self._missing else "Indexing"):
            left: int = self._hub.control("complete")["pending"]
        return max(0, self._pending + self._missing - left)

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """See `Memory`."""
        return self._hub.call_tool(tool, _given(arguments))

    async def add(self, entries: Sequence[Ghap]) -> int:
        """See `Memory`."""
        new = 0
        with progress_bar("Importing", len(entries)) as advance:
            for start in range(0, len(entries), _BATCH):
                batch = entries[start : start + _BATCH]
                reply = self._hub.control("add", entries=[ghap_to_data(entry) for entry in batch])
                new += len(reply["added"])
                self._missing += reply["points"]
                advance(len(batch))
        return new


class OwnMemory:
    """The memory, held by this process.

    Args:
        services: The services over it.
        caller: Who calls the tools.
    """

    def __init__(self, services: Services, caller: Caller) -> None:
        self._services = services
        self._caller = caller
        self._indexing: asyncio.Task[None] | None = None

    async def complete_index(self) -> int:
        """See `Memory`."""
        written = await self._catch_up()
        # Clustering waits until this has seen that nothing is missing.
        self._indexing = self._indexing or asyncio.create_task(self._services.writer.run())
        return written

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """See `Memory`."""
        from learning_memory_server.server.tools import learning, search  # noqa: PLC0415 - mcp's types

        found = next(t for t in (*search.toolset.tools, *learning.toolset.tools) if t.name == tool)
        offered = {**self._services.injectable(), Caller: self._caller}
        return dict(await found.function(*(offered[kind] for kind in found.services), **_given(arguments)))

    async def add(self, entries: Sequence[Ghap]) -> int:
        """See `Memory`."""
        with working("Writing the journal"):
            return len(self._services.collector.add_resolved(entries))

    async def close(self) -> None:
        """End what runs in the background."""
        if self._indexing is not None:
            self._indexing.cancel()
            with suppress(asyncio.CancelledError):
                await self._indexing

    async def _catch_up(self) -> int:
        writer = self._services.writer
        with working(_LOADING):
            await self._services.index.open()
            pending = await writer.find_pending()
        if not pending:
            # Searches rely on the index only once it was found complete this way.
            return await writer.catch_up()
        with progress_bar("Indexing", pending) as advance:
            return await writer.catch_up(advance)


def _given(arguments: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in arguments.items() if value is not None}
