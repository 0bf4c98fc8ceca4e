"""A server that answers like huggingface.co's API, for one model whose files are in a folder."""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

COMMIT: Final = "0123456789abcdef0123456789abcdef01234567"
DECOYS: Final = {
    "onnx/model.onnx": b"the same weights",
    "pytorch_model.bin": b"and again",
    "flax_model.msgpack": b"!",
}


@contextmanager
def hub_with(name: str, folder: Path, requests: list[str]) -> Iterator[str]:
    """Run a hub with one model, and yield its address; the paths of all requests are recorded."""
    files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    files |= DECOYS

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            api, _, rest = self.path.partition("?")[0].partition(f"/{name}")
            if name not in self.path:
                self._send(404, b"{}", {"X-Error-Code": "RepoNotFound"})
            elif rest.startswith("/tree/"):
                self._send_json([_described(path, data) for path, data in files.items()])
            elif api:
                siblings = [{"rfilename": path} for path in files]
                self._send_json({"id": name, "modelId": name, "sha": COMMIT, "siblings": siblings})
            else:
                data = files[rest.removeprefix(f"/resolve/{COMMIT}/")]
                self._send(200, data, {"ETag": f'"{_sha1(data)}"', "X-Repo-Commit": COMMIT})

        do_HEAD = do_GET  # noqa: N815 - the library's names

        def _send_json(self, answer: Any) -> None:
            self._send(200, json.dumps(answer).encode(), {"Content-Type": "application/json"})

        def _send(self, status: int, data: bytes, headers: dict[str, str]) -> None:
            self.send_response(status)
            for key, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(key, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(data)

        def log_message(self, *_arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _described(path: str, data: bytes) -> dict[str, Any]:
    return {"type": "file", "path": path, "size": len(data), "oid": _sha1(data)}


def _sha1(data: bytes) -> str:
    return hashlib.sha1(data, usedforsecurity=False).hexdigest()
