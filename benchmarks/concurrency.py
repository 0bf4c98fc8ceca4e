"""Measure how searches hold up when many arrive at once, and how long a client waits for its tools without a hub.

Searches go through a front to a warm hub, all sent before the first answer is read. Throughput is a multiple of that of
one search at a time in the same run. No query is repeated, because vectors of recent queries are cached. The texts are
generated, or those of a judged set such as `benchmarks.retrieval` reads.

The start without a hub is compared with a bare server of the same SDK, in runs that alternate.
"""

import argparse
import asyncio
import json
import random
import re
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle
from pathlib import Path
from typing import Any, Final

from benchmarks.hub import FRONT, Memory, memory
from benchmarks.population import ScatteringEmbedder, make_entry, themes
from benchmarks.stdio import StdioSession
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.model.caller import Caller
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import load_settings

AT_ONCE: Final = (1, 10, 100)
SEARCHES: Final = ("search_memory", "search_experiences")
SESSIONS: Final = 16
ROUNDS: Final = 5
"""Rounds of each number of searches at once; of single searches, ten times as many."""
GOALS: Final = {"errors": ("at most", 0.0), "hybrid_share": ("at least", 0.9), "cold_to_tools_ratio": ("at most", 0.1)}
_MODE: Final = re.compile(r"^Mode: (\w+)", re.MULTILINE)
_ENTRY: Final = {
    "domain": "debugging",
    "strategy": "check-assumptions",
    "goal": "Know what a busy hub does",
    "hypothesis": "Writes and searches of many sessions do not get into each other's way",
    "action": "Let sixteen sessions write and search",
    "prediction": "No call fails",
}
BARE: Final = """
import asyncio
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.types import ListToolsResult

async def tools(_context, _params):
    return ListToolsResult(tools=[])

async def main():
    server = Server("bare", on_list_tools=tools)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

asyncio.run(main())
"""


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a set of documents and queries, as in retrieval-*.json")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--calls", type=int, default=20, help="calls of each session of the mixed load")
    parser.add_argument("--starts", type=int, default=10, help="starts of each kind; 0 for none")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    texts, queries = read_texts(options.data)
    report: dict[str, Any] = {"memories": len(texts)}
    with memory() as made:
        fill(made.storage, texts)
        session = made.session(FRONT)
        session.initialize()
        fresh = numbered(queries)
        warm_up(session, fresh)
        for tool in SEARCHES:
            report[tool] = measure_searches(session, tool, fresh, options.rounds)
        report["mixed"] = measure_sessions(made, fresh, options.calls)
        show("16 sessions, mixed calls", report["mixed"])
        session.close()
    if options.starts:
        report["start"] = measure_starts(options.starts)
        show("start without a hub", report["start"])
    if options.json:
        print(json.dumps(report))


def read_texts(path: Path | None) -> tuple[list[str], list[str]]:
    """Return the texts of the memories, and the queries."""
    if path is None:
        generator = random.Random(1)
        entries = [make_entry(number, generator) for number in range(1_000)]
        return [f"{entry.hypothesis}. {entry.goal}. {entry.action}." for entry in entries], themes()
    data = json.loads(path.read_text("utf-8"))
    texts = [one["text"] for one in data["documents"] if one["text"].strip()]
    return list(dict.fromkeys(texts)), [query["text"] for query in data["queries"]]


def numbered(queries: Sequence[str]) -> Iterator[str]:
    """Yield the queries again and again, no two of them the same."""
    return (f"{query} ({number})" for query, number in zip(cycle(queries), count()))


def fill(storage: Path, texts: Sequence[str]) -> None:
    """Fill an empty store with memories and as many entries."""
    embedder = ScatteringEmbedder(load_packaged())
    settings = load_settings({"LEARNING_MEMORY_STORAGE_PATH": str(storage)})

    async def populate() -> None:
        generator = random.Random(len(texts))
        caller = Caller("benchmark", "0123456789abcdef")
        async with open_services(settings, purpose="a benchmark", load=lambda: embedder) as services:
            services.collector.add_resolved([make_entry(number, generator) for number in range(len(texts))])
            await services.writer.complete()
            for text in texts:
                await services.memories.add(caller, text, {})

    asyncio.run(populate())


def warm_up(session: StdioSession, queries: Iterator[str]) -> None:
    """Wait until both searches are hybrid and have been used."""
    for tool in SEARCHES:
        while outcome(session.request("tools/call", search(tool, next(queries)))) != "hybrid":
            time.sleep(0.1)
        session.request_all([search(tool, next(queries)) for _ in range(10)])


