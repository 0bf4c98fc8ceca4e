"""Measure the relevance of lexical, semantic and hybrid search on any set of judged queries.

Each document is added as a memory, its text only, and searched as `search_memory` does: `hybrid` leaves out what does
not reach the floor, and `no floor` is the same search with `min_score` 0. With a re-ranking model, `rerank` is the
hybrid search with its best results re-ranked.

The baselines are those of `benchmarks/baselines.py`, computed separately in the same run. Differences between hybrid
and each other method have an interval: 95 % of 2,000 draws of the queries, with replacement. Metrics are printed in
percent; the JSON has 0 to 1.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.baselines import Method, at_random, plain_bm25, plain_dense
from benchmarks.measuring import Option, options_of, percentile
from benchmarks.ranking import measures, open_ranking
from benchmarks.search_growth import measure_growth
from learning_memory_server.embedding.base import DEFAULT_MODEL, Embedder, Reranker
from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker
from learning_memory_server.embedding.loading import load_embedder
from learning_memory_server.server.composition.logging import configure_logging

LIMIT = 20
"""The number of results requested; a document that is not among them counts as not found."""
DRAWS = 2_000
MEASURES = ("recall@1", "recall@5", "recall@10", "recall@20", "ndcg@10", "mrr")


@dataclass(frozen=True, slots=True)
class RetrievalSet:
    """Documents as (id, text), and queries as (text, ids of the relevant documents)."""

    name: str
    documents: list[tuple[str, str]]
    queries: list[tuple[str, set[str]]]

    @classmethod
    def read(cls, path: Path, limit_queries: int | None) -> RetrievalSet:
        """Read a set, leaving out queries without a relevant document."""
        data = json.loads(path.read_text("utf-8"))
        queries = [(query["text"], set(map(str, query["relevant"]))) for query in data["queries"]]
        return cls(
            data["name"],
            [(str(one["id"]), one["text"]) for one in data["documents"] if one["text"].strip()],
            [query for query in queries if query[1]][:limit_queries],
        )


def main() -> None:
    """Run the benchmark."""
    options = options_of(
        __doc__,
        data=Option(Path, "a set, or a folder of retrieval-*.json"),
        growth=Option(False, "also measure the cost of a search as a collection grows"),
        limit_queries=Option(int, "the first N queries of each set"),
        model=Option(DEFAULT_MODEL, "another model: its name, or a folder's absolute path"),
        reranker=Option(str, "a re-ranking model: its name, or a folder's absolute path"),
    )
    configure_logging("error")
    if not options.data and not options.growth:
        sys.exit("there is nothing to measure without --data or --growth")
    paths: list[Path] = []
    if options.data:
        paths = sorted(options.data.glob("retrieval-*.json")) if options.data.is_dir() else [options.data]
        if not paths:
            sys.exit(f"there is no retrieval-*.json in {options.data}")
    embedder = load_embedder(options.model)
    reranker = CrossEncoderReranker(options.reranker) if options.reranker else None
    reports = {}
    for path in paths:
        judged = RetrievalSet.read(path, options.limit_queries)
        reports[judged.name] = measure(judged, embedder, reranker)
    report: dict[str, Any] = {}
    if reports:
        report |= {"methods": _mean(list(reports.values())), "sets": reports}
    if options.growth:
        report["growth"] = measure_growth(embedder)
    if options.json:
        print(json.dumps(report))


def measure(judged: RetrievalSet, embedder: Embedder, reranker: Reranker | None = None) -> dict[str, dict[str, float]]:
    """Print and return every method's metrics on a set."""
    print(f"\n{judged.name}: {len(judged.documents)} documents, {len(judged.queries)} queries")
    started = time.perf_counter()
    vectors = embedder.embed_documents([text for _, text in judged.documents])
    print(f"  embed all documents            {time.perf_counter() - started:8.2f} s")
    with open_ranking(judged.documents, vectors, embedder, reranker) as ranking:
        methods: dict[str, Callable[[str, int], list[str]]] = {
            "hybrid": ranking.search,
            "no floor": ranking.search_all,
            "lexical": ranking.search_words,
            "dense": _ids(plain_dense(judged.documents, vectors, embedder)),
            "bm25": _ids(plain_bm25(judged.documents)),
            "random": _ids(at_random(judged.documents)),
        }
        if reranker:
            methods["rerank"] = ranking.rerank
        report, found = {}, {}
        for name, search in methods.items():
            report[name], found[name] = _figures(judged, search)
    for stage, milliseconds in ranking.stages.items():
        print(f"  {stage:30} {statistics.median(milliseconds):8.2f} ms")
    print(f"  {'':8}" + "".join(f"{name:>11}" for name in (*MEASURES, "p50 ms", "p95 ms")))
    for name, figures in report.items():
        percent = "".join(f"{100 * figures[key]:11.1f}" for key in MEASURES)
        print(f"  {name:8}{percent}{figures['p50_ms']:11.2f}{figures['p95_ms']:11.2f}")
    for name in report:
        for key in ("recall@10", "ndcg@10") if name != "hybrid" else ():
            low, high = _interval(judged, found["hybrid"], found[name], key)
            margin = report["hybrid"][key] - report[name][key]
            print(f"  {key} of hybrid - {name}: {100 * margin:+.2f} ({100 * low:+.2f} to {100 * high:+.2f})")
    return report


def _figures(judged: RetrievalSet, search: Callable[[str, int], list[str]]) -> tuple[dict[str, float], list[list[str]]]:
    """Return a method's metrics, and the ids that it found for each query."""
    found = []
    milliseconds = []
    for text, _ in judged.queries:
        started = time.perf_counter()
        found.append(search(text, LIMIT))
        milliseconds.append(1000 * (time.perf_counter() - started))
    metrics = {
        **measures(found, [relevant for _, relevant in judged.queries]),
        "p50_ms": round(statistics.median(milliseconds), 3),
        "p95_ms": round(percentile(milliseconds, 0.95), 3),
    }
    return metrics, found


def _interval(judged: RetrievalSet, found: list[list[str]], baseline: list[list[str]], key: str) -> tuple[float, float]:
    """Return the interval of the mean difference of a metric between two methods."""
    gains = np.array(
        [
            measures([ids], [relevant])[key] - measures([plain], [relevant])[key]
            for ids, plain, (_, relevant) in zip(found, baseline, judged.queries, strict=True)
        ]
    )
    drawn = np.random.default_rng(0).integers(len(gains), size=(DRAWS, len(gains)))
    low, high = np.percentile(gains[drawn].mean(axis=1), (2.5, 97.5))
    return float(low), float(high)


def _ids(search: Method) -> Callable[[str, int], list[str]]:
    return lambda text, limit: [key for key, _ in search(text, limit)]


def _mean(reports: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Return each method's metrics, averaged over the sets with equal weight."""
    return {
        name: {key: round(statistics.fmean(report[name][key] for report in reports), 4) for key in figures}
        for name, figures in reports[0].items()
    }


if __name__ == "__main__":
    main()
