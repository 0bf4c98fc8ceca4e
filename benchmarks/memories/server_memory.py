"""Any MCP server over stdio, shown with `@modelcontextprotocol/server-memory`, a graph that agents write and search.

    npm install --prefix FOLDER @modelcontextprotocol/server-memory
    SERVER_MEMORY=FOLDER/node_modules/@modelcontextprotocol/server-memory .venv/bin/python -m benchmarks.recurrence ...

For another server, change `_COMMAND` and the three calls. It says nothing by itself: at a prompt, a failure and
`start_ghap` an agent asks it. Its search finds what contains the whole query, so the longest words are asked for one by
one, until one is found; the newest lesson of the repository counts.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from benchmarks.memories import MemoryFailedError, MemoryMissingError, Moment
from benchmarks.stdio import StdioSession

_FOLDER: Final = Path(os.environ.get("SERVER_MEMORY", ""))
_COMMAND: Final = ["node", str(_FOLDER / "dist" / "index.js")]


class Graph:
    """The server: a lesson is an entity of the type of its repository, with two observations."""

    def __init__(self, session: StdioSession) -> None:
        self.version = f"server-memory {json.loads((_FOLDER / 'package.json').read_text('utf-8'))['version']}"
        self._session = session
        self._names: dict[str, list[str]] = {}

    def learn(self, moment: Moment) -> None:
        """Write a lesson."""
        if moment.kind == "lesson":
            names = self._names.setdefault(moment.session, [])
            names.append(f"{moment.session} {len(names)}")
            entity = {"name": names[-1], "entityType": moment.repository, "observations": [moment.text, moment.output]}
            self._call("create_entities", entities=[entity])

    def ask(self, moment: Moment) -> str:
        """Search for the longest words."""
        for word in moment.words():
            entities = self._call("search_nodes", query=word)["entities"]
            if here := [each for each in entities if each["entityType"] == moment.repository]:
                return f"{here[-1]['observations'][-1]}"
        return ""

    def forget(self, session: str) -> None:
        """Delete a session's lessons."""
        self._call("delete_entities", entityNames=self._names.get(session, []))

    def _call(self, tool: str, **arguments: object) -> dict[str, Any]:
        try:
            return self._session.call(tool, **arguments)
        except (RuntimeError, OSError, KeyError) as error:
            raise MemoryFailedError(f"{tool}: {error}") from error


@contextmanager
def open_memory(folder: Path) -> Iterator[Graph]:
    """Start the server with a file of its own."""
    if not _FOLDER.name:
        raise MemoryMissingError("SERVER_MEMORY does not name the folder of the package.")
    session = StdioSession(_COMMAND, {**os.environ, "MEMORY_FILE_PATH": str(folder / "memory.jsonl")})
    session.initialize()
    try:
        yield Graph(session)
    finally:
        session.process.terminate()
        session.process.wait()
