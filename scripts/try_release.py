"""Start a server as a client does, keep an entry, and find it again: `python try_release.py COMMAND...`.

Needs nothing but Python, so that it can try an installation from outside.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from typing import IO, Any, cast

ENTRY = {
    "domain": "testing",
    "strategy": "check-assumptions",
    "goal": "Try a release",
    "hypothesis": "It was built from what was tested",
    "action": "Keep an entry",
    "prediction": "A search finds it",
}


def main() -> None:
    """Try the command that the arguments name, and end with what is wrong."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        environment = {**os.environ, "LEARNING_MEMORY_STORAGE_PATH": folder}
        with subprocess.Popen(
            sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True
        ) as server:
            ask = _Client(server)
            client = {"name": "try_release", "version": "0"}
            ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
            ask.notify("notifications/initialized")
            tools = [tool["name"] for tool in ask("tools/list")["tools"]]
            ask.tool("start_ghap", **ENTRY)
            ask.tool("resolve_ghap", status="confirmed", result="It was", lesson={"takeaway": "Try releases"})
            found = ask.tool("search_experiences", query="try a release")["results"]
            ask.end()
    if [each["goal"] for each in found] != [ENTRY["goal"]]:
        sys.exit(f"The entry was not found, but: {found}")
    print(f"{len(tools)} tools; an entry was kept and found.")


class _Client:
    """Sends requests, a line of JSON each, and reads their answers."""

    def __init__(self, server: subprocess.Popen[str]) -> None:
        self._given, self._said, self._last = cast("IO[str]", server.stdin), cast("IO[str]", server.stdout), 0

    def __call__(self, method: str, **parameters: Any) -> Any:
        self._last += 1
        self._send({"id": self._last, "method": method, "params": parameters})
        for line in self._said:
            answer = json.loads(line)
            if answer.get("id") == self._last:
                return answer["result"]
        raise EOFError("The server has ended.")

    def notify(self, method: str) -> None:
        self._send({"method": method})

    def tool(self, name: str, **arguments: Any) -> Any:
        answer = self("tools/call", name=name, arguments=arguments)
        if answer.get("isError"):
            sys.exit(f"{name} was refused: {answer}")
        return json.loads(answer["content"][0]["text"])

    def end(self) -> None:
        self._given.close()

    def _send(self, message: dict[str, Any]) -> None:
        self._given.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._given.flush()


if __name__ == "__main__":
    main()
