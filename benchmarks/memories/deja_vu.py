"""deja-vu (the program `deja`, of vshulcz/deja-vu), which indexes what agents wrote to disk. NEVER RUN.

It was not to be had where this was written: its package on npm was not found, and its binaries are on a site of their
own. The calls are those of its documents of September 2026: Claude Code's transcripts in `~/.claude/projects`, `deja
index`, `deja fix "ERROR" --json` with `fixes[].command`, and `deja forget ID`. Expect to mend this file.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.memories import MemoryFailedError, MemoryMissingError, Moment


class History:
    """Transcripts in a home folder of their own, and the index of them."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._is_indexed = True
        self.version = f"deja-vu {self._deja('version').strip()}"

    def learn(self, moment: Moment) -> None:
        """Append a command to the transcript of its session."""
        if moment.kind != "command":
            return
        file = self._home / ".claude" / "projects" / moment.repository / f"{moment.session}.jsonl"
        file.parent.mkdir(parents=True, exist_ok=True)
        used = {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": moment.text}}
        gave = {"type": "tool_result", "tool_use_id": "t", "content": moment.output, "is_error": moment.has_failed}
        with file.open("a", encoding="utf-8") as lines:
            for role, part in (("assistant", used), ("user", gave)):
                line = {"type": role, "sessionId": moment.session, "cwd": f"/work/{moment.repository}"}
                lines.write(json.dumps({**line, "message": {"role": role, "content": [part]}}) + "\n")
        self._is_indexed = False

    def ask(self, moment: Moment) -> str:
        """Ask what was run after the same error."""
        if moment.kind != "failure":
            return ""
        if not self._is_indexed:
            self._deja("index")
            self._is_indexed = True
        found = json.loads(self._deja("fix", moment.output[-500:], "--json", "--project", moment.repository))
        return "\n".join(each["command"] for each in found.get("fixes", [])[:1] if each.get("command"))

    def forget(self, session: str) -> None:
        """Forget a session."""
        self._deja("forget", session)

    def _deja(self, *arguments: str) -> str:
        variables = {**os.environ, "HOME": str(self._home)}
        ran = subprocess.run(["deja", *arguments], env=variables, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise MemoryFailedError(f"deja {arguments[0]}: {ran.stderr}")
        return ran.stdout


@contextmanager
def open_memory(folder: Path) -> Iterator[History]:
    """Return an empty history."""
    if not shutil.which("deja"):
        raise MemoryMissingError("The program `deja` is not on the PATH.")
    yield History(folder)
