"""A server that answers like Ollama's API, with a model that hashes words."""

import json
import socket
import struct
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import Any, Self

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.hashing import HashingEmbedder
from tests.serving import QuietServer, serving_here

CONTEXT = 512
"""Tokens, which are words here."""


class Wrong(Enum):
    """What can be wrong with the server."""

    AWAY = auto()
    HANGS = auto()
    RESETS = auto()
    REFUSES = auto()


@dataclass
class OllamaStub:
    """Ollama with one model, on its own port; its fields may be changed while it runs.

    Args:
        name: The model's name, as Ollama lists it.
        digest: The digest that the name points to.
        dimension: The length of a vector; each is longer than 1.
        refuses_long: Refuses texts that are too long, as some versions do even when asked to truncate.
        answers: Paths with the status and body that they are answered with, in place of the right ones.
        drops: How many more requests to end without an answer.
        pause: Seconds before vectors are sent.
        embedder: The model that it has in place of hashed words.
    """

    name: str = "nomic-embed-text:latest"
    digest: str = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
    dimension: int = 8
    refuses_long: bool = False
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    drops: int = 0
    pause: float = 0.0
    embedder: Embedder | None = None
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _wrong: Wrong | None = None
    _healed: threading.Event = field(default_factory=threading.Event)
    _port: int = 0
    _running: ExitStack = field(default_factory=ExitStack)

    def __enter__(self) -> Self:
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.heal()
        self._running.close()

    def fail(self, wrong: Wrong) -> None:
        """Let something be wrong until `heal`."""
        self._wrong = wrong
        if wrong is Wrong.AWAY:
            self._running.close()

    def heal(self) -> None:
        """Let everything work again; what hung until now ends without an answer."""
        if self._wrong is Wrong.AWAY:
            self._start()
        self._wrong = None
        self._healed.set()
        self._healed = threading.Event()

    def _start(self) -> None:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stub.serve(self)

            do_POST = do_GET  # noqa: N815 - the library's names

            def log_message(self, *_arguments: object) -> None:
                pass

        server = QuietServer(("127.0.0.1", self._port), Handler)
        self._port = server.server_port
        self._running.enter_context(serving_here(server))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def embedded(self) -> list[str]:
        """All texts that were sent to be embedded."""
        return [text for path, body in self.requests if path == "/api/embed" for text in body["input"]]

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length", 0))
        body = json.loads(handler.rfile.read(length)) if length else {}
        wrong, healed = self._wrong, self._healed
        self.requests.append((handler.path, body))
        if wrong is Wrong.HANGS:
            healed.wait(30)
            return
        if wrong is Wrong.RESETS:
            # Closing a socket that lingers for no time sends a reset.
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        if self.drops:
            self.drops -= 1
            return
        if self.pause and handler.path == "/api/embed":
            time.sleep(self.pause)
        status, text = self.answers.get(handler.path) or self._answer(handler.path, body)
        data = text.encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json; charset=utf-8")
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def _answer(self, path: str, body: dict[str, Any]) -> tuple[int, str]:
        if path == "/api/version":
            return 200, '{"version": "0.12.6"}'
        if path == "/api/tags":
            entry = {"name": self.name, "model": self.name, "size": 274302450, "digest": self.digest}
            other = {"name": "llama3:latest", "model": "llama3:latest", "size": 1, "digest": "fe938a131f40"}
            return 200, json.dumps({"models": [other, entry]})
        if path not in {"/api/show", "/api/embed"}:
            return 404, "404 page not found"
        if body["model"] not in {self.name, self.name.removesuffix(":latest")}:
            return 404, json.dumps({"error": f'model "{body["model"]}" not found, try pulling it first'})
        if path == "/api/show":
            info = {"general.architecture": "nomic-bert", "nomic-bert.context_length": 2048}
            parameters = f'num_ctx                        {CONTEXT}\nstop                           "x"'
            return 200, json.dumps({"parameters": parameters, "model_info": info, "template": "{{ .Prompt }}"})
        return self._embed(body)

    def _embed(self, body: dict[str, Any]) -> tuple[int, str]:
        if self._wrong is Wrong.REFUSES:
            return 500, '{"error": "llama runner process has terminated: signal: killed"}'
        if self.refuses_long and any(len(text.split()) > CONTEXT for text in body["input"]):
            return 400, '{"error": "the input length exceeds the context length"}'
        embedder = self.embedder or HashingEmbedder(self.dimension)
        vectors = 3 * embedder.embed_documents(body["input"])
        answer = {"model": body["model"], "embeddings": vectors.tolist(), "total_duration": 14143917}
        return 200, json.dumps({**answer, "load_duration": 1019500, "prompt_eval_count": 8})
