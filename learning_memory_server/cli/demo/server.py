"""The demo's server process, and the MCP client that calls its tools."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.cli.terminal import working
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.system.paths import PREFIX

if TYPE_CHECKING:
    from mcp import Client

_ANSWER_SECONDS: Final = 90.0
"""Clustering waits for the model, which is slow to load on a busy machine."""


@asynccontextmanager
async def connect(storage: Path, log: Path) -> AsyncIterator[Client]:
    """Start a server over a folder, without the user's settings, and end it afterwards. Its stderr goes to the log.

    Raises:
        LearningMemoryError: If the server cannot be started, or ends.
    """
    from mcp import Client, MCPError, StdioServerParameters  # noqa: PLC0415 - costs half a second
    from mcp.client.stdio import stdio_client  # noqa: PLC0415

    settings = {"STORAGE_PATH": str(storage), "PROJECT": "demo", "CONFIG": os.devnull}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "learning_memory_server", "--direct"],
        env=inherited | {PREFIX + name: value for name, value in settings.items()},
    )
    try:
        async with AsyncExitStack() as stack:
            with working("Starting the server"):
                stderr = stack.enter_context(log.open("a", encoding="utf-8"))
                client = Client(stdio_client(parameters, errlog=stderr), read_timeout_seconds=_ANSWER_SECONDS)
                await stack.enter_async_context(client)
            yield client
    except (BaseExceptionGroup, MCPError, OSError) as error:
        cause: BaseException = error
        # The client's task groups wrap whatever passes through them, Ctrl-C included.
        while isinstance(cause, BaseExceptionGroup):
            cause = cause.exceptions[0]
        if isinstance(cause, (MCPError, OSError)):
            raise LearningMemoryError(f"The server does not answer: {cause}.") from error
        raise cause from None


async def call(server: Client, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool and return its structured reply.

    Raises:
        LearningMemoryError: If the server refuses, in the server's words.
    """
    reply = await server.call_tool(tool, arguments)
    if reply.is_error:
        error = json.loads("".join(block.text for block in reply.content if block.type == "text"))["error"]
        raise LearningMemoryError(error["message"], hint=error.get("hint"))
    return dict(reply.structured_content or {})
