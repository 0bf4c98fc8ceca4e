"""Operations of commands, in a hub that is started if none runs, or in the own process, under the lock."""

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

from learning_memory_server.cli import out
from learning_memory_server.cli.access.hub_client import HubClient, find_hub
from learning_memory_server.cli.command import holder_of
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.errors import (
    DeadlineExceededError,
    EmbeddingUnavailableError,
    InvalidSettingsError,
    StorageUnavailableError,
)
from learning_memory_server.hub.front.link import HubLink, hello_of
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.server.claims import caller_of
from learning_memory_server.server.settings import Settings
from learning_memory_server.system import timeouts
from learning_memory_server.system.ipc.discovery import Place
from learning_memory_server.system.ipc.socket_security import has_hubs

Operate = Callable[[out.Report, str, dict[str, Any]], Awaitable[dict[str, Any]]]

STARTS_HUB = True  # Whether a command starts a hub if none runs. Tests of commands turn it off, except those of that.
_BATCH: Final = 50  # Records per message
_BATCH_BYTES: Final = 4 * 1024 * 1024
_INTERRUPTIONS: Final = (asyncio.CancelledError, KeyboardInterrupt)
"""What Ctrl-C becomes: the second where it meets this process at work, the first where it waits."""
_READING: Final = ("call", "compare", "complete", "picture")  # Operations that leave nothing undone if interrupted


class Connection:
    """Runs operations for a command, shows their progress, and calls tools for the project of the settings.

    `redacted` counts the secrets of each kind that imports left out; `outlives_command` is whether a hub does the work.
    """

    def __init__(self, operate: Operate, settings: Settings, *, outlives_command: bool = False) -> None:
        self._operate = operate
        self.outlives_command = outlives_command
        self.redacted: Counter[str] = Counter()
        self._project = caller_of(os.environ, settings).project
        self._session = os.urandom(8).hex()  # A separate session, which has no open entry

    async def run(self, operation: str, doing: str = "Working", /, **fields: object) -> dict[str, Any]:
        """Run an operation and return its result, or raise its error. If it is interrupted, a notice says what remains.

        Raises `DeadlineExceededError` if the hub hangs, and `StorageUnavailableError` if it ends before it replies.
        """
        try:
            with out.working(doing) as report:
                reply = await self._operate(report, operation, fields)
        except _INTERRUPTIONS:
            if operation not in _READING:
                out.notice("Interrupted. What was finished stays; run the command again for the rest.")
            raise
        self.redacted.update(reply.get("redacted", {}))
        for sentence in reply.get("notices", ()):
            out.notice(sentence)
        return reply

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its reply. Arguments that are None are left out."""
        given = {name: value for name, value in arguments.items() if value is not None}
        return await self.run("call", tool=tool, arguments=given, project=self._project, session=self._session)

    async def call_for_all(self, tool: str, items: str, **arguments: object) -> dict[str, Any]:
        """Call a listing tool, and return its first reply with the `items` (the reply's key) of all pages."""
        reply = page = await self.call(tool, **arguments)
        while "offset" in page:
            page = await self.call(tool, **arguments, offset=page["offset"])
            reply[items] += page[items]
        return reply

    async def add(self, records: Sequence[JournalRecord]) -> int:
        """Add records to the journal, and return how many were new."""
        added = done = 0
        for batch in _batches(records):
            doing = f"Importing: {done:,} of {len(records):,}"
            reply = await self.run("add_records", doing, records=batch)
            added += len(reply["added"])
            done += len(batch)
        return added


def _batches(records: Sequence[JournalRecord]) -> Iterator[list[dict[str, Any]]]:
    """Yield records in batches small enough that a hub can serve its sessions in between."""
    batch: list[dict[str, Any]] = []
    size = 0
    for each in records:
        fields = each.to_fields()
        length = len(json.dumps(fields))
        if batch and (len(batch) == _BATCH or size + length > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(fields)
        size += length
    if batch:
        yield batch


WITHOUT_INDEX: Final = (
    DeadlineExceededError,
    EmbeddingUnavailableError,
    # Of the engine alone: such a setting is looked at when it is opened.
    InvalidSettingsError,
    StorageUnavailableError,
)
"""The errors after which a command does without the index."""


async def complete_index(connection: Connection) -> str:
    """Complete the index, or leave that to the hub if it takes long. Return a phrase that says how far it is."""
    try:
        async with asyncio.timeout(timeouts.COMMAND_INDEX if connection.outlives_command else None):
            points = (await connection.run("complete"))["points"]
    except TimeoutError:
        return "follows in the background; searches may miss some of it until `status` says that nothing is pending"
    except _INTERRUPTIONS:
        out.notice("Interrupted. Everything is in the journal; the index is completed later.")
        raise
    except WITHOUT_INDEX as error:
        out.notice(error.sentence)
        return (
            "pending: the entries are safe in the journal, and are indexed as soon as a server or a command "
            "finds the model and the engine working"
        )
    return f"complete: {out.counted(points, 'vector')}"


@asynccontextmanager
async def open_connection(
    settings: Settings, command: str, load: Callable[[], Embedder] | None = None
) -> AsyncIterator[Connection]:
    """Connect to the hub, and start it if none runs, or replace one of older code.

    Where no hub can run, and with `load`, which returns a loaded model, this process opens the data under the command's
    name. Raises `AlreadyRunningError` if another process has locked the data, `DeadlineExceededError` if the hub hangs,
    `StorageUnavailableError` if it cannot be used, and `UntrustedSocketError` if another user could listen.
    """
    patience = timeouts.COMMAND_SEARCH_HUB if command.endswith("search") else timeouts.COMMAND_HUNG_AFTER
    if hub := _reach_hub(settings, STARTS_HUB and load is None, patience):
        yield Connection(hub.operate, settings, outlives_command=True)
        return
    from learning_memory_server.server.composition.services import open_services
    from learning_memory_server.server.operations import operate

    purpose = f"learning-memory-server {command}"
    async with open_services(settings, purpose=purpose, load=load) as services:
        yield Connection(partial(operate, services), settings)


def _reach_hub(settings: Settings, may_start: bool, patience: float) -> HubClient | None:
    """Return the hub, or None if this process has to open the data itself."""
    if not has_hubs():
        return None
    who = holder_of(settings)
    can_be_reached = may_start if who is None else "socket" in who
    if not can_be_reached:
        return None
    place = Place(os.environ)
    try:
        with out.working("Connecting to the hub"):
            connection = HubLink(place, hello_of(place, "command"), out.notice, patience=patience).connect()
    except StorageUnavailableError as error:
        if holder_of(settings):
            raise
        out.notice(f"{error.sentence} This command works without a hub; sessions wait until it has ended.")
        return None
    # Without a `wait` that ends the attempt, there is a connection now.
    if connection:
        connection.close()
    return find_hub(place, hung_after=timeouts.OPERATION_SILENT)
