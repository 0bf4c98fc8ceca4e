"""Measure p50 and p95 of the entry, cluster and value tools over stdio, with 1,000 and 10,000 stored experiences.

The baseline is the embedding of one query, measured in the same run: a search should cost little more.
"""

import argparse
import asyncio
import itertools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.population import populate, themes
from benchmarks.stdio import StdioSession
from learning_memory_server.embedding.loading import load_packaged

CEILING_MS = {
    "start_ghap": 100,
    "update_ghap": 100,
    "resolve_ghap": 1000,
    "get_active_ghap": 50,
    "list_ghap_entries": 200,
    "get_clusters": 2000,
    "get_cluster_members": 300,
    "validate_value": 500,
    "store_value": 500,
    "list_values": 100,
    "search_experiences": 300,
}
"""The maximum 95th percentile."""

ENTRY = {
    "domain": "debugging",
    "strategy": "check-assumptions",
    "goal": "Know what a call costs",
    "hypothesis": "The time of a call hardly depends on how much is stored",
    "action": "Measure every tool at two sizes",
    "prediction": "The two columns are close to each other",
}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    embedder = load_packaged()
    queries = itertools.cycle(themes())
    embedding = [_timed(lambda: embedder.embed_query(next(queries))) for _ in range(options.runs)]
    report: dict[str, Any] = {"query_embedding": _summary(embedding)}
    print(f"query embedding alone: {_text(report['query_embedding'])}")
    for size in options.sizes:
        with tempfile.TemporaryDirectory() as storage:
            asyncio.run(populate(Path(storage), size, embedder))
            timings = measure(Path(storage), options.runs)
        report[str(size)] = {tool: _summary(values) for tool, values in timings.items()}
        print(f"\n{size} experiences, {options.runs} calls of each tool")
        for tool, figures in report[str(size)].items():
            ceiling = CEILING_MS.get(tool)
            limit = f"  at most {ceiling} ms: {'yes' if figures['p95_ms'] <= ceiling else 'NO'}" if ceiling else ""
            print(f"  {tool:32} {_text(figures)}{limit}")
        search = report[str(size)]["search_experiences"]["p50_ms"]
        print(f"  a search costs {search / report['query_embedding']['p50_ms']:.2f}x its query's embedding")
    if options.json:
        print(json.dumps(report))


def measure(storage: Path, runs: int) -> dict[str, list[float]]:
    """Return the milliseconds of each call, by tool, to a server over the storage folder."""
    environment = {**os.environ, "LEARNING_MEMORY_STORAGE_PATH": str(storage), "LEARNING_MEMORY_PROJECT": "b"}
    session = StdioSession([sys.executable, "-m", "learning_memory_server", "--direct"], environment)
    session.initialize()
    timings: dict[str, list[float]] = {}

    def call(tool: str, name: str = "", **arguments: object) -> dict[str, Any]:
        started = time.perf_counter()
        reply = session.call(tool, **arguments)
        timings.setdefault(name or tool, []).append(1000 * (time.perf_counter() - started))
        return reply

    session.request("tools/list", {})
    call("list_ghap_entries", "first call (reads the journal)", limit=1)
    call("search_experiences", "first lexical search", query=themes()[0])
    call("get_clusters", "first get_clusters (with the model)", axis="full")
    while session.call("search_experiences", query="ready")["mode"] == "lexical":
        time.sleep(0.1)
    clusters = call("get_clusters", "get_clusters", axis="full")["clusters"]
    largest = clusters[0]["cluster_id"]
    text = _value_for(session, largest)
    for number in range(runs):
        call("get_clusters", axis="full")
        call("get_cluster_members", cluster_id=largest)
        call("validate_value", text=text, cluster_id=largest)
        call("search_experiences", query=f"{themes()[number % len(themes())]} again {number}")
        call("search_experiences", "search_experiences, filtered", query=themes()[0], outcome="falsified")
        call("list_ghap_entries")
    for _ in range(runs):
        call("store_value", text=text, cluster_id=largest, axis="full")
        call("list_values")
    for _ in range(runs):
        call("start_ghap", **ENTRY)
        call("update_ghap", note="so far so good")
        call("get_active_ghap")
        call("resolve_ghap", status="confirmed", result="They are close", lesson={"what_worked": "measuring"})
    call("get_clusters", "get_clusters after a change", axis="full")
    session.close()
    return timings


def _value_for(session: StdioSession, cluster_id: str) -> str:
    """Return the text of a theme, or what its entries learned, if one is a valid value of the cluster."""
    for theme in themes():
        for text in (f"When {theme}, look at its inputs", theme):
            if session.call("validate_value", text=text, cluster_id=cluster_id)["valid"]:
                return text
    raise RuntimeError("no theme's text is a valid value of the largest cluster")


def _timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - started)


def _summary(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "p50_ms": round(statistics.median(ordered), 2),
        "p95_ms": round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 2),
        "calls": len(values),
    }


def _text(figures: dict[str, float]) -> str:
    return f"p50 {figures['p50_ms']:8.1f} ms   p95 {figures['p95_ms']:8.1f} ms"


if __name__ == "__main__":
    main()
