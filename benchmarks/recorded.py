"""Recorded sessions and entries, in the formats in which people have them.

- Ours: the JSON lines of a journal or an export, or of its predecessor: GHAP entries.
- Claude Code's transcripts: a `.jsonl` or `.jsonl.gz` file of one session, or a folder of them.
- Documented JSON lines, also packed: one session a line, an object with `session`, `repo`, `at` (ISO 8601), `task`
  (what was asked; may be absent), and `calls`, a list of objects with `tool` (`Bash`, `bash` and `shell`; others are
  passed over), `input` (the command), `output` (what it wrote) and `error` (whether it failed).
"""

import gzip
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

from benchmarks.recurring import Session, sessions_in
from learning_memory_server.journal.archive.entries_importing import parse_entries
from learning_memory_server.lessons.errors.watch import Ran
from learning_memory_server.model.entry import Ghap

_SHELLS: Final = frozenset({"Bash", "bash", "shell"})
_SECOND: Final = timedelta(seconds=1)


def read_sessions(path: Path) -> list[Session]:
    """Return the sessions of a file or folder, in time order."""
    first = {} if path.is_dir() else json.loads(lines_of(path)[0])
    if not isinstance(first.get("calls"), list):
        return sessions_in(path)
    rows = [json.loads(line) for line in lines_of(path)]
    return sorted(map(_session, rows), key=lambda session: (session.at, session.id))


def lines_of(path: Path) -> list[bytes]:
    """Return the lines of a file that are not empty; it may be packed."""
    content = path.read_bytes()
    content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    return [line for line in content.splitlines() if line.strip()]


def read_entries(path: Path) -> list[Ghap]:
    """Return the resolved entries of a file in our format, in the order in which they were started."""
    with path.open("rb") as lines:
        parsed = parse_entries(lines, project="recorded")
    return sorted(parsed.entries.values(), key=lambda entry: (entry.created_at, entry.id))


def _session(row: dict[str, Any]) -> Session:
    at = datetime.fromisoformat(row["at"])
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    calls = (call for call in row["calls"] if call["tool"] in _SHELLS)
    ran = [
        Ran(row["repo"], row["session"], call["input"], call["output"], bool(call["error"]), at + number * _SECOND)
        for number, call in enumerate(calls)
    ]
    return Session(row["session"], row["repo"], at, tuple(ran), row.get("task", ""))
