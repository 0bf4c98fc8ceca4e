"""A server that answers like Ollama's API, with a model that hashes words."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Self

from learning_memory_server.embedding.hashing import HashingEmbedder

if TYPE_CHECKING:
    from types import TracebackType

CONTEXT = 512
"""Tokens, which are words here."""


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
        hangs: Says nothing until it is closed.
    """

    name: str = "nomic-embed-text:latest"
    digest: str = "0a109f422b47e3a30ba2b10eca18548e944e8a23073ee3f3e947efcf3c45e59f"
    dimension: int = 8
    refuses_long: bool = False
    answers: dict[str, tuple[int, str]] = field(default_factory=dict)
    drops: int = 0
    hangs: bool = False
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    _closed: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        stub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                stub.serve(self)

            do_POST = do_GET  # noqa: N815 - the library's names

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        # Stopping it takes half of its polling interval.
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def embedded(self) -> list[str]:
        """All texts that were sent to be embedded."""
        return [text for path, body in self.requests if path == "/api/embed" for text in body["input"]]

    def serve(self, handler: BaseHTTPRequestHandler) -> None:
        length = int(handler.headers.get("Content-Length", 0))
        body = json.loads(handler.rfile.read(length)) if length else {}
        self.requests.append((handler.path, body))
        if self.hangs:
            self._closed.wait(30)
        if self.drops or self.hangs:
            self.drops -= 1
            handler.close_connection = True
            return
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
            return 200, json.dumps(
                {"parameters": parameters, "model_info": info, "template": "{{ .Prompt }}"}
            )
        return self._embed(body)

    def _embed(self, body: dict[str, Any]) -> tuple[int, str]:
        if self.refuses_long and any(len(text.split()) > CONTEXT for text in body["input"]):
            return 400, '{"error": "the input length exceeds the context length"}'
        vectors = 3 * HashingEmbedder(self.dimension).embed_documents(body["input"])
        answer = {"model": body["model"], "embeddings": vectors.tolist(), "total_duration": 14143917}
        return 200, json.dumps({**answer, "load_duration": 1019500, "prompt_eval_count": 8})
