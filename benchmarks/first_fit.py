"""Measure the first clustering of a large store: how long the caller waits, and what other sessions notice.

`python -m benchmarks.first_fit [--json]`. With --json the last line is one object.

Each round starts a new hub over the same experiences, without earlier clusters. Once its search is semantic, other
sessions search, start entries and ping: first on their own, then while a session requests the clusters. Pings show how
long the hub's event loop is blocked. On a busy machine, the minimum over several rounds and the CPU seconds say more
than the median. `benchmarks.clustering` measures the clustering alone. Linux only: CPU seconds are read from /proc.
"""

import asyncio
import itertools
import json
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.hub import FRONT, Memory, memory
from benchmarks.measuring import options_of, percentile, processor_seconds, show, timed
from benchmarks.population import ENTRY, populate, themes
from benchmarks.stdio import StdioSession
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.loading import load_packaged

CALL_SECONDS = 0.02
"""The pause between two calls of another session."""
PING_SECONDS = 0.005
QUIET_SECONDS = 3.0
GOALS = {"first_seconds": 2.5, "net_stall_ms": 50.0}
"""The maximum of each metric."""


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, experiences=10_000, rounds=5)
    report = {"n": options.experiences, **measure_rounds(options.experiences, options.rounds, load_packaged())}
    show({name: report[name] for name in GOALS}, GOALS)
    if options.json:
        print(json.dumps(report))


def measure_rounds(count: int, rounds: int, embedder: Embedder) -> dict[str, Any]:
    """Return the cost of the first clusters over all rounds, and of other sessions' calls during that time."""
    figures: dict[str, list[float]] = {}
    taken: dict[str, list[float]] = {}
    with memory() as made:
        asyncio.run(populate(made.storage, count, embedder))
        for number in range(rounds):
            found = {**measure_alone(made), **measure_beside_others(made, taken)}
            print(
                f"round {number + 1}: " + "  ".join(f"{name} {value:.2f}" for name, value in found.items()), flush=True
            )
            for name, value in found.items():
                figures.setdefault(name, []).append(value)
    percentiles = {name: spread_of(values) for name, values in taken.items()}
    for name, figure in percentiles.items():
        print(f"{name:12} ms  " + "  ".join(f"{key} {value:.1f}" for key, value in figure.items()))
    return {
        **{name: min(values) for name, values in figures.items()},
        **{f"{name}_median": statistics.median(values) for name, values in figures.items()},
        "milliseconds": percentiles,
    }


def measure_alone(made: Memory) -> dict[str, float]:
    """Return the wall and CPU seconds of the first clusters without other calls."""
    session = new_hub(made)
    hub, children = processor_seconds(made.hub())
    figures = {"first_seconds": timed(partial(session.call, "get_clusters", axis="full"))}
    hub_after, children_after = processor_seconds(made.hub())
    figures |= {"hub_processor_seconds": hub_after - hub, "child_processor_seconds": children_after - children}
    figures["kept_seconds"] = timed(partial(session.call, "get_clusters", axis="full"))
    session.close()
    return figures


def measure_beside_others(made: Memory, taken: dict[str, list[float]]) -> dict[str, float]:
    """Return the seconds of the first clusters while others call, and the longest stall of their calls.

    A stall is the time above the median of such calls on an idle hub; `quiet_` is the longest stall there. `net`
    excludes the time during which the hub, the front and the client were ready to run but other programs ran, so it is
    what the hub itself caused. Every call's seconds are added to `taken`.
    """
    session = new_hub(made)
    with others(made) as quiet:
        time.sleep(QUIET_SECONDS)
    with others(made) as busy:
        seconds = timed(partial(session.call, "get_clusters", axis="full"))
    session.close()
    for name, found in (("quiet", quiet), ("fit", busy)):
        for kind, values in found.items():
            taken.setdefault(f"{name} {kind}", []).extend(values)
    return {
        "beside_others_seconds": seconds,
        "quiet_stall_ms": stall(quiet, quiet, ""),
        "stall_ms": stall(busy, quiet, ""),
        "quiet_net_stall_ms": stall(quiet, quiet, " net"),
        "net_stall_ms": stall(busy, quiet, " net"),
    }


def stall(found: dict[str, list[float]], usual: dict[str, list[float]], suffix: str) -> float:
    """Return how many milliseconds the worst call took longer than the usual call of its kind."""
    return 1000 * max(
        max(found[kind + suffix]) - statistics.median(usual[kind + suffix]) for kind in ("searches", "starts", "pings")
    )


def new_hub(made: Memory) -> StdioSession:
    """Return a session with a new hub that has no earlier clusters."""
    made.end_hub()
    (made.storage / "journal" / "clusters.jsonl").unlink(missing_ok=True)
    return ready(made)


def ready(made: Memory) -> StdioSession:
    """Return a session whose hub has loaded its model."""
    session = made.session(FRONT)
    session.initialize()
    while session.call("search_experiences", query="is it ready")["mode"] == "lexical":
        time.sleep(0.2)
    return session


@contextmanager
def others(made: Memory) -> Iterator[dict[str, list[float]]]:
    """Let one session search and start entries and another ping; return the seconds of each call."""
    found: dict[str, list[float]] = {"searches": [], "starts": [], "pings": []}
    net: dict[str, list[float]] = {f"{kind} net": [] for kind in found}
    stop = threading.Event()
    caller, pinger = made.session(FRONT), made.session(FRONT)
    for session in (caller, pinger):
        session.initialize()
        session.call("get_active_ghap")
    topics = itertools.cycle(themes())

    def measure(kind: str, session: StdioSession, work: Callable[[], object]) -> None:
        on_the_way = (threading.get_native_id(), session.process.pid, made.hub())
        waited = waiting_seconds(on_the_way)
        found[kind].append(timed(work))
        waited = waiting_seconds(on_the_way) - waited
        net[f"{kind} net"].append(max(0.0, found[kind][-1] - waited))

    def call() -> None:
        while not stop.wait(CALL_SECONDS):
            measure("searches", caller, partial(caller.call, "search_experiences", query=next(topics)))
            if not stop.wait(CALL_SECONDS):
                start = partial(caller.call, "start_ghap", **ENTRY)
                measure("starts", caller, start)

    def ping() -> None:
        while not stop.wait(PING_SECONDS):
            measure("pings", pinger, partial(pinger.request, "ping", {}))

    threads = [threading.Thread(target=call), threading.Thread(target=ping)]
    for thread in threads:
        thread.start()
    try:
        yield found
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        found |= net
        caller.close()
        pinger.close()


def waiting_seconds(threads: Iterable[int | None]) -> float:
    """Return how long the threads have been ready to run while all processors were busy with other work."""
    waited = 0.0
    for thread in threads:
        waited += int(Path(f"/proc/{thread}/schedstat").read_text("ascii").split()[1]) / 1e9
    return waited


def spread_of(seconds: Sequence[float]) -> dict[str, float]:
    """Return percentiles in milliseconds."""
    shares = {"p50": 0.5, "p95": 0.95}
    figures = {name: 1000 * percentile(seconds, share) for name, share in shares.items()}
    return {**figures, "max": 1000 * max(seconds), "count": len(seconds)}


if __name__ == "__main__":
    main()
