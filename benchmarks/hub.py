"""Measure what calls through the hub and its fronts cost.

The other side of each comparison is a server in one process; the two alternate, so that both run under the same load,
and medians are compared. `benchmarks.startup` measures starts, `benchmarks.growth` the hub's memory, and
`tests/hub/test_load.py` kills hubs while sessions write. Linux only: whether a process lives is read from /proc.
"""

import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from benchmarks.measuring import Option, options_of, show, taking_turns, timed
from benchmarks.population import ENTRY
from benchmarks.stdio import StdioSession

FRONT = [sys.executable, "-m", "learning_memory_server"]
DIRECT = [*FRONT, "--direct"]
CALLS = ("get_active_ghap", "list_values")
END_SECONDS = 30.0
GOALS = {f"{tool}_ratio": 1.2 for tool in CALLS}
"""The maximum of each metric."""


class Memory:
    """A storage folder with its own hub and runtime directory."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.storage = folder / "data"
        self.storage.mkdir(mode=0o700)
        runtime = folder / "run"
        runtime.mkdir(mode=0o700)
        self.environment = {
            **os.environ,
            "XDG_RUNTIME_DIR": str(runtime),
            "LEARNING_MEMORY_STORAGE_PATH": str(self.storage),
            "LEARNING_MEMORY_PROJECT": "benchmark",
            "LEARNING_MEMORY_HUB_IDLE_MINUTES": "2",
            **{f"LEARNING_MEMORY_{name.upper()}": value for name, value in settings.items()},
        }
        self.environment.pop("CLAUDE_CODE_SESSION_ID", None)

    def session(self, command: list[str]) -> StdioSession:
        """Start a process."""
        return StdioSession(command, self.environment)

    def hub(self) -> int | None:
        """Return the hub's process, if there is one."""
        with suppress(OSError, ValueError, KeyError):
            pid = int(json.loads((self.storage / "journal" / ".lock").read_bytes())["pid"])
            # This process filled the store, and the pid it wrote to the lock file outlives its lock.
            return pid if is_alive(pid) and pid != os.getpid() else None
        return None

    def end_hub(self) -> None:
        """End the hub, if there is one, and wait for it."""
        pid = self.hub()
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
            deadline = time.monotonic() + END_SECONDS
            while is_alive(pid) and time.monotonic() < deadline:
                time.sleep(0.01)


@contextmanager
def memory(**settings: str) -> Iterator[Memory]:
    """Use an empty store and leave no hub behind."""
    with tempfile.TemporaryDirectory(prefix="lms-") as folder:
        made = Memory(Path(folder), **settings)
        try:
            yield made
        finally:
            made.end_hub()


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, calls=Option(500, "calls of each tool"))
    report = measure_calls(options.calls)
    show(report, GOALS)
    if options.json:
        print(json.dumps({name: round(figure, 3) for name, figure in report.items()}))


def measure_calls(calls: int) -> dict[str, float]:
    """Return the median milliseconds of calls through the front and in one process."""
    figures: dict[str, float] = {}
    with memory(embedding_backend="hashing") as hub, memory(embedding_backend="hashing") as direct:
        sessions = {"hub": hub.session(FRONT), "direct": direct.session(DIRECT)}
        for session in sessions.values():
            session.initialize()
            session.call("start_ghap", **ENTRY)
            # After this answer, the index is open and nothing runs in the background.
            with suppress(RuntimeError):
                session.call("get_clusters", axis="full")
        for tool in CALLS:
            works = {name: partial(timed, partial(session.call, tool)) for name, session in sessions.items()}
            taken = taking_turns(works, calls, warm_up=calls // 10)
            medians = {name: 1000 * statistics.median(values) for name, values in taken.items()}
            figures |= {f"{tool}_{name}_ms": median for name, median in medians.items()}
            figures[f"{tool}_ratio"] = medians["hub"] / medians["direct"]
        for session in sessions.values():
            session.close()
    return figures


def is_alive(process: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


if __name__ == "__main__":
    main()
