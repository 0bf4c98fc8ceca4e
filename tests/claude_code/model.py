"""A model that says what a script tells it to, on loopback: the other end of Claude Code's requests."""

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Block = dict[str, Any]
Said = Block | Callable[[], Block]

_numbers = itertools.count(1)


class ScriptedModel(ThreadingHTTPServer):
    """Answers the n-th request that has tools with the n-th block of the script, and then with an end.

    Args:
        script: Blocks, or functions that return one when their turn comes.
        agents: The scripts of subagents, each by a word that only its task has.

    Attributes:
        requests: The bodies of all requests for messages.
    """

    daemon_threads = True

    def __init__(self, script: Iterable[Said], agents: Mapping[str, Iterable[Said]] | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self._script = list(script)
        self._agents = {name: list(said) for name, said in (agents or {}).items()}
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def answer(self, request: dict[str, Any]) -> Block:
        """Return the next block. A request without tools is a side question, such as for a title."""
        with self._lock:
            self.requests.append(request)
            task = json.dumps(request["messages"][:1])
            script = next((said for name, said in self._agents.items() if name in task), self._script)
            if not request.get("tools") or not script:
                return say("Done.")
            said = script.pop(0)
        return said() if callable(said) else said


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedModel

    def log_message(self, *_: Any) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._reply(b"", "text/plain")

    def do_GET(self) -> None:
        self._reply(b"{}", "application/json")

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])) or b"{}")
        if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
            self._reply(b'{"input_tokens":10}', "application/json")
            return
        message = _message(self.server.answer(request))
        if request.get("stream"):
            self._reply(_stream(message), "text/event-stream")
        else:
            self._reply(json.dumps(message).encode(), "application/json")

    def _reply(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def say(text: str) -> Block:
    """Return a block of text."""
    return {"type": "text", "text": text}


def use(tool: str, **given: Any) -> Block:
    """Return a block that calls a tool."""
    return {"type": "tool_use", "id": f"toolu_{next(_numbers)}", "name": tool, "input": given}


def delegate(task: str) -> Block:
    """Return a block that gives a task to a subagent, which works beside the main agent."""
    return use("Agent", description=task, prompt=task, subagent_type="general-purpose")


def run(command: str) -> Block:
    """Return a block that runs a shell command."""
    return use("Bash", command=command, description="Runs a command")


def _message(block: Block) -> dict[str, Any]:
    reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 10, "output_tokens": 5}
    about = {"id": f"msg_{next(_numbers)}", "type": "message", "role": "assistant", "model": "scripted"}
    return {**about, "content": [block], "stop_reason": reason, "stop_sequence": None, "usage": usage}


def _stream(message: dict[str, Any]) -> bytes:
    (block,) = message["content"]
    if block["type"] == "text":
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        empty = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": {"output_tokens": 5},
        },
        {"type": "message_stop"},
    ]
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events).encode()
