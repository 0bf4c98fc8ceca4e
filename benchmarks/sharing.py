"""What 2,000 shared lessons cost: the start of a session, cold and warm, reading them, and a restart of the hub.

Run it as `python -m benchmarks.sharing`. It makes a repository and two stores in a temporary folder, one of which has
joined, both with 300 entries of their own, and asks both in turn.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks.measuring import taking_turns
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.entry import Lesson
from learning_memory_server.model.moment import utc_now
from learning_memory_server.system.locations import SILENT
from tests.acceptance.wire import COMMAND
from tests.sharing.repositories import commit, git, lesson, write
from tests.support import numbered
from tests.terminals import agreed

LESSONS: Final = 2_000
OWN: Final = 300
WARM, COLD = 60, 7
PROJECT: Final = "acme/shop"


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="lms-") as folder:
        place = Path(folder)
        repository = place / "shop"
        repository.mkdir()
        git(repository, "init", "-q", "-b", "main")
        write(repository, *(lesson(number) for number in range(LESSONS)))
        commit(repository, "share")
        stores = {name: _store(place / name) for name in ("without", "with")}
        began = time.monotonic()
        agreed(stores["with"], repository, "join")
        print(f"join, {LESSONS:,} lessons: {time.monotonic() - began:.1f} s")
        _complete(stores["with"], repository)
        print(f"until all is indexed: {time.monotonic() - began:.1f} s")
        starts = {name: partial(_start, variables, repository) for name, variables in stores.items()}
        colds = {name: partial(_start, variables, repository, "hub", "stop") for name, variables in stores.items()}
        cold, warm = taking_turns(colds, COLD, warm_up=0), taking_turns(starts, WARM, warm_up=0)
        for kind, found in (("without a hub", cold), ("with a hub", warm)):
            middle = {name: statistics.median(seconds) * 1_000 for name, seconds in found.items()}
            ratio = middle["with"] / middle["without"]
            print(
                f"session start {kind}: {middle['without']:.0f} ms, with lessons {middle['with']:.0f} ms ({ratio:.3f})"
            )
        for variables in stores.values():
            _run(variables, repository, "hub", "stop")


def _store(folder: Path) -> dict[str, str]:
    for each in ("data", "home", "run"):
        (folder / each).mkdir(parents=True, mode=0o700)
    collector = ObservationCollector(Journal(folder / "data" / "journal"), utc_now)
    entries = [numbered(number, goal=f"Entry {number} of the shop") for number in range(OWN)]
    learned = Lesson("looking", "Look at the shop first")
    collector.add_resolved([replace(each, resolution=replace(each.outcome, lesson=learned)) for each in entries])
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder / "home"),
        "XDG_RUNTIME_DIR": str(folder / "run"),
        "LEARNING_MEMORY_STORAGE_PATH": str(folder / "data"),
        "LEARNING_MEMORY_PROJECT": PROJECT,
        # The context of a new session needs no model.
        "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
        "ORT_DISABLE_TELEMETRY": "1",
    }


def _run(variables: dict[str, str], folder: Path, *arguments: str) -> str:
    done = subprocess.run([COMMAND, *arguments], env=variables, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def _complete(variables: dict[str, str], folder: Path) -> None:
    while '"pending": 0' not in _run(variables, folder, "status", "--json"):
        time.sleep(0.5)


def _start(variables: dict[str, str], folder: Path, *before: str) -> float:
    """Return how long it takes until the hook at the start of a session says something, after a command."""
    if before:
        _run(variables, folder, *before)
    given = json.dumps({"hook_event_name": "SessionStart", "session_id": "SID", "cwd": str(folder)})
    began = time.monotonic()
    done = ""
    while "hookSpecificOutput" not in done:
        # After one that was late, others would not wait.
        Path(variables["LEARNING_MEMORY_STORAGE_PATH"], SILENT).unlink(missing_ok=True)
        done = subprocess.run(
            [COMMAND, "hook"],
            env=variables,
            cwd=folder,
            input=given.replace("SID", str(time.time())),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return time.monotonic() - began


if __name__ == "__main__":
    main()
