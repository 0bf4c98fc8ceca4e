"""A server that answers like huggingface.co, for one model whose files are in a folder.

It has what a download needs of it: the list of files with their digests, and files with an ETag, in parts if asked
for. Large files are served from another address, as there.
"""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final

from tests.serving import QuietServer, serving_here

COMMIT: Final = "0123456789abcdef0123456789abcdef01234567"


@dataclass
class Hub:
    """The hub, and what goes wrong with it."""

    name: str
    folder: Path
    commit: str = COMMIT
    requests: list[tuple[str, str]] = field(default_factory=list)
    """The path of each request, and the range that it asked for."""
    hangs: threading.Event | None = None
    """Once half of a large file has been sent: set, and nothing more is sent until the client has gone."""
    drops: int = 0
    """How many times the connection is lost after half of a large file."""
    changes: bool = False
    """Whether large files differ from what the list says."""
    refuses: tuple[int, str] | None = None
    """A status and an error code for every file."""
    url: str = ""

    @property
    def fetched(self) -> set[str]:
        """The paths in the model of all files that were asked for."""
        prefix = f"/{self.name}/resolve/{self.commit}/"
        return {path.partition(prefix)[2] for path, _ in self.requests if prefix in path}

    def files(self) -> dict[str, bytes]:
        found = (path for path in self.folder.rglob("*") if path.is_file())
        return {path.relative_to(self.folder).as_posix(): path.read_bytes() for path in found}

    def listing(self) -> dict[str, Any]:
        siblings = [_described(path, data) for path, data in self.files().items()]
        return {"id": self.name, "sha": self.commit, "siblings": siblings}


@contextmanager
def hub_with(name: str, folder: Path, **behaviour: Any) -> Iterator[Hub]:
    """Run a hub with one model."""
    hub = Hub(name, folder, **behaviour)
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = QuietServer(("127.0.0.1", 0), handler)
    hub.url = f"http://127.0.0.1:{server.server_port}"
    with serving_here(server):
        yield hub


class _Handler(BaseHTTPRequestHandler):
    hub: Hub

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        asked = path.rpartition("/")[2]
        self.hub.requests.append((path, self.headers.get("Range", "")))
        files = f"/{self.hub.name}/resolve/{self.hub.commit}/"
        if files in path:
            self._send_file(path.partition(files)[2], is_elsewhere=not path.startswith(files))
        elif not path.startswith(f"/api/models/{self.hub.name}/revision/"):
            self._send(401, b"{}", {"X-Error-Code": "RepoNotFound"})
        elif asked not in ("main", self.hub.commit):
            self._send(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        else:
            self._send(200, json.dumps(self.hub.listing()).encode(), {})

    do_HEAD = do_GET  # noqa: N815 - the library's names

    def _send_file(self, path: str, *, is_elsewhere: bool) -> None:
        if self.hub.refuses:
            status, code = self.hub.refuses
            self._send(status, b"{}", {"X-Error-Code": code})
            return
        data = self.hub.files()[path]
        described = _described(path, data)
        digest = described.get("lfs", {}).get("sha256", described["blobId"])
        headers = {"ETag": f'"{digest}"', "X-Repo-Commit": self.hub.commit, "Accept-Ranges": "bytes"}
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").rstrip("-"))
        if _is_large(path) and not is_elsewhere:
            self._send(302, b"", {**headers, "Location": f"/elsewhere{self.path}"})
        elif start >= len(data):
            self._send(416, b"", {})
        elif _is_large(path) and self.hub.changes:
            self._send(200, data[:-1] + b"!", headers)
        else:
            is_broken = _is_large(path) and bool(self.hub.hangs or self.hub.drops)
            self._send(206 if start else 200, data[start:], headers, is_broken=is_broken)

    def _send(self, status: int, data: bytes, headers: dict[str, str], *, is_broken: bool = False) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(data[: len(data) // 2] if is_broken else data)
        if is_broken and self.hub.hangs:
            self.hub.hangs.set()
            # Returns when the client has gone.
            self.connection.recv(1)
        elif is_broken:
            self.hub.drops -= 1

    def log_message(self, *_arguments: object) -> None:
        pass


def _is_large(path: str) -> bool:
    return path.endswith((".onnx", ".safetensors"))


def _described(path: str, data: bytes) -> dict[str, Any]:
    blob = hashlib.sha1(b"blob %d\0%b" % (len(data), data), usedforsecurity=False).hexdigest()
    described: dict[str, Any] = {"rfilename": path, "size": len(data), "blobId": blob}
    if _is_large(path):
        # The digest by which git knows it is that of the pointer.
        described |= {"blobId": "0" * 40, "lfs": {"sha256": hashlib.sha256(data).hexdigest()}}
    return described