def measure_searches(
    session: StdioSession, tool: str, queries: Iterator[str], rounds: int
) -> dict[str, dict[str, float]]:
    """Print and return what becomes of 1, 10 and 100 searches that are sent at once."""
    report: dict[str, dict[str, float]] = {}
    alone = 0.0
    for at_once in AT_ONCE:
        answers: list[tuple[float, str]] = []
        spent = 0.0
        for _ in range(rounds if at_once > 1 else 10 * rounds):
            wanted = [search(tool, next(queries)) for _ in range(at_once)]
            begun = time.perf_counter()
            found = session.request_all(wanted)
            spent += time.perf_counter() - begun
            answers += [(seconds, outcome(result)) for seconds, result in found]
        alone = alone or len(answers) / spent
        report[str(at_once)] = summary(answers, spent) | {"multiple": round(len(answers) / spent / alone, 2)}
        show(f"{tool}, {at_once} at once", report[str(at_once)])
    return report


def measure_sessions(made: Memory, queries: Iterator[str], calls: int) -> dict[str, float]:
    """Return what becomes of the calls of sixteen sessions that search and write at the same time."""
    sessions = [made.session(FRONT) for _ in range(SESSIONS)]
    answers: list[tuple[float, str]] = []
    taking = threading.Lock()

    def work(number: int) -> None:
        for step in range(calls):
            for tool, arguments in turn(number, step, query):
                begun = time.perf_counter()
                result = sessions[number].request("tools/call", {"name": tool, "arguments": arguments})
                answers.append((time.perf_counter() - begun, outcome(result)))

    def query() -> str:
        with taking:
            return next(queries)

    for session in sessions:
        session.initialize()
    workers = [threading.Thread(target=work, args=(number,)) for number in range(SESSIONS)]
    begun = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    spent = time.perf_counter() - begun
    for session in sessions:
        session.close()
    return summary(answers, spent)


def turn(number: int, step: int, query: Callable[[], str]) -> list[tuple[str, dict[str, Any]]]:
    """Return the next calls of a session: mostly searches, and a write in every fourth step."""
    if step % 4 < 3:
        return [(SEARCHES[(number + step) % 2], {"query": query()})]
    if number % 2:
        return [("add_memory", {"text": f"Session {number} noted in step {step}: {query()}"})]
    goal = f"{_ENTRY['goal']}, session {number} in step {step}"
    return [
        ("start_ghap", {**_ENTRY, "goal": goal}),
        ("resolve_ghap", {"status": "confirmed", "result": "No call failed"}),
    ]


def measure_starts(runs: int) -> dict[str, float]:
    """Return the milliseconds from the start of a process to its list of tools, without a hub and of a bare server."""
    seconds: dict[str, list[float]] = {"cold": [], "bare": []}
    with memory() as made:
        # The first round warms up the file cache and is not counted.
        for round_number in range(runs + 1):
            for name, command in (("cold", FRONT), ("bare", [sys.executable, "-c", BARE])):
                made.end_hub()
                begun = time.perf_counter()
                session = made.session(command)
                session.initialize()
                session.request("tools/list", {})
                if round_number:
                    seconds[name].append(time.perf_counter() - begun)
                session.close()
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    return {
        **{f"{name}_to_tools_ms": round(1000 * median, 1) for name, median in medians.items()},
        "cold_to_tools_ratio": round(medians["cold"] / medians["bare"], 3),
    }


def search(tool: str, query: str) -> dict[str, Any]:
    """Return the parameters of a search."""
    return {"name": tool, "arguments": {"query": query}}


def outcome(result: dict[str, Any]) -> str:
    """Return the mode of a search, an empty text for another call, or `error`."""
    if result.get("isError"):
        return "error"
    mode = (result.get("structuredContent") or {}).get("mode")
    if mode is None and (found := _MODE.findall(result["content"][0]["text"])):
        mode = found[-1]
    return mode or ""


def summary(answers: Sequence[tuple[float, str]], spent: float) -> dict[str, float]:
    """Return the metrics of calls, given as seconds and outcome, that took `spent` seconds together."""
    seconds = sorted(taken for taken, _ in answers)
    outcomes = [result for _, result in answers]
    searches = [result for result in outcomes if result]
    return {
        "calls": len(answers),
        "errors": outcomes.count("error"),
        "hybrid_share": round(searches.count("hybrid") / len(searches), 3),
        "per_second": round(len(answers) / spent, 1),
        "p50_ms": round(1000 * statistics.median(seconds), 1),
        "p95_ms": round(1000 * seconds[int(0.95 * (len(seconds) - 1))], 1),
        "longest_ms": round(1000 * seconds[-1], 1),
    }


def show(title: str, metrics: dict[str, float]) -> None:
    """Print metrics, and whether they reach their goals."""
    print(f"\n{title}")
    for name, metric in metrics.items():
        verdict = ""
        if name in GOALS:
            kind, goal = GOALS[name]
            reached = metric <= goal if kind == "at most" else metric >= goal
            verdict = f"   {kind} {goal:g}: {'yes' if reached else 'NO'}"
        print(f"  {name:22} {metric:10.2f}{verdict}", flush=True)


if __name__ == "__main__":
    main()
