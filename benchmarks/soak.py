"""One long session: `python -m benchmarks.soak [--calls 20000] [--store FOLDER] [--json]`.

A client on stdio starts, updates and resolves entries, searches, keeps memories, and asks for lists, statistics and
clusters now and then. Printed are the hub's anonymous memory on the way, the calls that failed, and how long each tool
took. `--store` begins with a copy of a store, such as one that `benchmarks.growth --stores` keeps. Linux only.
"""

import json
import random
import shutil
import statistics
from collections import Counter, defaultdict
from pathlib import Path

from benchmarks.hub import FRONT, memory
from benchmarks.measuring import options_of, percentile, resident
from benchmarks.population import make_entry, themes
from benchmarks.stdio import StdioSession
from learning_memory_server.model.vocabulary import Axis

_LOOKS = 10


class Session:
    """A session whose calls are timed."""

    def __init__(self, session: StdioSession) -> None:
        self._session = session
        self.calls = 0
        self.failed: Counter[str] = Counter()
        self.took: dict[str, list[float]] = defaultdict(list)

    def call(self, tool: str, **arguments: object) -> None:
        """Call a tool."""
        ((seconds, result),) = self._session.request_all([{"name": tool, "arguments": arguments}])
        self.took[tool].append(1000 * seconds)
        self.failed[tool] += bool(result.get("isError"))
        self.calls += 1


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, calls=20_000, store=Path)
    with memory(HUB_IDLE_MINUTES="30") as there:
        if options.store:
            shutil.copytree(options.store, there.storage, dirs_exist_ok=True)
        client = there.session(FRONT)
        client.initialize()
        session, chance = Session(client), random.Random(3)
        ram: dict[int, float] = {}
        while session.calls < options.calls:
            work(session, chance)
            if session.calls >= len(ram) * options.calls / _LOOKS:
                ram[session.calls] = resident(there.hub(), "RssAnon")
                print(f"{session.calls:>6} calls  {ram[session.calls]:4.0f} MB", flush=True)
    failed = {tool: count for tool, count in session.failed.items() if count}
    print(f"failed: {failed or 'none'}")
    for tool, taken in session.took.items():
        high = percentile(taken, 0.95)
        print(
            f"{tool:20} {len(taken):>6}  p50 {statistics.median(taken):6.1f} ms  p95 {high:6.1f}  most {max(taken):6.0f}"
        )
    if options.json:
        print(json.dumps({"ram_mb": ram, "failed": failed}))


def work(session: Session, chance: random.Random) -> None:
    """State a hypothesis, search, and record how it ended; more now and then."""
    entry, number = make_entry(chance.randrange(10**6), chance), session.calls
    end = entry.outcome
    stated = {
        name: getattr(entry, name) for name in ("domain", "strategy", "goal", "hypothesis", "action", "prediction")
    }
    session.call("start_ghap", **stated)
    session.call("search_experiences", query=f"{chance.choice(themes())}, {number}")
    session.call("update_ghap", note=f"seen at {number}")
    outcome: dict[str, object] = {
        "status": end.status,
        "result": end.result,
        "lesson": {"what_worked": "reading the log"},
    }
    if end.root_cause:
        cause = {"category": end.root_cause.category, "description": end.root_cause.description}
        outcome |= {"surprise": end.surprise, "root_cause": cause}
    session.call("resolve_ghap", **outcome)
    if number % 60 < 4:
        session.call("add_memory", text=f"Decision {number}: {chance.choice(themes())}")
        session.call("search_memory", query=chance.choice(themes()))
        for tool in ("get_stats", "list_ghap_entries", "list_values"):
            session.call(tool)
    if number % 1_000 < 4 <= number:
        session.call("get_clusters", axis=chance.choice(list(Axis)))


if __name__ == "__main__":
    main()
