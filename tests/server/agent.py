"""An in-memory client that checks the wire form of every reply."""

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

import jsonschema  # type: ignore[import-untyped]
from mcp import Client
from mcp.types import CallToolResult, TextContent, Tool

from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.server.app import build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.tools.catalog import HOOK
from tests.acceptance import hubs
from tests.services import opened
from tests.support import keeping_up

CALLER: Final = Caller("shop", "a1")
OTHER_SESSION: Final = Caller("shop", "b2")
OTHER_PROJECT: Final = Caller("blog", "a1")
ENTRY: Final = hubs.ENTRY
OWL: Final = ENTRY | {
    "goal": "Draw the owl",
    "hypothesis": "It likes the meadow",
    "action": "sharpen a pencil",
    "prediction": "feathers look soft",
}
"""The arguments of a start_ghap call about another matter."""

FALSIFIED: Final[dict[str, Any]] = {
    "status": "falsified",
    "result": "totals were still wrong",
    "surprise": "the cache had been empty all along",
    "root_cause": {"category": "wrong-assumption", "description": "the database itself held old prices"},
}
"""The arguments of a resolve_ghap call without a lesson."""

CONFIRMED: Final[dict[str, Any]] = {
    "status": "confirmed",
    "result": "totals match",
    "lesson": {"what_worked": "clearing the cache", "takeaway": "deploys must clear the cache"},
}


_TOOLS: Final[dict[str, Tool]] = {}


class Agent:
    """An agent's calls: those that succeed and those that are refused."""

    def __init__(self, client: Client, tools: Mapping[str, Tool]) -> None:
        self.client = client
        self.tools = tools

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Return the payload of a call that succeeds."""
        result = await self.client.call_tool(tool, arguments)
        text = only_text(result)
        assert not result.is_error, text
        payload: dict[str, Any] = json.loads(text)
        assert payload == result.structured_content
        assert text == json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        assert len(text) < limits.REPLY_MAX
        assert not has_null(payload)
        schema = self.tools[tool].output_schema
        assert schema is not None
        checked_validator(json.dumps(schema)).validate(payload)
        return payload

    async def refused(self, tool: str, **arguments: Any) -> dict[str, str]:
        """Return the error {type, message, hint?} of a call that is refused."""
        return error_of(await self.client.call_tool(tool, arguments))

    async def resolve_new(self, *, entry: Mapping[str, Any] = ENTRY, **resolution: Any) -> str:
        """Start and resolve an entry, confirmed unless the arguments say otherwise, and return its id."""
        started = await self.call("start_ghap", **entry)
        await self.call("resolve_ghap", **(resolution or CONFIRMED))
        ghap_id: str = started["id"]
        return ghap_id

    async def largest_cluster(self, axis: str = "full") -> str:
        """Return the id of the first cluster of an axis."""
        clusters = (await self.call("get_clusters", axis=axis))["clusters"]
        cluster_id: str = clusters[0]["cluster_id"]
        return cluster_id


@asynccontextmanager
async def connected(calls: Calls) -> AsyncIterator[Client]:
    """Connect a client to a server of its own. It knows the tools, which are always the same.

    For each client, the SDK would list them and check their schemas. That takes longer than most tests.
    """
    async with Client(build_server(calls)) as client:
        if not _TOOLS:
            _TOOLS.update({tool.name: tool for tool in (await client.list_tools()).tools if tool.name != HOOK})
        schemas = {name: tool.output_schema for name, tool in _TOOLS.items()}
        client.session._tool_output_schemas |= {HOOK: None, **schemas}
        client.session._tool_output_validators |= {
            name: checked_validator(json.dumps(schema)) for name, schema in schemas.items() if schema is not None
        }
        yield client


@asynccontextmanager
async def agent_of(services: Services | Mapping[type, object], caller: Caller = CALLER) -> AsyncIterator[Agent]:
    """Connect an agent to its own server over the services."""
    injectable = services if isinstance(services, dict) else services.injectable()  # type: ignore[union-attr]
    async with connected(Calls(injectable, caller)) as client:
        yield Agent(client, _TOOLS)


@asynccontextmanager
async def indexing(services: Services) -> AsyncIterator[None]:
    """Keep the index open and complete, as a server does after its first request."""
    async with keeping_up(services.writer):
        await services.writer.settle()
        yield


@asynccontextmanager
async def at_work(where: Path | Settings, **given: Any) -> AsyncIterator[Services]:
    """Services as `opened` opens them, with their index open and kept complete."""
    async with opened(where, **given) as services, indexing(services):
        yield services


async def open_index(services: Services) -> None:
    """Open the index and write everything that is pending, once."""
    await services.index.open()
    await services.writer.find_pending()
    await services.writer.reconciler.catch_up()


@cache
def checked_validator(schema: str) -> jsonschema.Draft202012Validator:
    """Return what validates against a schema. The schema itself is checked once: that takes longer than a reply."""
    parsed = json.loads(schema)
    jsonschema.Draft202012Validator.check_schema(parsed)
    return jsonschema.Draft202012Validator(parsed)


def error_of(result: CallToolResult) -> dict[str, str]:
    """Return the error of a failed result, after checking its form."""
    text = only_text(result)
    assert result.is_error, text
    assert result.structured_content is None
    body = json.loads(text)
    assert text == json.dumps(body, ensure_ascii=False, separators=(",", ":"))
    assert body.keys() == {"error"}
    error: dict[str, str] = body["error"]
    assert {"type", "message"} <= error.keys() <= {"type", "message", "hint"}
    assert all(isinstance(part, str) and part for part in error.values())
    return error


def require(error: dict[str, str], kind: str, *said: str, hint: str = "") -> None:
    """Require that an error is of a kind, and that its message and its hint say these things, as patterns."""
    assert error["type"] == kind, error
    assert all(re.search(pattern, error["message"]) for pattern in said), error
    assert re.search(hint, error.get("hint", "")), error


def only_text(result: CallToolResult) -> str:
    """Return the text of a result's only block."""
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def has_null(node: Any) -> bool:
    """Return whether a null occurs anywhere."""
    if isinstance(node, dict):
        return any(map(has_null, node.values()))
    if isinstance(node, list):
        return any(map(has_null, node))
    return node is None


async def pages(agent: Agent, tool: str, key: str, **arguments: Any) -> list[dict[str, Any]]:
    """Return all pages of a listing by following the offsets."""
    reply = await agent.call(tool, **arguments)
    found = [reply]
    while "offset" in reply:
        assert len(reply[key]) == reply["count"] > 0
        reply = await agent.call(tool, **{**arguments, "offset": reply["offset"]})
        found.append(reply)
    return found


def moment(text: str) -> datetime:
    """Return the time in a reply, which must have a UTC offset of zero."""
    at = datetime.fromisoformat(text)
    assert at.utcoffset() == timedelta(0)
    return at
