"""The live page: served to this machine's browser alone, by the command that was asked for it.

Any web page that a browser shows can send requests to this machine, and so can other users of it. So each request must
carry the secret in its path, be meant for this very address (a name that another site points here is refused), and not
come from another page.
"""

from __future__ import annotations

import hmac
import secrets
import sys
import threading
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from learning_memory_server.errors import LearningMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOOPBACK: Final = "127.0.0.1"
_SECRET_BYTES: Final = 32
_IDLE_SECONDS: Final = 30.0
"""How long a connection may say nothing."""
_TRUSTED_SITES: Final = (None, "none", "same-origin")
"""What a browser says of where a request comes from: typed or opened, or our own page."""


@contextmanager
def served(page: Callable[[], str], changes: Callable[[str], str | None]) -> Iterator[str]:
    """Serve while the block runs, and return the address, which has the secret in it.

    Args:
        page: Returns the page; called in a thread.
        changes: Returns the data if it is not what has this stamp, else None; called in a thread. An error of this
            program that one of them raises is shown, and the next request may succeed.
    """
    secret = secrets.token_urlsafe(_SECRET_BYTES)

    class Handler(_Handler):
        prefix = f"/{secret}/"
        make_page = staticmethod(page)
        find_changes = staticmethod(changes)

    server = _Server((_LOOPBACK, 0), Handler)
    Handler.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://{_LOOPBACK}:{server.server_port}/{secret}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        """Say nothing of a browser that has closed its connection."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET for the page and its data, and refuses everything else alike."""

    prefix: str
    port: int
    make_page: Callable[[], str]
    find_changes: Callable[[str], str | None]
    timeout = _IDLE_SECONDS
    server_version = "learning-memory"
    sys_version = ""

    def do_GET(self) -> None:
        """Answer a request."""
        address = urlsplit(self.path)
        if not self._is_trusted(address.path):
            # The same as for an address that does not exist: nothing is to be learned here.
            self._answer(HTTPStatus.NOT_FOUND, "text/plain", "")
            return
        try:
            self._answer_trusted(address.path.removeprefix(self.prefix), address.query)
        except LearningMemoryError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, "text/plain", error.sentence)

    def _answer_trusted(self, path: str, query: str) -> None:
        match path:
            case "":
                self._answer(HTTPStatus.OK, "text/html", self.make_page())
            case "data":
                known = parse_qs(query).get("unlike", [""])[0]
                found = self.find_changes(known)
                if found is None:
                    self._answer(HTTPStatus.NO_CONTENT, "application/json", "")
                else:
                    self._answer(HTTPStatus.OK, "application/json", found)
            case _:
                self._answer(HTTPStatus.NOT_FOUND, "text/plain", "")

    def _is_trusted(self, path: str) -> bool:
        own = f"{_LOOPBACK}:{self.port}"
        start = path[: len(self.prefix)].encode("utf-8", "replace")
        return (
            hmac.compare_digest(start, self.prefix.encode())
            and self.headers.get_all("Host") == [own]
            and self.headers.get("Origin") in (None, f"http://{own}")
            and self.headers.get("Sec-Fetch-Site") in _TRUSTED_SITES
        )

    def _answer(self, status: HTTPStatus, kind: str, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        for name, value in {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(content)),
            "Cache-Control": "no-store",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
        }.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        """Log nothing: a line would hold the secret."""
