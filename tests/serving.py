"""Servers in a thread of this process."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import ThreadingHTTPServer
from typing import Any

from typing_extensions import override


class QuietServer(ThreadingHTTPServer):
    """A server whose thread sleeps until somebody connects.

    The library's wakes up now and then: on a `FastForwardLoop`, its thread would always be at work.
    """

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._is_over = threading.Event()
        self._has_ended = threading.Event()

    @override
    def serve_forever(self, poll_interval: float = 0.5) -> None:
        while not self._is_over.is_set():
            self.handle_request()
        self._has_ended.set()

    @override
    def shutdown(self) -> None:
        self._is_over.set()
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.server_port)).close()
        self._has_ended.wait()


@contextmanager
def serving_here(server: QuietServer) -> Iterator[None]:
    """Run a server in a thread."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
