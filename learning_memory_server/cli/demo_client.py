"""A server process of the demo's own, and a client that speaks MCP with it."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.paths import PREFIX

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from mcp import Client
    from mcp.types import Tool

PROJECT: Final = "demo"
_ANSWER_WITHIN: Final = 90.0
"""Seconds. Clustering waits for the model, which takes long where little processor time is to be had."""


class DemoClient:
    """A client that is connected to a server.

    Args:
        client: The SDK's client, connected.
        tools: What the server offers.
        seconds_to_connect: From starting the process to its first answer.
    """

    def __init__(self, client: Client, tools: list[Tool], seconds_to_connect: float) -> None:
        self._client = client
        self.tools = tools
        self.seconds_to_connect = seconds_to_connect

    async def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its structured reply.

        Raises:
            LearningMemoryError: If the server refuses, in the server's words.
        """
        reply = await self._client.call_tool(tool, arguments)
        if reply.is_error:
            raise _refusal("".join(block.text for block in reply.content if block.type == "text"))
        return dict(reply.structured_content or {})

    async def list_all(self, tool: str) -> list[dict[str, Any]]:
        """Return the results of every page of a listing tool."""
        page = await self.call(tool, limit=100)
        results = list(page["results"])
        while "offset" in page:
            page = await self.call(tool, limit=100, offset=page["offset"])
            results += page["results"]
        return results


@asynccontextmanager
async def connect(storage: Path, server_log: Path) -> AsyncIterator[DemoClient]:
    """Start a server over `storage` and end it afterwards.

    Nothing that the user has set is in force: neither the variables nor the settings file.

    Args:
        storage: Where the server keeps everything.
        server_log: Gets the server's stderr, after what is there already.

    Raises:
        LearningMemoryError: If the server cannot be started, or goes away.
    """
    from mcp import Client, MCPError, StdioServerParameters  # noqa: PLC0415 - costs half a second
    from mcp.client.stdio import stdio_client  # noqa: PLC0415

    settings = {"STORAGE_PATH": str(storage), "PROJECT": PROJECT, "CONFIG": os.devnull}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "learning_memory_server", "--direct"],
        env=inherited | {PREFIX + name: value for name, value in settings.items()},
    )
    started = time.perf_counter()
    try:
        with server_log.open("a", encoding="utf-8") as stderr:
            transport = stdio_client(parameters, errlog=stderr)
            async with Client(transport, read_timeout_seconds=_ANSWER_WITHIN) as client:
                seconds = time.perf_counter() - started
                yield DemoClient(client, (await client.list_tools()).tools, seconds)
    except (BaseExceptionGroup, MCPError, OSError) as error:
        # The client's task groups wrap whatever passes through them, the end of the program included.
        cause = _innermost(error)
        if isinstance(cause, (MCPError, OSError)):
            raise LearningMemoryError(f"The server is not there: {cause}.") from error
        raise cause from None


def _innermost(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _refusal(text: str) -> LearningMemoryError:
    try:
        error = json.loads(text)["error"]
        return LearningMemoryError(error["message"], hint=error.get("hint"))
    except (ValueError, KeyError, TypeError):
        return LearningMemoryError(text)
