"""What a terminal shows for each command, captured with tmux.

`python -m tests.cli.capturing` writes the captures again; look at the difference before you commit it.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.archive.entries_importing import parse_entries
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.moment import utc_now
from tests.cli.kept import ERROR, MEMORIES, VALUE, keep
from tests.command_line import old_entry

WIDTHS: Final = (40, 80, 120)
_USUAL: Final = 80
FOLDER: Final = Path(__file__).with_name("captures")
TMUX: Final = shutil.which("tmux")
_ENTRY: Final = "ghap_20260101_000007_abcdef"
_HEIGHT: Final = 3_000
"""Lines that are captured; more than all commands write."""
_COMMANDS: Final = (
    "status",
    "list --limit 4",
    "list --domain security",
    f"show {_ENTRY}",
    f"show {VALUE}",
    f"show {MEMORIES[0]}",
    f"show {ERROR}",
    "show 3f2",
    "memories",
    "values",
    "failures",
    "calibration",
    "search 'flaky test' --limit 3 --lexical",
    "search 'why SQLite' --only memories --limit 2",
    "clusters full",
    "import --help",
)
"""What every width shows."""
_AT_ONE_WIDTH: Final = (
    "show nothing",
    "import {path} --dry-run",
    "search 'flaky test' --limit 3 --explain",
    "show full_0",
    f"forget {_ENTRY} --dry-run",
    "reindex strategy",
    "backup {path}.tar.gz",
    "hub stop",
    "hub logs",
)
"""What only the usual width shows after these: sentences, which wrap as others do, and lists like those above."""
_IN_ONE_PROCESS: Final = """
import os
import shlex
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path

from learning_memory_server.cli.app import main

def run(command):
    sys.argv = ["learning-memory-server", *shlex.split(command)]
    with suppress(SystemExit):
        main()

for command in sys.argv[1:]:
    if command == "hub stop":
        # What a hub says of itself is of its process and its time.
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere):
            run(command)
        Path.home().joinpath("data", "hub.log").unlink()
    print(f"$ learning-memory-server {command}")
    run(command)
    print(flush=True)
"""
"""A process that runs its arguments one after the other: most of a command's time are imports."""
_CHANGING: Final = (
    # As many characters as before, so that lines end where they ended.
    (re.compile(r"/tmp/lms-[\w]{8}"), "/tmp/lms-xxxxxxxx"),  # noqa: S108 - only a text
    (re.compile(r"\b\d+\.\d s\b"), "0.0 s"),
    (re.compile(r"\(\d+\.\d [KMG]iB\)"), "(0.0 KiB)"),
)


def capture(width: int) -> str:
    """Return what a terminal of this width shows for the commands, one after the other."""
    # A socket needs a short path, and lines end where they do only if all paths are as long.
    with TemporaryDirectory(prefix="lms-", dir="/tmp") as folder:
        home = Path(folder)
        environment = _environment(home)
        lines = _entries()
        path = home / "entries.jsonl"
        path.write_bytes(b"\n".join(lines))
        journal = Journal(home / "data" / "journal")
        entries = parse_entries(lines, project="github.com/someone/garden").entries
        ObservationCollector(journal, utc_now).add_resolved(list(entries.values()))
        keep(journal)
        commands = (*_COMMANDS, *(_AT_ONE_WIDTH if width == _USUAL else ()))
        program = shlex.join(
            [sys.executable, "-c", _IN_ONE_PROCESS, *(each.replace("{path}", str(path)) for each in commands)]
        )
        script = home / "script"
        script.write_text(f"{program}\n{TMUX} -S {home}/tmux wait-for -S done\nread _\n")
        shown = _in_tmux(home, width, environment)
    for changing, constant in _CHANGING:
        shown = changing.sub(constant, shown)
    return shown


def _in_tmux(home: Path, width: int, environment: dict[str, str]) -> str:
    def tmux(*arguments: str) -> str:
        done = subprocess.run(
            [str(TMUX), "-u", "-f", "/dev/null", "-S", str(home / "tmux"), *arguments],
            env=environment,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode()

    tmux("new-session", "-d", "-x", str(width), "-y", str(_HEIGHT), f"sh {home}/script")
    try:
        tmux("wait-for", "done")
        return "\n".join(line.rstrip() for line in tmux("capture-pane", "-p").rstrip().splitlines()) + "\n"
    finally:
        tmux("kill-server")
        subprocess.run(["learning-memory-server", "hub", "stop"], env=environment, capture_output=True, check=True)


def _environment(home: Path) -> dict[str, str]:
    (home / "run").mkdir(mode=0o700)
    (home / "config.toml").touch()
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "XDG_RUNTIME_DIR": str(home / "run"),
        "LEARNING_MEMORY_CONFIG": str(home / "config.toml"),
        "LEARNING_MEMORY_STORAGE_PATH": str(home / "data"),
        "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
        "LEARNING_MEMORY_PROJECT": "garden",
    }


def _entries() -> list[bytes]:
    """Return twenty-four entries on three subjects, in the predecessor's form."""
    subjects = ("memory leak", "flaky test on the build machine 🚀", "慢查询 in the report of the month")
    return [json.dumps(_entry(number, subjects[number % 3])).encode() for number in range(24)]


def _entry(number: int, subject: str) -> dict[str, Any]:
    entry = old_entry(
        number,
        subject,
        goal=f"Find out why the {subject} comes back after each restart of the worker",
        hypothesis=f"The {subject} comes from state that worker {number} shares with the one before it",
        action=f"Isolate the {subject} in a process that shares nothing",
        notes=["seen again on Monday"],
    )
    if number % 5 == 0:
        entry["outcome"]["status"] = "falsified"
        entry |= {
            "surprise": f"The {subject} was still there",
            "root_cause": {"category": "wrong-assumption", "description": "The state was on the disk"},
        }
    if number == 23:
        entry["outcome"]["status"] = "abandoned"
    return entry


if __name__ == "__main__":
    for each in WIDTHS:
        (FOLDER / f"{each}.txt").write_text(capture(each), "utf-8")
