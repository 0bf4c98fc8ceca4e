"""claude-mem without an account: its worker with what agents save themselves, and its search.

    npm pack claude-mem and @oven/bun-linux-x64, unpacked; bun on the PATH
    CLAUDE_MEM=FOLDER/package/plugin .venv/bin/python -m benchmarks.recurrence ...

What it makes of commands by itself needs a model, and so an account: that is left out, and not counted against it. The
semantic search needs Chroma and a model from the network: it is switched off, as its settings allow.
"""

import json
import os
import re
import signal
import subprocess
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.memories import MemoryFailedError, MemoryMissingError, Moment

_FOLDER: Final = Path(os.environ.get("CLAUDE_MEM", ""))
_PORT: Final = 37_991
_ADDRESS: Final = f"http://127.0.0.1:{_PORT}/api"
_FOUND: Final = re.compile(r"^\| #(\d+) ", re.MULTILINE)


class Worker:
    """The worker: a lesson is an observation that was saved by hand."""

    def __init__(self) -> None:
        self.version = f"claude-mem {_request('GET', 'version')['version']}, by hand"
        self._ids: dict[str, list[int]] = {}
        self._gone = set[int]()

    def learn(self, moment: Moment) -> None:
        """Save a lesson."""
        if moment.kind == "lesson":
            saved = {"title": moment.text, "text": moment.output, "project": moment.repository}
            self._ids.setdefault(moment.session, []).append(_request("POST", "memory/save", saved)["id"])

    def ask(self, moment: Moment) -> str:
        """Search for the longest words, and fetch the newest observation, as its skill tells agents to."""
        for word in moment.words():
            query = urllib.parse.urlencode({"query": word, "project": moment.repository, "limit": 1})
            shown = _request("GET", f"search?{query}")["content"][0]["text"]
            if ids := _FOUND.findall(shown):
                (known,) = _request("POST", "observations/batch", {"ids": [int(ids[0])]})
                return f"{known['narrative'] or known['text']}"
        return ""

    def forget(self, session: str) -> None:
        """Delete a session's observations."""
        for number in self._ids.pop(session, ()):
            # The same text twice is one observation.
            if number not in self._gone:
                _request("DELETE", f"observation/{number}")
                self._gone.add(number)


def _request(method: str, path: str, body: object = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    asked = urllib.request.Request(f"{_ADDRESS}/{path}", data, {"content-type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=30) as answer:
            return json.load(answer)
    except (OSError, ValueError) as error:
        raise MemoryFailedError(f"{path.partition('?')[0]}: {error}") from error


@contextmanager
def open_memory(folder: Path) -> Iterator[Worker]:
    """Start the worker with a folder of its own."""
    if not _FOLDER.name:
        raise MemoryMissingError("CLAUDE_MEM does not name the folder of the plugin.")
    own = {"CLAUDE_MEM_DATA_DIR": str(folder), "CLAUDE_MEM_CHROMA_ENABLED": "false", "HOME": str(folder)}
    variables = {**os.environ, **own, "CLAUDE_MEM_WORKER_PORT": str(_PORT), "DO_NOT_TRACK": "1"}
    command = ["bun", "scripts/worker-service.cjs", "--daemon"]
    with subprocess.Popen(
        command, cwd=_FOLDER, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as worker:
        for _ in range(60):
            try:
                _request("GET", "health")
                break
            except MemoryFailedError:
                time.sleep(0.5)
        try:
            yield Worker()
        finally:
            worker.send_signal(signal.SIGTERM)
