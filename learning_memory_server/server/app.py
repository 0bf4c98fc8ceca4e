"""The MCP server over the services, and its life on stdio."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

import anyio
import structlog
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.shared.message import SessionMessage
from mcp.types import ListToolsResult
from mcp.types import Tool as AdvertisedTool
from pydantic import ValidationError

from learning_memory_server.identity import caller_of
from learning_memory_server.paths import APPLICATION
from learning_memory_server.server.boundary import Boundary
from learning_memory_server.server.config import load_settings, unknown_variables
from learning_memory_server.server.frames import refusal
from learning_memory_server.server.logging import configure_logging
from learning_memory_server.server.services import open_services
from learning_memory_server.server.tools import ghap, learning, search

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Container, Iterator, Mapping
    from contextlib import AbstractContextManager

    from anyio.abc import ObjectSendStream
    from mcp.server import ServerRequestContext
    from mcp.shared._stream_protocols import WriteStream
    from mcp.types import CallToolRequestParams, CallToolResult, PaginatedRequestParams

    from learning_memory_server.domain.caller import Caller

log = structlog.get_logger()

TOOLS: Final = [*ghap.toolset.tools, *learning.toolset.tools, *search.toolset.tools]

INSTRUCTIONS: Final = """\
Memory of what you believed and what happened, across sessions and projects.

Search first: call search_experiences before you commit to a hypothesis, when something surprises you, and \
when you are stuck; list_values for the principles that past work taught.

The GHAP loop, for work where you might be wrong (debugging, design, performance):
1. start_ghap: goal, hypothesis (what you believe, so that it can turn out wrong), action, prediction (what \
you will observe if it is right). Before you act.
2. update_ghap: whenever evidence changes your hypothesis, action or prediction.
3. resolve_ghap: confirmed, falsified (with surprise and root_cause) or abandoned, and a lesson. As soon as \
you know, and honestly: wrong guesses teach most.
After a restart get_active_ghap shows what is still open.

Retrospective, after a body of work: get_clusters shows what recurs (axis root_cause for recurring mistakes), \
get_cluster_members what a group has in common; put it into a short principle, try it with validate_value, \
keep it with store_value.
"""


def build_server(
    services: Mapping[type, object],
    caller: Caller,
    *,
    around_call: Callable[[], AbstractContextManager[None]] = nullcontext,
    front: str | None = None,
    asked_again: Container[object] = (),
) -> Server[dict[str, Any]]:
    """Return a server for one connection.

    This is the SDK's low-level server: its two tool hooks are where this project validates arguments and
    turns failures into results, which the higher-level one does in its own way before any hook is called.

    Args:
        services: The services that tools may ask for, by type.
        caller: Who is at the other end.
        around_call: Entered while a client lists or calls tools.
        front: What names the connection's front, if it sends calls again that were not answered.
        asked_again: The ids of the requests that it has said to send again.
    """
    boundary = Boundary(TOOLS, services)

    async def list_tools(
        _context: ServerRequestContext[dict[str, Any]], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        with around_call():
            return _advertised()

    async def call_tool(
        context: ServerRequestContext[dict[str, Any]], params: CallToolRequestParams
    ) -> CallToolResult:
        arguments = dict(params.arguments or {})
        request = _request(front, context.request_id, params.name, arguments) if front else None
        with around_call():
            return await boundary.call(
                params.name,
                arguments,
                replace(caller, request=request, again=context.request_id in asked_again),
            )

    return Server(
        APPLICATION,
        version=metadata.version(APPLICATION),
        title="Learning memory",
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        # Nothing here changes while a client listens, but clients of the 2026 protocol ask.
        on_subscriptions_listen=ListenHandler(InMemorySubscriptionBus()),
    )


def _unread(error: ValidationError) -> str:
    """Return the line that the transport could not read: it is what the error was about, whole or parsed."""
    given = error.errors(include_url=False)[0]["input"]
    try:
        return given if isinstance(given, str) else json.dumps(given, default=str)
    except (ValueError, RecursionError):
        return ""


def _request(front: str, identity: object, tool: str, arguments: dict[str, Any]) -> str:
    """Return what names this very call. A client that uses an id twice means two calls if they differ."""
    content = json.dumps([front, identity, tool, arguments], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:24]


@cache
def _advertised() -> ListToolsResult:
    """Return the tools as clients see them; made when first asked for, after the first answer."""
    return ListToolsResult(
        tools=[
            AdvertisedTool(
                name=tool.name,
                title=tool.title,
                description=tool.description,
                input_schema=tool.input_schema,
                output_schema=tool.output_schema,
                annotations=tool.annotations,
            )
            for tool in TOOLS
        ]
    )


async def serve_stdio() -> None:
    """Serve one client on stdin and stdout until it leaves.

    Raises:
        LearningMemoryError: If the settings are wrong, or another process holds the journal.
    """
    settings = load_settings()
    configure_logging(settings.log_level)
    for sentence in unknown_variables(os.environ):
        log.warning("setting.unknown", message=sentence)
    caller = caller_of(os.environ, settings.project)
    used = asyncio.Event()
    async with open_services(settings, purpose="learning-memory-server on stdio") as services:

        @contextmanager
        def noticed() -> Iterator[None]:
            used.set()
            yield

        server = build_server(services.injectable(), caller, around_call=noticed)

        async def warm_up() -> None:
            # Importing the model holds the interpreter for seconds; the client's first answers go first.
            await used.wait()
            await asyncio.sleep(_HEAD_START)
            await services.writer.run()

        async with stdio_server() as (read, write):
            tasks = [asyncio.create_task(warm_up())]
            readable, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
            tasks.append(asyncio.create_task(_refuse_unreadable(read, readable, write)))
            try:
                await server.run(messages, write, server.create_initialization_options())
            finally:
                for task in tasks:
                    task.cancel()


async def _refuse_unreadable(
    read: AsyncIterable[SessionMessage | Exception],
    readable: ObjectSendStream[SessionMessage | Exception],
    write: WriteStream[SessionMessage],
) -> None:
    """Pass on what the transport could read, and answer what it could not."""
    async with readable:
        async for item in read:
            answer = refusal(_unread(item)) if isinstance(item, ValidationError) else None
            if answer is None:
                await readable.send(item)
            else:
                await write.send(answer)


_HEAD_START: Final = 0.1
"""Seconds between the first tool request and the loading of the model."""
