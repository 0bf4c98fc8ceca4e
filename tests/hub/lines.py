"""A connection to a hub, from line to line."""

import asyncio
import json
from typing import Any

from learning_memory_server.system.ipc.jsonrpc import OWN_ID
from tests.support import MINUTES


class Wire:
    """A connection to a client that is the test: what it sends, and what it is answered.

    Args:
        lines: What it has sent already.
    """

    def __init__(self, *lines: bytes) -> None:
        self.incoming: asyncio.Queue[bytes] = asyncio.Queue()
        self.written: list[dict[str, Any]] = []
        self.is_gone = False
        self._wrote = asyncio.Condition()
        for line in lines:
            self.incoming.put_nowait(line)

    async def read(self) -> bytes:
        return await self.incoming.get()

    async def write(self, line: bytes) -> None:
        if self.is_gone:
            raise BrokenPipeError
        self.written.append(json.loads(line))
        async with self._wrote:
            self._wrote.notify_all()

    def send(self, *lines: bytes) -> None:
        for line in lines:
            self.incoming.put_nowait(line)

    def leave(self) -> None:
        self.incoming.put_nowait(b"")

    def answers(self) -> list[int | str | None]:
        """Return the ids of the requests that are answered, in the order of the answers; not of the front's own."""
        return [each["id"] for each in self.written if "id" in each and not str(each["id"]).startswith(OWN_ID)]

    def answer(self, identity: int | str | None) -> dict[str, Any]:
        (answer,) = [each for each in self.written if each.get("id", self) == identity]
        return answer

    async def answered(self, identity: int | str | None) -> dict[str, Any]:
        """Wait for an answer."""
        async with asyncio.timeout(MINUTES), self._wrote:
            await self._wrote.wait_for(lambda: identity in self.answers())
        return self.answer(identity)


def line(method: str, identity: int | str | None = None, **params: Any) -> bytes:
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    return json.dumps(message if identity is None else {**message, "id": identity}).encode() + b"\n"


def opening(version: str) -> list[bytes]:
    about = {"name": "t", "version": "1"}
    return [
        line("initialize", f"{OWN_ID}initialize", protocolVersion=version, capabilities={}, clientInfo=about),
        line("notifications/initialized"),
    ]
