"""Measure what the hub and its fronts cost, and whether anything is lost when the hub is killed repeatedly.

Each comparison is between medians of one run whose two sides alternate, so that both run under the same load. Linux
only: process memory is read from /proc.
"""

import argparse
import asyncio
import json
import os
import random
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.population import populate
from benchmarks.startup import BARE
from benchmarks.stdio import StdioSession
from learning_memory_server.embedding.loading import load_packaged

FRONT = [sys.executable, "-m", "learning_memory_server"]
DIRECT = [*FRONT, "--direct"]
CALLS = ("get_active_ghap", "list_values")
ENTRY = {
    "domain": "debugging",
    "strategy": "check-assumptions",
    "hypothesis": "No entry is lost or doubled when the hub is killed in between",
    "action": "Kill it again and again while eight sessions write",
    "prediction": "Every entry is found once",
}
END_SECONDS = 30.0
GOALS = {
    "warm_ratio": 0.1,
    "cold_ratio": 1.2,
    "front_mib": 15,
    "get_active_ghap_ratio": 1.2,
    "list_values_ratio": 1.2,
    "lost": 0,
    "doubled": 0,
    "hub_mib_after": 450,
}
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="starts of each kind")
    parser.add_argument("--calls", type=int, default=500, help="calls of each tool")
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--entries", type=int, default=500, help="entries that each session writes")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--experiences", type=int, default=10_000, help="experiences stored in the hub whose memory is measured"
    )
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report: dict[str, float] = {}
    parts: list[Callable[[], dict[str, float]]] = [
        lambda: measure_starts(options.runs),
        lambda: measure_calls(options.calls),
        lambda: measure_kills(options.sessions, options.entries, options.kills),
        lambda: measure_hub(options.experiences),
    ]
    for part in parts:
        figures = part()
        for name, figure in figures.items():
            goal = GOALS.get(name)
            verdict = "" if goal is None else f"   at most {goal}: {'yes' if figure <= goal else 'NO'}"
            print(f"{name:32} {figure:10.2f}{verdict}", flush=True)
        report |= figures
    if options.json:
        print(json.dumps({name: round(figure, 3) for name, figure in report.items()}))


def measure_starts(runs: int) -> dict[str, float]:
    """Return the milliseconds from the start of a process to its answer to `initialize`, and a front's memory."""
    seconds: dict[str, list[float]] = {"bare": [], "warm": [], "cold": []}
    mebibytes = []
    with memory() as made:
        # The first round warms up the file cache and is not counted.
        for round_number in range(runs + 1):
            made.end_hub()
            for name, command in (("cold", FRONT), ("warm", FRONT), ("bare", [sys.executable, "-c", BARE])):
                session = made.session(command)
                elapsed = session.initialize()
                if round_number:
                    seconds[name].append(elapsed)
                if name == "warm":
                    session.call("list_values")
                    mebibytes.append(resident(session.process.pid))
                session.close()
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        **{f"{name}_ms": 1000 * median for name, median in medians.items()},
        "warm_ratio": medians["warm"] / medians["bare"],
        "cold_ratio": medians["cold"] / medians["bare"],
        "front_mib": statistics.median(mebibytes),
    }


