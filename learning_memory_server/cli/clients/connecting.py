"""Starting the server as a client does, and asking it for its tools."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

from learning_memory_server.errors import ClientSetupError
from learning_memory_server.system import timeouts
from learning_memory_server.version import VERSION

_PROTOCOL: Final = "2025-11-25"
_INITIALIZE: Final = 1
_LIST: Final = 2
_LINE_MAX: Final = 16 * 1024 * 1024
_TAIL: Final = 65_536
_SAID_MAX: Final = 200
"""Characters of a program's last words that are shown."""


@dataclass(frozen=True, slots=True)
class Connected:
    """A server's name, how many tools it has, and the seconds from the start of its process to their list."""

    name: str
    tools: int
    seconds: float


async def connect(
    command: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    seconds: float = timeouts.HANDSHAKE,
) -> Connected:
    """Start a server on stdio, greet it, list its tools, and end it. It may take as long to end, up to five seconds.

    Raises:
        ClientSetupError: If it cannot be started, ends, answers with an error or something else, or is late.
    """
    began = time.monotonic()
    # A file, so that the server never waits for a reader of what it says.
    with TemporaryFile() as said:
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=said,
                env=dict(environment),
                cwd=directory,
                limit=_LINE_MAX,
            )
        except OSError as error:
            raise ClientSetupError(f"{command[0]} cannot be started ({error.strerror}).") from None
        try:
            async with asyncio.timeout(seconds):
                answers = await _converse(process)
            took = time.monotonic() - began
        except TimeoutError:
            raise ClientSetupError(f"{command[0]} did not answer within {seconds:g} s.") from None
        except ValueError:
            raise ClientSetupError(f"{command[0]} did not answer as an MCP server does.") from None
        except (EOFError, ConnectionError):
            await _end(process, min(seconds, timeouts.SERVER_ENDS))
            last = _last_line(said)
            raise ClientSetupError(
                f"{command[0]} ended before it had listed its tools{f': {last}' if last else ''}."
            ) from None
        finally:
            await _end(process, min(seconds, timeouts.SERVER_ENDS))
    return Connected(str(answers[_INITIALIZE]["serverInfo"]["name"]), len(answers[_LIST]["tools"]), took)


async def _converse(process: asyncio.subprocess.Process) -> dict[int, dict[str, Any]]:
    """Return the results of the handshake and of the list of tools."""
    about = {"name": "learning-memory-server doctor", "version": VERSION}
    opening = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": about}
    answers: dict[int, dict[str, Any]] = {}
    await _send(process, id=_INITIALIZE, method="initialize", params=opening)
    answers[_INITIALIZE] = await _receive(process, _INITIALIZE, "serverInfo")
    await _send(process, method="notifications/initialized")
    await _send(process, id=_LIST, method="tools/list")
    answers[_LIST] = await _receive(process, _LIST, "tools")
    return answers


async def _send(process: asyncio.subprocess.Process, **message: object) -> None:
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    await process.stdin.drain()


async def _receive(process: asyncio.subprocess.Process, identity: int, field: str) -> dict[str, Any]:
    """Return the result of a request, which has a field of this name. Notifications are ignored."""
    assert process.stdout is not None  # noqa: S101 - a pipe was asked for
    while True:
        line = await process.stdout.readline()
        if not line:
            raise EOFError
        message = json.loads(line)
        if not isinstance(message, dict):
            raise ValueError(line)  # noqa: TRY004 - as json.loads raises
        if message.get("id") == identity:
            result = message.get("result")
            if not isinstance(result, dict) or field not in result:
                raise ValueError(line)
            return result


def _last_line(said: IO[bytes]) -> str:
    """Return the last words of a program."""
    said.seek(max(0, said.seek(0, os.SEEK_END) - _TAIL))
    lines = [line.strip() for line in said.read().decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:_SAID_MAX].rstrip(".") if lines else ""


async def _end(process: asyncio.subprocess.Process, seconds: float) -> None:
    """End the server as a client does: close its input, wait, and then kill it."""
    assert process.stdin is not None  # noqa: S101 - a pipe was asked for
    process.stdin.close()
    try:
        async with asyncio.timeout(seconds):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
