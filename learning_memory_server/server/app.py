"""The MCP server over the services."""

from __future__ import annotations

import hashlib
import json
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Any, Final

from mcp.server import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler
from mcp.types import ListToolsResult
from mcp.types import Tool as AdvertisedTool

from learning_memory_server.paths import APPLICATION
from learning_memory_server.server.boundary import Boundary
from learning_memory_server.server.progress import Progress
from learning_memory_server.server.tools import ghap, learning, memory, search

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping
    from contextlib import AbstractContextManager

    from mcp.server import ServerRequestContext
    from mcp.types import CallToolRequestParams, CallToolResult, PaginatedRequestParams

    from learning_memory_server.domain.caller import Caller

TOOLS: Final = [*ghap.toolset.tools, *learning.toolset.tools, *search.toolset.tools, *memory.toolset.tools]

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

Plain texts (notes, decisions, documents, conversations): add_memory keeps one, search_memory finds it again.

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
                _progress(context),
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


def _progress(context: ServerRequestContext[dict[str, Any]]) -> Progress:
    """Return what tells the client how far its call is, if it wants to know."""
    wanted = (context.meta or {}).get("progress_token") is not None
    return Progress(context.session.report_progress if wanted else None)


def _request(front: str, identity: object, tool: str, arguments: dict[str, Any]) -> str:
    """Return what names this very call. A client that uses an id twice means two calls if they differ."""
    # A long text is not escaped: that would make six bytes of a character.
    content = json.dumps([front, identity, tool, arguments], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:24]


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
