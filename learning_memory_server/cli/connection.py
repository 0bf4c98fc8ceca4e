"""The memory as commands use it: through the hub that runs, or held by the command itself.

Both ways run the same operations, so that a command has one way to show what it got.
"""

from __future__ import annotations

import os
import socket
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli.access import current_project, holder_of
from learning_memory_server.cli.hub_client import find_hub
from learning_memory_server.cli.terminal import counted, show_notice, working
from learning_memory_server.errors import (
    DeadlineExceededError,
    EmbeddingUnavailableError,
    StorageUnavailableError,
)
from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.rendezvous import Place

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from learning_memory_server.cli.hub_client import HubClient
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.server.config import Settings
    from learning_memory_server.server.operations.report import Report

    Operate = Callable[[Report, str, dict[str, Any]], Awaitable[dict[str, Any]]]

_BATCH: Final = 50
"""Entries that are sent at a time: small enough that a hub's sessions get their turn in between."""
_HUB_ENDS_WITHIN: Final = 15.0
"""Seconds; a hub that is asked to end finishes its calls first."""
_LOOK_SECONDS: Final = 0.1


class Connection:
    """A way to the memory, for a command. Progress is shown meanwhile.

    Args:
        operate: Runs an operation; see `server.operations`.
        project: Whose calls these are.
    """

    def __init__(self, operate: Operate, project: str) -> None:
        self._operate = operate
        self._project = project
        # The calls of a command have no session that could have an entry open.
        self._session = os.urandom(8).hex()

    async def run(self, operation: str, **fields: object) -> dict[str, Any]:
        """Run an operation and return its result.

        Raises:
            DeadlineExceededError: If the hub gives no sign of life for long.
            StorageUnavailableError: If the hub ends meanwhile.
            LearningMemoryError: What the operation raises.
        """
        with working("Working") as report:
            reply = await self._operate(report, operation, fields)
        for sentence in reply.get("notices", ()):
            show_notice(sentence)
        return reply

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its reply; absent (None) arguments are left out.

        Raises:
            LearningMemoryError: See `run`.
        """
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self.run(
            "call", tool=tool, arguments=given, project=self._project, session=self._session
        )

    async def call_for_all(
        self, tool: str, items: str, *, most: int | None = None, **arguments: object
    ) -> dict[str, Any]:
        """Call a tool that lists, and return its first reply with the items of all pages.

        Args:
            tool: The tool.
            items: What a reply calls its items.
            most: How many of them are wanted.
            arguments: The tool's.

        Raises:
            LearningMemoryError: See `run`.
        """
        reply = page = await self.call(tool, **arguments)
        while "offset" in page and (most is None or len(reply[items]) < most):
            page = await self.call(tool, **arguments, offset=page["offset"])
            reply[items] += page[items]
        return {**reply, items: reply[items][:most]}

    async def add(self, entries: Sequence[Ghap]) -> int:
        """Take resolved entries into the journal and return how many were new.

        Raises:
            JournalUnavailableError: If they cannot be written.
            LearningMemoryError: See `run`.
        """
        new = 0
        with working("Importing") as report:
            for start in range(0, len(entries), _BATCH):
                batch = [ghap_to_data(entry) for entry in entries[start : start + _BATCH]]
                new += len((await self._operate(report, "add", {"entries": batch}))["added"])
                report("Importing", start + len(batch), len(entries))
        return new


async def when_complete(connection: Connection) -> str:
    """Wait until everything is in the index, if that is possible now, and say in how many points."""
    try:
        points = (await connection.run("complete"))["points"]
    except (DeadlineExceededError, EmbeddingUnavailableError, StorageUnavailableError) as error:
        show_notice(error.sentence)
        return (
            "pending: the entries are safe in the journal, and are indexed when a server or a command "
            "next finds the model and the engine working"
        )
    return f"complete: {counted(points, 'vector')}"


def running_hub() -> HubClient | None:
    """Return the hub that holds the data of these settings, if one runs."""
    # Elsewhere there is no hub.
    return find_hub(Place(os.environ)) if hasattr(socket, "AF_UNIX") else None


def connection_to_hub(settings: Settings) -> Connection | None:
    """Return a way through the hub that runs, if one does, for a command that can do without.

    Raises:
        DeadlineExceededError: If the hub hangs.
    """
    hub = running_hub()
    return Connection(hub.operate, current_project(settings)) if hub else None


@asynccontextmanager
async def open_connection(
    settings: Settings, command: str, load: Callable[[], Embedder] | None = None
) -> AsyncIterator[Connection]:
    """Come to the memory through the hub, or hold it alone if there is none. A hub of older code is ended.

    Args:
        settings: Which memory.
        command: What comes to it, shown to others.
        load: Loads the model, where it is not the hub that has it.

    Raises:
        AlreadyRunningError: If another process than a hub holds it.
        DeadlineExceededError: If the hub hangs, or does not end.
    """
    project = current_project(settings)
    hub = _hub_or_none(settings)
    status = hub.control("status") if hub else {}
    if hub and hub.is_older(status):
        show_notice(f"Asking the hub (process {status['pid']}) to make room for a newer version.")
        hub.end()
        # A session may have started another meanwhile.
        hub = _hub_or_none(settings)
        status = hub.control("status") if hub else {}
    if hub:
        if status["settings"] != hub.place.settings:
            show_notice(
                "The memory hub that runs was started with other settings than these, and keeps them."
            )
        yield Connection(hub.operate, project)
        return
    from learning_memory_server.server.operations import operate  # noqa: PLC0415 - the server's imports
    from learning_memory_server.server.services import open_services  # noqa: PLC0415

    purpose = f"learning-memory-server {command}"
    async with open_services(settings, purpose=purpose, load=load) as services:

        async def run(report: Report, name: str, fields: dict[str, Any]) -> dict[str, Any]:
            return await operate(services, report, name, fields)

        yield Connection(run, project)


def _hub_or_none(settings: Settings) -> HubClient | None:
    """Return the hub, if one runs. One that is starting or ending is waited for."""
    until = time.monotonic() + _HUB_ENDS_WITHIN
    while (hub := running_hub()) is None:
        who = holder_of(settings)
        if who is None or "socket" not in who or time.monotonic() > until:
            return None
        time.sleep(_LOOK_SECONDS)
    return hub