def measure_calls(calls: int) -> dict[str, float]:
    """Return the median milliseconds of calls through the front and in one process."""
    figures: dict[str, float] = {}
    with memory(embedding_backend="hashing") as hub, memory(embedding_backend="hashing") as direct:
        sessions = {"hub": hub.session(FRONT), "direct": direct.session(DIRECT)}
        for session in sessions.values():
            session.initialize()
            session.call("start_ghap", goal="Know what a call costs", **ENTRY)
            # After this answer, the index is open and nothing runs in the background.
            with suppress(RuntimeError):
                session.call("get_clusters", axis="full")
        for tool in CALLS:
            taken: dict[str, list[float]] = {name: [] for name in sessions}
            for _ in range(calls):
                for name, session in sessions.items():
                    taken[name].append(timed(partial(session.call, tool)))
            medians = {name: 1000 * statistics.median(values[calls // 10 :]) for name, values in taken.items()}
            figures |= {f"{tool}_{name}_ms": median for name, median in medians.items()}
            figures[f"{tool}_ratio"] = medians["hub"] / medians["direct"]
        for session in sessions.values():
            session.close()
    return figures


def measure_kills(sessions: int, entries: int, kills: int) -> dict[str, float]:
    """Return what became of the entries that sessions wrote while their hub was being killed."""
    with memory(embedding_backend="hashing", log_level="error") as made:
        stalls: list[float] = []
        fronts = [made.session(FRONT) for _ in range(sessions)]

        def write(number: int) -> None:
            fronts[number].initialize()
            for entry in range(entries):
                goal = f"entry {entry} of session {number}"
                for tool, arguments in (
                    ("start_ghap", {**ENTRY, "goal": goal}),
                    ("resolve_ghap", {"status": "confirmed", "result": goal}),
                ):
                    stalls.append(timed(partial(fronts[number].call, tool, **arguments)))

        writers = [threading.Thread(target=write, args=(number,)) for number in range(sessions)]
        begun = time.monotonic()
        for writer in writers:
            writer.start()
        killed = 0
        calls = 2 * sessions * entries
        while killed < kills and any(writer.is_alive() for writer in writers):
            # By progress, not by time, so that the kills spread over the whole run on any machine.
            due = len(stalls) >= (killed + random.random()) * calls / (kills + 1)
            pid = made.hub() if due else None
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                killed += 1
            time.sleep(0.02)
        for writer in writers:
            writer.join()
        seconds = time.monotonic() - begun
        for front in fronts:
            front.close()
        goals = Counter(entry["goal"] for entry in journalled(made.storage))
        left_open = len(list((made.storage / "journal" / "open").glob("*.json")))
    return {
        "sessions": sessions,
        "entries_written": sessions * entries,
        "entries_found": len(goals),
        "lost": sessions * entries - len(goals),
        "doubled": goals.total() - len(goals) + left_open,
        "kills": killed,
        "writing_seconds": seconds,
        "median_call_ms": 1000 * statistics.median(stalls),
        "worst_stall_seconds": max(stalls),
    }


def measure_hub(experiences: int) -> dict[str, float]:
    """Return a hub's memory with the real model and many experiences, before and after clustering them."""
    figures: dict[str, float] = {}
    with memory() as made:
        asyncio.run(populate(made.storage, experiences, load_packaged()))
        session = made.session(FRONT)
        session.initialize()
        while session.call("search_experiences", query="is it ready")["mode"] == "lexical":
            time.sleep(0.2)
        figures["hub_mib_before"] = resident(made.hub())
        figures["clustering_seconds"] = timed(partial(session.call, "get_clusters", axis="full"))
        figures["hub_mib_after"] = resident(made.hub())
        # Without mapped files, whose pages the system reclaims when needed.
        figures["hub_own_mib_after"] = resident(made.hub(), "RssAnon")
        session.close()
        made.end_hub()
    return figures


def journalled(storage: Path) -> list[dict[str, Any]]:
    """Return the data of every line about an entry."""
    files = sorted((storage / "journal" / "entries").glob("*.jsonl"))
    return [json.loads(line)["data"] for file in files for line in file.read_bytes().splitlines()]


def resident(process: int | None, field: str = "VmRSS") -> float:
    """Return a process's resident memory, in MiB."""
    for line in Path(f"/proc/{process}/status").read_text("ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"process {process} has no {field}")


def processor_seconds(process: int | None) -> tuple[float, float]:
    """Return the CPU seconds of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()
    own, own_system, children, children_system = (int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:15])
    return own + own_system, children + children_system


def is_alive(process: int) -> bool:
    """Return whether a process runs; a zombie does not."""
    try:
        state = Path(f"/proc/{process}/stat").read_text("ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in {"Z", "X"}


def timed(work: Callable[[], object]) -> float:
    """Return the seconds the work takes."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
