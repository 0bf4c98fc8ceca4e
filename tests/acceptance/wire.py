"""A client of raw JSON lines, with no SDK between a test and the server's stdout."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, Literal

from mcp.types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY

from tests.support import MINUTES

Era = Literal["2025-11-25", "2026-07-28"]
ERAS: Final[list[Era]] = ["2025-11-25", "2026-07-28"]
NO_TOOL: Final = "no_such_tool"
"""A tool that does not exist: a call of it is answered by the hub, and without the SDK."""

COMMAND: Final = Path(sys.executable).with_name("learning-memory-server")

_CLIENT: Final = {"name": "raw", "version": "1"}
_ENVELOPE: Final = {
    PROTOCOL_VERSION_META_KEY: "2026-07-28",
    CLIENT_INFO_META_KEY: _CLIENT,
    CLIENT_CAPABILITIES_META_KEY: {},
}


def environment(storage: Path, **settings: str) -> dict[str, str]:
    """Return the variables of a server with the hashing backend, unless the settings say otherwise."""
    return {
        "PATH": os.environ["PATH"],
        # Lets coverage, if measured, follow into other processes.
        **{name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")},
        "HOME": str(storage),
        "LEARNING_MEMORY_STORAGE_PATH": str(storage),
        "LEARNING_MEMORY_PROJECT": "acceptance",
        "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
        "CLAUDE_CODE_SESSION_ID": "one session",
        **{f"LEARNING_MEMORY_{name.upper()}": value for name, value in settings.items()},
    }


class Wire:
    """A server process and the lines it exchanges with a client of one protocol era."""

    command: Sequence[str | Path] = (COMMAND, "--direct")
    variables: Mapping[str, str] = MappingProxyType({})
    """Variables of the process, in addition to its settings."""

    def __init__(
        self, storage: Path, era: Era = "2025-11-25", *, command: Sequence[str | Path] | None = None, **settings: str
    ) -> None:
        self.era = era
        self.command = command or self.command
        self.process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment(storage, **settings), **self.variables},
            cwd=storage,
        )
        self._next_id = 0
        self._answers: dict[int | None, dict[str, Any]] = {}
        self._lines: queue.Queue[bytes | None] = queue.Queue()
        self._errors: list[bytes] = []
        self._threads = [
            threading.Thread(target=self._read, args=(self.process.stdout,)),
            threading.Thread(target=self._errors.extend, args=(self.process.stderr,)),
        ]
        for thread in self._threads:
            thread.start()

    def send_line(self, line: str) -> None:
        """Send a line unchanged."""
        assert self.process.stdin
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def send(self, method: str, **params: Any) -> int:
        """Send a request and return its id, without waiting."""
        self._next_id += 1
        if self.era == "2026-07-28":
            params["_meta"] = _ENVELOPE
        frame = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        self.send_line(json.dumps(frame))
        return self._next_id

    def send_call(self, tool: str, **arguments: Any) -> int:
        """Send a tool call and return its id, without waiting."""
        return self.send("tools/call", name=tool, arguments=arguments)

    def has_answer(self, request: int) -> bool:
        """Return whether the answer to a request has arrived."""
        while not self._lines.empty():
            self._take(0)
        return request in self._answers

    def answer(self, request: int, seconds: float = MINUTES) -> dict[str, Any]:
        """Wait for the answer to a request.

        Raises:
            EOFError: If the server closed its stdout first.
            queue.Empty: If it took longer than `seconds`.
        """
        deadline = time.monotonic() + seconds
        while request not in self._answers:
            self._take(max(0, deadline - time.monotonic()))
        return self._answers.pop(request)

    def unasked(self) -> set[int | None]:
        """Return the ids of answers that nobody has taken, None for those to lines without one."""
        return set(self._answers)

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request that succeeds and return its result."""
        frame = self.answer(self.send(method, **params))
        result: dict[str, Any] = frame["result"]
        return result

    def handshake(self) -> dict[str, Any]:
        """Begin as a client of the era does, and return the server's description of itself."""
        if self.era == "2026-07-28":
            return self.request("server/discover")
        result = self.request("initialize", protocolVersion=self.era, capabilities={}, clientInfo=_CLIENT)
        self.send_line('{"jsonrpc":"2.0","method":"notifications/initialized"}')
        return result

    def reach_hub(self) -> None:
        """Wait for an answer that only the hub gives. It needs no SDK, but counts as a call."""
        assert NO_TOOL in str(self.answer(self.send_call(NO_TOOL)))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that succeeds and return its payload."""
        return payload_of(self.answer(self.send_call(tool, **arguments)))

    def refused(self, tool: str, **arguments: Any) -> dict[str, str]:
        """Call a tool that refuses and return its error."""
        result = self.answer(self.send_call(tool, **arguments))["result"]
        (block,) = result["content"]
        assert result["isError"] is True, block["text"]
        assert "structuredContent" not in result
        error: dict[str, str] = json.loads(block["text"])["error"]
        return error

    def close(self) -> int:
        """Close the server's stdin, wait for its end and return its exit code."""
        assert self.process.stdin
        self.process.stdin.close()
        code = self.process.wait(MINUTES)
        self._finish()
        return code

    def kill(self) -> None:
        """Kill the server as `kill -9` does. Answers that it had written can still be read."""
        self.process.kill()
        self.process.wait()
        self._finish()

    def stderr(self) -> str:
        """Return what the server wrote to its stderr, once it has ended."""
        return b"".join(self._errors).decode()

    def _finish(self) -> None:
        for thread in self._threads:
            thread.join()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            try:
                if stream:
                    stream.close()
            except BrokenPipeError:
                pass

    def _read(self, stdout: IO[bytes]) -> None:
        for line in stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _take(self, seconds: float) -> None:
        line = self._lines.get(timeout=seconds) if seconds else self._lines.get_nowait()
        if line is None:
            self._lines.put(None)
            raise EOFError(f"the server closed its stdout; its stderr ends with {self.stderr()[-500:]!r}")
        frame = json.loads(line)
        assert frame["jsonrpc"] == "2.0"
        if "id" in frame:
            # A line that is no request is answered without an id.
            assert frame["id"] is None or frame["id"] not in self._answers, "two answers to one request"
            self._answers[frame["id"]] = frame


@contextmanager
def running(
    storage: Path, era: Era = "2025-11-25", *, command: Sequence[str | Path] | None = None, **settings: str
) -> Iterator[Wire]:
    """Run a server and complete the handshake; unless it has ended, it ends well with its client, or is killed."""
    wire = Wire(storage, era, command=command, **settings)
    try:
        wire.handshake()
        yield wire
        assert wire.process.returncode is not None or wire.close() == 0
    finally:
        if wire.process.returncode is None:
            wire.kill()


def payload_of(frame: dict[str, Any]) -> dict[str, Any]:
    """Return the payload of the answer to a tool call that succeeded."""
    result = frame["result"]
    (block,) = result["content"]
    assert not result["isError"], block["text"]
    payload: dict[str, Any] = result["structuredContent"]
    assert json.loads(block["text"]) == payload
    return payload
