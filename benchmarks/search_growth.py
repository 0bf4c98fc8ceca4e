"""Compare the cost of a hybrid search with the cost of its parts, as a collection grows.

Vectors are random, and texts are made-up words with realistic frequencies: this measures the engine, and embedding
100,000 texts takes hours.
"""

import asyncio
import math
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.measuring import percentile
from benchmarks.ranking import EMBEDDING, MEANING, WORDS
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.index.engines.base import Filter, Point, SparseVector
from learning_memory_server.index.engines.edge import EdgeStore
from learning_memory_server.index.index import VectorIndex
from learning_memory_server.index.ranking.fusion import DEPTH
from learning_memory_server.index.ranking.hybrid import Query
from learning_memory_server.index.ranking.terms import encode_document, encode_query

SIZES = (1_000, 10_000, 100_000)
QUERIES = 200
TARGET = 1.3
"""The maximum ratio of the search's p95 to the p95 of its parts."""

_WORDS = 40
"""Words in a text."""
_ASKED = 8
"""Words in a query."""
_VOCABULARY = 50_000
_BATCH = 5_000
_LIMIT = 10


def measure_growth(embedder: Embedder, sizes: Sequence[int] = SIZES) -> dict[str, dict[str, float]]:
    """Print and return the milliseconds of searches at each size."""
    print(f"\np95 of {QUERIES} searches in ms: the whole, and its parts each measured alone in the same run")
    names = (EMBEDDING, MEANING, WORDS)
    print(f"  {'points':>8}{'whole':>10}{'parts':>10}{'ratio':>8}   " + "".join(f"{n:>20}" for n in names))
    reports = {}
    for size in sizes:
        figures = reports[str(size)] = _measure(size, embedder)
        parts = "".join(f"{figures[name]:20.2f}" for name in names)
        print(
            f"  {size:>8}{figures['whole_p95_ms']:10.2f}{figures['parts_p95_ms']:10.2f}{figures['ratio']:8.2f}   {parts}"
        )
    worst = max(figures["ratio"] for figures in reports.values())
    print(f"  the largest ratio is {worst:.2f}; at most {TARGET}: {'yes' if worst <= TARGET else 'no'}")
    return reports


def _measure(size: int, embedder: Embedder) -> dict[str, float]:
    generator = np.random.default_rng(size)
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        store = EdgeStore(Path(folder))
        index = VectorIndex(EmbeddingService(lambda: embedder), lambda _: store, {})
        runner.run(index.open())
        for start in range(0, size, _BATCH):
            points = _points(range(start, min(start + _BATCH, size)), embedder.identity.dimension, generator)
            runner.run(store.upsert(Collection.MEMORIES, points))
        whole, parts = [], []
        alone: dict[str, list[float]] = {EMBEDDING: [], MEANING: [], WORDS: []}
        # The first searches warm up the file cache and are not counted.
        for number in range(-10, QUERIES):
            text = _text(_ASKED, generator)
            for is_whole in (number % 2 == 0, number % 2 != 0):
                if is_whole:
                    started = time.perf_counter()
                    runner.run(index.search_hybrid(Query(Collection.MEMORIES, text, _LIMIT, Filter())))
                    whole.append(1000 * (time.perf_counter() - started))
                else:
                    taken = _alone(store, text, embedder, runner)
                    parts.append(sum(taken.values()))
                    for name, milliseconds in taken.items():
                        alone[name].append(milliseconds)
            if number < 0:
                for counted in (whole, parts, *alone.values()):
                    counted.clear()
        runner.run(index.close())
    return {
        "whole_p50_ms": round(statistics.median(whole), 3),
        "parts_p50_ms": round(statistics.median(parts), 3),
        "whole_p95_ms": round(percentile(whole, 0.95), 3),
        "parts_p95_ms": round(percentile(parts, 0.95), 3),
        "ratio": round(percentile(whole, 0.95) / percentile(parts, 0.95), 3),
        **{name: round(percentile(values, 0.95), 3) for name, values in alone.items()},
    }


def _alone(store: EdgeStore, text: str, embedder: Embedder, runner: asyncio.Runner) -> dict[str, float]:
    """Run the indispensable parts of a search, one after another."""
    times = [time.perf_counter()]
    vector = embedder.embed_queries([text])[0]
    times.append(time.perf_counter())
    runner.run(store.search(Collection.MEMORIES, vector, limit=DEPTH))
    times.append(time.perf_counter())
    terms = SparseVector(*encode_query(text))
    runner.run(store.search(Collection.MEMORIES, terms, limit=DEPTH))
    times.append(time.perf_counter())
    names = (EMBEDDING, MEANING, WORDS)
    return {name: 1000 * (times[n + 1] - times[n]) for n, name in enumerate(names)}


def _points(numbers: range, dimension: int, generator: np.random.Generator) -> list[Point]:
    vectors = generator.standard_normal((len(numbers), dimension)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    points = []
    for number, vector in zip(numbers, vectors, strict=True):
        text = _text(_WORDS, generator)
        terms = SparseVector(*encode_document(text))
        key = str(number)
        points.append(Point(point_id("memory", key), vector, {"key": key, "text": text}, terms))
    return points


def _text(count: int, generator: np.random.Generator) -> str:
    """Return made-up words; the n-th is n times rarer than the first (Zipf's law)."""
    drawn = np.exp(generator.random(count) * math.log(_VOCABULARY)).astype(int)
    return " ".join(_word(int(number)) for number in drawn)


def _word(number: int) -> str:
    """Return a word of consonants and vowels that no stemmer shortens."""
    letters = ""
    while number:
        number, digit = divmod(number, 100)
        letters += "bdfgkmpvzx"[digit // 10] + "aoaoaouuou"[digit % 10] + "rtlnkmdpzx"[digit % 10]
    return letters
