"""A server that gives scripted answers and records its requests."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.serving import QuietServer, serving_here


def refusal(reason: str) -> bytes:
    return json.dumps({"status": {"error": reason}, "time": 0.000012}).encode()


def success(result: Any) -> bytes:
    return json.dumps({"result": result, "status": "ok", "time": 0.000012}).encode()


def collection_info(size: int = 4, vectors: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "status": "green",
        "optimizer_status": "ok",
        "indexed_vectors_count": 0,
        "points_count": 0,
        "segments_count": 2,
        "config": {
            "params": {
                "vectors": vectors or {"dense": {"size": size, "distance": "Cosine", "on_disk": True}},
                "sparse_vectors": {"bm25": {"modifier": "idf"}},
            },
            "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
            "optimizer_config": {
                "deleted_threshold": 0.2,
                "vacuum_min_vector_number": 1_000,
                "default_segment_number": 0,
                "flush_interval_sec": 5,
            },
            "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        },
        "payload_schema": {"tags": {"data_type": "keyword", "points": 0}},
    }


class Stub(QuietServer):
    """A server whose answer is a function of method and path. It records its requests."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), StubHandler)
        self.asked: list[tuple[str, str, Any]] = []
        self.paths: list[str] = []
        self.keys: list[str | None] = []
        self.headers: dict[str, str] = {}
        self.released = threading.Event()
        self.answer: Callable[[str, str], tuple[int, bytes] | None] = lambda _method, _path: (200, b"")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


@contextmanager
def stub_serving() -> Iterator[Stub]:
    """Run a stub in a thread of this process."""
    stub = Stub()
    with serving_here(stub):
        try:
            yield stub
        finally:
            stub.released.set()


class StubHandler(BaseHTTPRequestHandler):
    server: Stub

    def do_any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = self.path.partition("?")[0]
        self.server.paths.append(self.path)
        self.server.asked.append((self.command, path, json.loads(body) if body else None))
        self.server.keys.append(self.headers.get("api-key"))
        answer = self.server.answer(self.command, path)
        if answer is None:
            self.close_connection = True
            return
        status, content = answer
        self.send_response(status)
        for name, value in {**self.server.headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = do_any  # noqa: N815 - the base class's names

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Keep the test's output clean."""
