"""The whole program in this process, and all that it offers, as it says itself: tools, resources, commands and logs.

A hub serves a store. Agents talk to its services through the SDK's client, hooks and commands through its socket.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mcp import Client
from mcp.client.extension import advertise
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.types import CallToolResult, TextContent, TextResourceContents
from typer.testing import Result

from learning_memory_server.cli.app import app, declared
from learning_memory_server.hub.front.link import hello_of
from learning_memory_server.hub.hub import Hub
from learning_memory_server.hub.listener import open_door
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.app import build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services, services_over
from learning_memory_server.server.tools.catalog import HOOK, OF_APPS, WITH_HOOKS
from learning_memory_server.server.tools.toolset import Tool
from learning_memory_server.system.ipc import discovery
from learning_memory_server.system.locking import hold
from tests.advice.parts import MeasuredModel
from tests.command_line import in_process
from tests.logs import log_to
from tests.services import settings_in
from tests.support import MINUTES, InProcessFitting, until

TOOLS: Final[Mapping[str, Tool]] = {tool.name: tool for tool in (*WITH_HOOKS, *OF_APPS)}
"""Every tool that some client sees. What clients are shown of their schemas lacks some limits."""
AGENTS_TOOLS: Final = {name: tool for name, tool in TOOLS.items() if name != HOOK}


def commands() -> dict[str, Any]:
    """Return every command that does something, by the words that call it."""

    def inside(name: str, command: Any) -> Iterator[tuple[str, Any]]:
        parts = getattr(command, "commands", {})
        if not parts or command.invoke_without_command:
            yield name, command
        for word, part in parts.items():
            yield from inside(f"{name} {word}", part)

    return {name: part for word, command in declared().items() for name, part in inside(word, command)}


@dataclass(frozen=True, slots=True)
class Said:
    """What the program answered to one request, and whether it refused."""

    text: str
    is_refused: bool = False


class Agent:
    """A client that renders pages and has hooks, so that it sees every tool and resource."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def ask(self, tool: str, **arguments: Any) -> Said:
        """Return the answer of a tool, whether it is refused or not."""
        return said_by(await self.client.call_tool(tool, arguments))

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the payload of a call that succeeds; of a text, it is under `text`."""
        said = await self.ask(tool, **arguments)
        assert not said.is_refused, said.text
        reply: dict[str, Any] = json.loads(said.text) if TOOLS[tool].wire.is_structured else {"text": said.text}
        return reply

    async def resources(self) -> dict[str, str]:
        """Return the text of each resource, by its address."""
        found = {}
        for each in (await self.client.list_resources()).resources:
            (content,) = (await self.client.read_resource(str(each.uri))).contents
            assert isinstance(content, TextResourceContents)
            found[str(each.uri)] = content.text
        return found


def said_by(result: CallToolResult) -> Said:
    """Return the text of a result, which is one block."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return Said(block.text, bool(result.is_error))


@dataclass(frozen=True, slots=True)
class Program:
    """A hub that serves a store."""

    services: Services
    hub: Hub
    place: discovery.HubPaths
    environment: Mapping[str, str]

    @property
    def storage(self) -> Path:
        return Path(self.place.storage)

    def logs(self) -> dict[str, int]:
        """Return how many records each of the journal's logs has."""
        return {name: len(log.read().records) for name, log in Journal(Path(self.place.journal)).logs.items()}

    @asynccontextmanager
    async def agent(self, caller: Caller) -> AsyncIterator[Agent]:
        """Connect an agent."""
        calls = Calls(self.services.injectable(), caller, has_hooks=True)
        pages = [advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})]
        async with Client(build_server(calls), extensions=pages) as client:
            yield Agent(client)

    async def run(self, *words: str, **environment: str) -> Result:
        """Run a command as a person does, without a terminal, while the hub serves."""
        given = {**self.environment, **environment}
        return await asyncio.to_thread(in_process, app, *words, **given)

    async def command(self, *words: str, **environment: str) -> Said:
        """Run a command, and return all that it prints."""
        result = await self.run(*words, **environment)
        assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exc_info)
        return Said(result.output, result.exit_code != 0)

    async def hook(self, given: object, folder: Path, client: str = "", project: str | None = None, **more: Any) -> str:
        """Give a client's hook its input, JSON or bytes of it, and return what the hook prints."""
        words = given if isinstance(given, bytes) else json.dumps(given).encode()
        hello = {"journal": str(self.place.journal), "storage": str(self.place.storage), "role": "hook"}
        hello |= {"directory": str(folder), "client": client, "project": project, "attended": True, **more}  # type: ignore[dict-item]
        reader, writer = await asyncio.open_unix_connection(self.place.socket)
        try:
            writer.write(b'{"hello":1,"given":' + words + b"," + json.dumps(hello).encode()[1:] + b"\n")
            async with asyncio.timeout(MINUTES):
                return (await reader.read()).decode()
        finally:
            writer.close()


@asynccontextmanager
async def program_in(storage: Path, environment: Mapping[str, str], **changes: Any) -> AsyncIterator[Program]:
    """Serve a store as the hub's process does, with its log and with changes to the settings of a test."""
    place = discovery.HubPaths(environment)
    settings = settings_in(storage, **changes)
    with (
        log_to(storage / discovery.LOG, "debug"),
        hold(place.journal, place.storage, "the memory hub", socket=place.socket),
        open_door(place) as door,
    ):
        async with services_over(settings, utc_now, MeasuredModel, InProcessFitting()) as services:
            # However slow the machine is: nothing is left unsaid because it came late.
            services.room.has_deadline = False
            hub = Hub(services, place, door)
            serving = asyncio.create_task(hub.serve())
            try:
                program = Program(services, hub, place, environment)
                # A hub that nobody has asked anything opens no index.
                await until(place.socket.exists)
                await program.hook({}, storage)
                if not {"ollama_url", "qdrant_url"} & changes.keys():
                    await until(lambda: services.index.is_open, every=0.02)
                    await services.writer.settle()
                yield program
            finally:
                await _stop(place)
                await serving


async def _stop(place: discovery.HubPaths) -> None:
    reader, writer = await asyncio.open_unix_connection(place.socket)
    writer.write(json.dumps({**hello_of(place, "control"), "command": "stop"}).encode() + b"\n")
    await reader.read()
    writer.close()
