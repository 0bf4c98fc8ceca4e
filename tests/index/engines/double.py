"""A double of a Qdrant server: HTTP over the vendor's local mode, with switches for what goes wrong.

It listens on this machine, answers one request at a time, and records them all. Its refusals are those that a real
server gave.
"""

import asyncio
import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from enum import Enum
from http.server import BaseHTTPRequestHandler
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from learning_memory_server.index.engines.base import CollectionSpec, VectorStore
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.engines.qdrant import QdrantStore
from tests.index.engines.double_engine import Answer, Engine
from tests.serving import QuietServer, serving_here
from tests.support import MINUTES

_Store = TypeVar("_Store", bound=VectorStore)


def store_of(url: str, owner: Path, key: str | None = None) -> QdrantStore:
    """Return the store of an owner on a server, by the file that says who it is."""
    return QdrantStore([url], open_owner(owner), api_key=key)


@asynccontextmanager
async def opened(store: _Store, *specs: CollectionSpec) -> AsyncIterator[_Store]:
    """Ensure collections, and close the store at the end."""
    try:
        for spec in specs:
            await store.ensure(spec)
        yield store
    finally:
        await store.close()


async def answering(store: QdrantStore) -> None:
    """Wait until the store's circuits have seen that the server answers again."""
    availability = store.server.availability
    async with asyncio.timeout(MINUTES):
        while availability.is_open:
            await asyncio.sleep(0.01)


class Wrong(Enum):
    """What can go wrong with an answer."""

    HANGS = "it never comes"
    RESETS = "the connection is reset"
    CLOSES_KEPT = "the connection is closed, if it was used before"
    RESETS_KEPT = "the connection is reset, if it was used before"
    HALF = "it ends in the middle"
    LATE = "it never comes, and what was asked is done after everything else"


class Request(NamedTuple):
    """A request that was sent."""

    method: str
    path: str
    body: Any


class QdrantDouble(QuietServer):
    """A server. `fault` decides what becomes of each request; None lets it be done.

    Attributes:
        engine: The collections.
        asked: Every request, in the order of arrival.
        spans: When each request arrived and its answer was sent.
        connections: How many connections were opened.
        compressed: How many answers were compressed, because the request asked for it.
        delay: Seconds before each answer begins, as if the server were far away.
        fault: Returns what goes wrong with a request, or a refusal, or None.
    """

    # A test that connects ten times at once would otherwise wait for a second.
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.engine = Engine()
        self.asked: list[Request] = []
        self.spans: list[tuple[float, float]] = []
        self.connections = 0
        self.compressed = 0
        self.delay = 0.0
        self.fault: Callable[[Request], Answer | Wrong | None] = lambda _request: None
        self.released = threading.Event()
        self.turn = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def round_trips(self) -> int:
        """Return how many requests followed one another since this was last asked; at once counts once."""
        spans, self.spans = sorted(self.spans, key=lambda span: span[1]), []
        trips, free = 0, 0.0
        for began, ended in spans:
            if began >= free:
                trips, free = trips + 1, ended
        return trips

    def heal(self) -> None:
        """Let everything work again; what hung until now ends."""
        self.fault = lambda _request: None
        self.delay = 0.0
        self.released.set()
        self.released = threading.Event()

    def refuse(self, answer: Answer | Wrong, *, only: Callable[[Request], bool] = lambda _: True) -> None:
        """Give this answer to all requests, or only to some."""
        self.fault = lambda request: answer if only(request) else None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Keep the test's output clean: a client that gave up has closed its connection."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is one write.
    wbufsize = 1 << 20
    server: QdrantDouble

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1
        self.was_used = False

    def do_any(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        content = self.rfile.read(length)
        if len(content) < length:
            # Its sender was killed in the middle of it: a server does nothing, either.
            self.close_connection = True
            return
        request = Request(self.command, self.path.partition("?")[0], json.loads(content) if content else {})
        server = self.server
        released, began = server.released, time.monotonic()
        server.asked.append(request)
        if server.delay:
            time.sleep(server.delay)
        wrong = server.fault(request)
        was_used, self.was_used = self.was_used, True
        if wrong is Wrong.HANGS or wrong is Wrong.LATE:
            released.wait()
            self.close_connection = True
            if wrong is Wrong.LATE:
                with server.turn:
                    server.engine.answer(*request)
            return
        if wrong is Wrong.RESETS or (was_used and wrong in {Wrong.CLOSES_KEPT, Wrong.RESETS_KEPT}):
            if wrong is not Wrong.CLOSES_KEPT:
                # Closing a socket that lingers for no time sends a reset.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            return
        if isinstance(wrong, Answer):
            self._send(wrong)
            return
        with server.turn:
            answer = server.engine.answer(*request)
        server.spans.append((began, time.monotonic()))
        self._send(answer, is_half=wrong is Wrong.HALF)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = do_any  # noqa: N815 - the base class's names

    def _send(self, answer: Answer, *, is_half: bool = False) -> None:
        """Send an answer as a server does: whole, or, compressed, in several writes.

        The second of them waits until the first one is acknowledged (Nagle's algorithm), which Linux delays by 40 ms.
        """
        is_compressed = "gzip" in self.headers.get("Accept-Encoding", "")
        body = gzip.compress(answer.body) if is_compressed else answer.body
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        if is_compressed:
            self.server.compressed += 1
            self.send_header("Content-Encoding", "gzip")
        if answer.retry_after:
            self.send_header("Retry-After", answer.retry_after)
        self.end_headers()
        if is_compressed:
            self.wfile.flush()
        self.wfile.write(body[: len(body) // 2] if is_half else body)
        self.close_connection = self.close_connection or is_half

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Keep the test's output clean."""


@contextmanager
def serving() -> Iterator[QdrantDouble]:
    """Run a double in a thread of this process."""
    double = QdrantDouble()
    with serving_here(double):
        try:
            yield double
        finally:
            double.heal()


@contextmanager
def serving_apart() -> Iterator[str]:
    """Run a double in a process of its own, so that none of its threads counts here; yield its URL."""
    here, there = Pipe()
    child = get_context("spawn").Process(target=_serve, args=(there,), daemon=True)
    child.start()
    try:
        yield here.recv()
    finally:
        here.send(None)
        child.join()


def _serve(parent: Connection) -> None:
    with serving() as double:
        parent.send(double.url)
        parent.recv()
