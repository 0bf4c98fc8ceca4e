"""Measure how searches hold up when many arrive at once.

Searches go through a front to a warm hub, all sent before the first answer is read. Throughput is a multiple of that of
one search at a time in the same run. No query is repeated, because vectors of recent queries are cached. The texts are
generated, or those of a judged set such as `benchmarks.retrieval` reads.
"""

import asyncio
import json
import random
import re
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle
from pathlib import Path
from typing import Any, Final

from benchmarks.hub import FRONT, Memory, memory
from benchmarks.measuring import Option, options_of, percentile, show
from benchmarks.population import ENTRY, make_entry, populate, themes
from benchmarks.stdio import StdioSession
from learning_memory_server.embedding.loading import load_packaged

AT_ONCE: Final = (1, 10, 100)
SEARCHES: Final = ("search_memory", "search_experiences")
SESSIONS: Final = 16
ROUNDS: Final = 5
"""Rounds of each number of searches at once; of single searches, ten times as many."""
AT_MOST: Final = {"errors": 0.0}
AT_LEAST: Final = {"hybrid_share": 0.9}
_MODE: Final = re.compile(r"^Mode: (\w+)", re.MULTILINE)


def main() -> None:
    """Run the benchmark."""
    options = options_of(
        __doc__,
        data=Option(Path, "a set of documents and queries, as in retrieval-*.json"),
        rounds=ROUNDS,
        calls=Option(20, "calls of each session of the mixed load"),
    )
    texts, queries = read_texts(options.data)
    report: dict[str, Any] = {"memories": len(texts)}
    with memory() as made:
        asyncio.run(populate(made.storage, len(texts), load_packaged(), texts=texts))
        session = made.session(FRONT)
        session.initialize()
        fresh = numbered(queries)
        warm_up(session, fresh)
        for tool in SEARCHES:
            report[tool] = measure_searches(session, tool, fresh, options.rounds)
        report["mixed"] = measure_sessions(made, fresh, options.calls)
        print("\n16 sessions, mixed calls")
        show(report["mixed"], AT_MOST, AT_LEAST)
        session.close()
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
        print(f"\n{tool}, {at_once} at once")
        show(report[str(at_once)], AT_MOST, AT_LEAST)
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
    return [
        ("start_ghap", {**ENTRY, "goal": f"Know what a busy hub does, session {number} in step {step}"}),
        ("resolve_ghap", {"status": "confirmed", "result": "No call failed"}),
    ]


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
        "p95_ms": round(1000 * percentile(seconds, 0.95), 1),
        "longest_ms": round(1000 * seconds[-1], 1),
    }


if __name__ == "__main__":
    main()
