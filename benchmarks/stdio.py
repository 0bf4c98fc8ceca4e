"""A bare JSON-RPC client on stdio, so that benchmarks measure the server and not a client library."""

import json
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

PROTOCOL = "2025-11-25"


class StdioSession:
    """A server process and the messages to and from it.

    Args:
        command: The server.
        environment: Its environment variables.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._started = time.perf_counter()
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # Write bytecode: pip compiles what it installs, including the packages this is compared with.
            env={name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"},
        )
        self._last_id = 0

    def initialize(self) -> float:
        """Shake hands and return the seconds from the start of the process to the answer."""
        client = {"name": "benchmark", "version": "1"}
        self.request("initialize", {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": client})
        elapsed = time.perf_counter() - self._started
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return elapsed

    def call(self, tool: str, **arguments: object) -> dict[str, Any]:
        """Call a tool and return its structured content.

        Raises:
            RuntimeError: If the tool answers with an error.
        """
        result = self.request("tools/call", {"name": tool, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(f"{tool}: {result['content'][0]['text']}")
        content: dict[str, Any] = result["structuredContent"]
        return content

    def request(
        self, method: str, params: Mapping[str, Any], hear: Callable[[dict[str, Any]], object] = lambda _: None
    ) -> dict[str, Any]:
        """Send a request and return its result; `hear` gets the messages before it, such as progress."""
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            message = json.loads(line)
            if message.get("id") == self._last_id:
                result: dict[str, Any] = message["result"]
                return result
            hear(message)
        raise RuntimeError(f"the server ended before it answered {method}")

    def request_all(self, wanted: Sequence[Mapping[str, Any]]) -> list[tuple[float, dict[str, Any]]]:
        """Send tool calls at once, by their parameters, and return the seconds until each result, and the results."""
        first = self._last_id + 1
        self._last_id += len(wanted)
        begun = time.perf_counter()
        for number, params in enumerate(wanted, first):
            self._send({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
        assert self.process.stdout is not None
        found: dict[int, tuple[float, dict[str, Any]]] = {}
        while len(found) < len(wanted) and (line := self.process.stdout.readline()):
            message = json.loads(line)
            if message.get("id") in range(first, first + len(wanted)):
                found[message["id"]] = time.perf_counter() - begun, message["result"]
        if len(found) < len(wanted):
            raise RuntimeError("the server ended before it answered all calls")
        return [found[number] for number in range(first, first + len(wanted))]

    def close(self) -> None:
        """Close the server's input and wait for it to exit."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
