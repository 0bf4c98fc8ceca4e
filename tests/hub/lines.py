"""A connection to a hub, from line to line."""

import asyncio
import json
from typing import Any

from learning_memory_server.system.ipc.jsonrpc import OWN_ID


class Wire:
    """A connection whose lines are written in advance."""

    def __init__(self, *lines: bytes) -> None:
        self.incoming: asyncio.Queue[bytes] = asyncio.Queue()
        self.written: list[dict[str, Any]] = []
        for line in lines:
            self.incoming.put_nowait(line)

    async def read(self) -> bytes:
        return await self.incoming.get()

    async def write(self, line: bytes) -> None:
        self.written.append(json.loads(line))

    def answer(self, identity: int | str) -> dict[str, Any]:
        (answer,) = [each for each in self.written if each.get("id") == identity]
        return answer


def line(method: str, identity: int | str | None = None, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message if identity is None else {**message, "id": identity}).encode() + b"\n"


def opening(version: str) -> list[bytes]:
    about = {"name": "t", "version": "1"}
    return [
        line("initialize", f"{OWN_ID}initialize", protocolVersion=version, capabilities={}, clientInfo=about),
        line("notifications/initialized"),
    ]
