"""What the server answers to the requests that the front answers by itself, recorded from the server."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from mcp.types import CLIENT_CAPABILITIES_META_KEY, PROTOCOL_VERSION_META_KEY
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.hub.front.answers import ENVELOPE, HANDSHAKE
from learning_memory_server.model.caller import Caller
from learning_memory_server.redaction.gate import RedactionGate
from learning_memory_server.server.app import build_server
from learning_memory_server.server.calls import Calls
from learning_memory_server.server.dashboard.document import Dashboard
from learning_memory_server.server.exclusion import Exclusion
from learning_memory_server.server.session import Session
from learning_memory_server.server.tools.catalog import OF_APPS, WITH_HOOKS

LISTS: Final = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")


def recorded() -> str:
    """Return the content of the front's `answers.json`."""
    hello = {
        "protocolVersion": HANDSHAKE_PROTOCOL_VERSIONS[-1],
        "capabilities": {},
        "clientInfo": {"name": "recorder", "version": "1"},
    }
    envelope = {PROTOCOL_VERSION_META_KEY: MODERN_PROTOCOL_VERSIONS[-1], CLIENT_CAPABILITIES_META_KEY: {}}
    eras = {
        HANDSHAKE: {
            "versions": HANDSHAKE_PROTOCOL_VERSIONS,
            **_answered([("initialize", hello), *((name, {}) for name in ("ping", *LISTS))]),
        },
        ENVELOPE: {
            "versions": MODERN_PROTOCOL_VERSIONS,
            **_answered([(name, {"_meta": envelope}) for name in ("server/discover", "ping", *LISTS)]),
        },
    }
    return json.dumps(eras, ensure_ascii=False, indent=1) + "\n"


def answers_of_the_server(lines: Iterable[bytes], *, has_hooks: bool = False) -> list[bytes]:
    """Return what a server without data writes in one session in which a client sends these lines."""

    async def serve() -> list[bytes]:
        services: dict[type, object] = {kind: object() for tool in [*WITH_HOOKS, *OF_APPS] for kind in tool.services}
        services |= {RedactionGate: RedactionGate(), Advisor: object(), Dashboard: object(), Exclusion: object()}
        exchange = _Exchange(list(lines))
        calls = Calls(services, Caller("nobody's", "none"), has_hooks=has_hooks)
        await Session(build_server(calls), exchange, grace=10.0).run()
        return exchange.written

    return asyncio.run(serve())


def _answered(requests: Sequence[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Return the outcome of each method, and what a client with hooks sees besides."""
    outcomes, with_hooks = (_outcomes(requests, has_hooks=has_hooks) for has_hooks in (False, True))
    shown, more = (each["tools/list"]["result"]["tools"] for each in (outcomes, with_hooks))
    return {"methods": outcomes, "hooks": more[len(shown) :]}


def _outcomes(requests: Sequence[tuple[str, dict[str, Any]]], *, has_hooks: bool) -> dict[str, Any]:
    """Return the `result` or `error` of each method, as one session answers them."""
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": method, "method": method, "params": params}).encode() + b"\n"
        for method, params in requests
    ]
    answers = {answer["id"]: answer for answer in map(json.loads, answers_of_the_server(lines, has_hooks=has_hooks))}
    return {
        method: {key: part for key, part in answers[method].items() if key not in ("jsonrpc", "id")}
        for method, _ in requests
    }


class _Exchange:
    """The lines of a client that sends everything at once."""

    def __init__(self, sent: list[bytes]) -> None:
        self._sent = sent
        self.written: list[bytes] = []

    async def read(self) -> bytes:
        return self._sent.pop(0) if self._sent else b""

    async def write(self, line: bytes) -> None:
        self.written.append(line)
