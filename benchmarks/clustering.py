"""Measure clustering and the value rule on labelled short texts.

`python -m benchmarks.clustering --data PATH [--n N] [--json]`. PATH is a file of `{"text", "label"}` lines (`.jsonl` or
`.jsonl.gz`), or a folder, of which every `clusters-*` file is used. With --json the last line is one object: for each
method the mean over sets and sizes, with every set and size under `sets`.

`benchmarks/data/clusters-titles.jsonl` is a set of our own: titles of technical questions, 15 about each of 20 tools,
and 20 about nothing else, each with a label of its own. With `--n 320` it is used whole. Without the tools' names no
method found them (an ARI of .11 for ours, .09 for k-means), so most titles got one, as in real questions.

A store of n is drawn as n / k texts of each of k labels, k = n / 20 or all labels of the set. If the set is too small,
near copies of its texts fill it up, and the output says so. Every number is the mean over the draws: three, or one
above 5,000. In ARI and NMI, each noise point counts as its own cluster. k-means and agglomerative clustering are given
the true number of labels, which no real store knows.

Each method runs in its own process. `seconds` excludes imports; `of` a baseline is the share of its seconds that ours
takes. `peak_mb` is the peak memory of that process, including imports. A baseline that exceeds --limit, or would not
fit in memory, is left out at that size and larger ones, and `skipped` says why.

`scikit_learn` is ours with scikit-learn's HDBSCAN. Its `same_labels` is 1 if every label is that of ours.
"""

from __future__ import annotations

import itertools
import json
import multiprocessing
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.measuring import Option, options_of, peak_megabytes
from benchmarks.population import themes
from benchmarks.recorded import lines_of
from learning_memory_server.embedding.base import DEFAULT_MODEL, Embedder
from learning_memory_server.embedding.loading import load_embedder
from learning_memory_server.lessons.clustering.clusterer import Clusterer, Partition
from learning_memory_server.lessons.clustering.density import unit_rows
from learning_memory_server.lessons.clustering.topic import ClusterEvidence, match_topic
from learning_memory_server.lessons.clusters.fitting import inherit
from tests.lessons.clustering.parts import places_of

Vectors = NDArray[np.float32]
Labels = NDArray[np.int64]
Figures = dict[str, float]

SIZES = (100, 300, 1_000, 5_000, 20_000, 50_000)
PER_LABEL = 20
SLOW = 5_000
"""Above this size there is one draw, and the value rule, which depends on the labels only, is left out."""
METHODS = ("ours", "scikit_learn", "raw_hdbscan", "kmeans", "agglomerative")
MOST_BYTES = 2_000_000_000
"""The maximum memory for a matrix of all pairwise distances."""
HELD_OUT = 15
"""Maximum number of texts per label that are judged as values."""
GROWTHS = (0.01, 0.1)
SCATTER = 0.3
"""The length of the noise added to a unit vector to make a near copy."""


class Texts:
    """A labelled set. Each text is embedded once, when it is first drawn."""

    def __init__(self, path: Path, embedder: Embedder) -> None:
        rows = [json.loads(line) for line in lines_of(path)]
        self.name = path.name.split(".")[0].removeprefix("clusters-")
        self.texts = [row["text"] for row in rows]
        self.labels = np.unique([row["label"] for row in rows], return_inverse=True)[1]
        self.embedder = embedder
        self._known: dict[int, Vectors] = {}

    def vectors(self, rows: NDArray[np.int64]) -> Vectors:
        """Return the vectors of the rows, shape (len(rows), dimension)."""
        # Texts of equal length in a batch need no padding.
        missing = sorted(set(rows.tolist()) - self._known.keys(), key=lambda row: len(self.texts[row]))
        if missing:
            found = self.embedder.embed_documents([self.texts[row] for row in missing])
            self._known.update(zip(missing, unit_rows(found), strict=True))
        return np.stack([self._known[row] for row in rows.tolist()])

    def draw(self, size: int, seed: int) -> tuple[Labels, Labels]:
        """Draw equally many rows of several labels; return them, ascending, and the other rows of those labels.

        A set with fewer than `size` rows is drawn completely.
        """
        if size >= len(self.texts):
            return np.arange(len(self.texts)), np.empty(0, dtype=np.int64)
        generator = np.random.default_rng(seed)
        names, counts = np.unique(self.labels, return_counts=True)
        each = max(2, size // min(len(names), max(2, size // PER_LABEL)))
        able = names[counts >= each]
        chosen = generator.choice(able, min(len(able), max(2, round(size / each))), replace=False)
        parts = [generator.permutation(np.flatnonzero(self.labels == label)) for label in chosen]
        drawn = np.sort(np.concatenate([part[:each] for part in parts]))
        return drawn, generator.permutation(np.concatenate([part[each:] for part in parts]))


def main() -> None:
    """Run the benchmark."""
    options = options_of(
        __doc__,
        data=Option(Path, is_needed=True),
        n=Option(SIZES, "the number of texts"),
        limit=Option(120.0, "time limit of a method, in seconds"),
        model=Option(DEFAULT_MODEL, "another model: its name, or a folder's absolute path"),
        seeds=3,
    )
    paths = sorted(options.data.glob("clusters-*")) if options.data.is_dir() else [options.data]
    if not paths:
        sys.exit(f"there is no clusters-* in {options.data}")
    embedder = load_embedder(options.model)
    reports: dict[str, dict[str, Any]] = {}
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="sklearn")
        for path in paths:
            texts = Texts(path, embedder)
            print(f"{texts.name}: {len(texts.texts)} texts, {len(set(texts.labels.tolist()))} labels")
            skipped: dict[str, str] = {}
            for size in sorted(options.n):
                seeds = range(options.seeds if size <= SLOW else 1)
                reports[f"{texts.name} {size}"] = measure(texts, size, seeds, skipped, options.limit)
    if options.json:
        print(json.dumps(summary(reports)))


def summary(reports: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the means over the reports of all sets and sizes, and the reports."""
    kinds = dict.fromkeys(
        kind for report in reports.values() for kind in report if kind not in {"set", "n", "copies", "skipped"}
    )
    means = {kind: _mean([report[kind] for report in reports.values() if kind in report]) for kind in kinds}
    sizes = sorted({report["n"] for report in reports.values()})
    return {**means, "n": sizes[0] if len(sizes) == 1 else sizes, "sets": reports}


def measure(texts: Texts, size: int, seeds: range, skipped: dict[str, str], limit: float) -> dict[str, Any]:
    """Return and print every metric at one size.

    Args:
        texts: The set.
        size: The number of texts.
        seeds: One seed per draw.
        skipped: The reason why a method does not run, by its name; failing methods are added.
        limit: The time limit of a method, in seconds.
    """
    found: dict[str, list[Figures]] = {}
    copies = 0
    for seed in seeds:
        rows, others = texts.draw(size, seed)
        vectors, truth = texts.vectors(rows), texts.labels[rows]
        copies = max(0, size - len(rows)) if size > len(texts.texts) else 0
        if copies:
            vectors, truth = _grown(vectors, truth, size, seed)
        for name, figures in compared(vectors, truth, skipped, limit).items():
            found.setdefault(name, []).append(figures)
        if not copies and len(others) >= max(GROWTHS) * size:
            found.setdefault("stability", []).append(stability(texts, rows, others))
        if size <= SLOW and len(others):
            found.setdefault("value_rule", []).append(value_rule(texts, rows, others))
    report: dict[str, Any] = {"set": texts.name, "n": size, "copies": copies, "skipped": dict(skipped)}
    report.update({name: _mean(figures) for name, figures in found.items()})
    made = f", {copies} of them near copies" if copies else ""
    print(f"  n = {size}: {len(seeds)} draws of {len(truth)} texts of {len(set(truth.tolist()))} labels{made}")
    for name in found:
        print(f"    {name:14}" + "  ".join(f"{key} {value:.3f}" for key, value in report[name].items()))
    for name, reason in skipped.items():
        print(f"    {name:14}skipped from {reason}")
    sys.stdout.flush()
    return report


def compared(vectors: Vectors, truth: Labels, skipped: dict[str, str], limit: float) -> dict[str, Figures]:
    """Return the metrics of every method that is not skipped; failing methods are added to `skipped`."""
    found: dict[str, Figures] = {}
    labelled: dict[str, Labels] = {}
    size, topics = len(vectors), len(set(truth.tolist()))
    for name in METHODS:
        if name == "agglomerative" and 8 * size**2 > MOST_BYTES:
            skipped.setdefault(name, f"n = {size}: the distances of all pairs need {8 * size**2 / 1e9:.1f} GB")
        if name in skipped:
            continue
        outcome = in_process(name, vectors, topics, limit)
        if isinstance(outcome, str):
            skipped[name] = f"n = {size}: {outcome}"
        else:
            labels, cost = outcome
            found[name] = {**scored(labels, truth), **cost}
            labelled[name] = labels
            if name == "scikit_learn":
                found[name]["same_labels"] = float(np.array_equal(labels, labelled["ours"]))
            if name != "ours":
                found["ours"][f"of {name}"] = found["ours"]["seconds"] / cost["seconds"]
    return found


def method(name: str, topics: int) -> Callable[[Vectors], Labels]:
    """Return our method or a baseline, which labels every row, -1 for noise."""
    if name == "scikit_learn":
        sys.modules["hdbscan"] = None  # type: ignore[assignment] # importing it fails
    if name in {"ours", "scikit_learn"}:
        return lambda vectors: places_of(fitted(vectors))
    from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans

    if name == "raw_hdbscan":
        # The fourth nearest point, counting the point itself.
        return HDBSCAN(min_cluster_size=5, min_samples=4, copy=True).fit_predict  # type: ignore[no-any-return]
    if name == "kmeans":
        return KMeans(topics, n_init=3, random_state=0).fit_predict  # type: ignore[no-any-return]
    return AgglomerativeClustering(topics, metric="cosine", linkage="average").fit_predict  # type: ignore[no-any-return]


def in_process(name: str, vectors: Vectors, topics: int, limit: float) -> tuple[Labels, Figures] | str:
    """Run a method in its own process; return its labels and cost, or the reason why there are none."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vectors.npy"
        np.save(path, vectors)
        process = context.Process(target=_work, args=(name, path, topics, sender))
        process.start()
        sender.close()
        try:
            # Our own method has no time limit.
            if not receiver.poll(None if name == "ours" else limit):
                return f"not done in {limit:.0f} s"
            outcome: tuple[Labels, Figures] = receiver.recv()
        except EOFError:
            return "its process ended without an answer"
        else:
            return outcome
        finally:
            process.kill()
            process.join()


def _work(name: str, path: Path, topics: int, sender: Connection) -> None:
    vectors = np.load(path)
    run = method(name, topics)
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if len(vectors) > 2 * topics:
            # A first small run triggers the lazy imports, which are not counted.
            method(name, 2)(vectors[:20])
        started = time.perf_counter()
        labels = np.asarray(run(vectors))
        seconds = time.perf_counter() - started
    sender.send((labels, {"seconds": seconds, "peak_mb": peak_megabytes()}))


def fitted(vectors: Vectors) -> Partition:
    """Cluster with the server's default settings."""
    return Clusterer().fit(vectors, np.ones(len(vectors)))


def scored(labels: Labels, truth: Labels) -> Figures:
    """Return how well the clusters agree with the truth; -1 in `labels` is noise."""
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    apart = np.where(labels < 0, labels.max() + 1 + np.arange(len(labels)), labels)
    inside = labels >= 0
    pairs = Counter(zip(labels[inside].tolist(), truth[inside].tolist(), strict=True))
    largest: dict[int, int] = {}
    for (cluster, _), count in pairs.items():
        largest[cluster] = max(count, largest.get(cluster, 0))
    return {
        "ari": adjusted_rand_score(truth, apart),
        "nmi": normalized_mutual_info_score(truth, apart),
        "noise": float(1 - inside.mean()),
        "clusters": len(largest),
        "purity": sum(largest.values()) / max(1, int(inside.sum())),
    }


def stability(texts: Texts, rows: Labels, others: Labels) -> Figures:
    """Return how much stays the same when more texts of the same labels are added.

    ids: the share of cluster numbers that still exist afterwards. members: of the texts that are in a cluster both
    times, the share in a cluster with the same number.
    """
    figures: Figures = {}
    before = _numbered(fitted(texts.vectors(rows)), rows)
    for growth in GROWTHS:
        grown = np.sort(np.concatenate([rows, others[: max(1, round(growth * len(rows)))]]))
        partition = fitted(texts.vectors(grown))
        members = list(_numbered(partition, grown).values())
        numbers = inherit(before, members, len(before))
        after = {row: number for number, rows in zip(numbers, members, strict=True) for row in rows}
        same = [after[row] == number for number, rows in before.items() for row in rows if row in after]
        name = f"{growth:.0%}"
        figures[f"ids +{name}"] = len(set(numbers) & before.keys()) / max(1, len(before))
        figures[f"members +{name}"] = float(np.mean(same)) if same else 1.0
    return figures


def value_rule(texts: Texts, rows: Labels, others: Labels) -> Figures:
    """Return the acceptance rates of texts as values: genuine texts, and texts of other labels.

    The labels themselves are the clusters, and the judged texts are in none of them. hard: a text claimed for the label
    with the centroid nearest to its own label's. random: for any other label. off_topic: a text about programming, for
    the nearest label.
    """
    names = sorted(set(texts.labels[rows].tolist()))
    clusters = []
    for name in names:
        members = texts.vectors(rows[texts.labels[rows] == name])
        clusters.append(ClusterEvidence.of(str(name), members, np.ones(len(members))))
    centroids = np.stack([cluster.centroid for cluster in clusters])
    alike = centroids @ centroids.T
    np.fill_diagonal(alike, -1)
    nearest = alike.argmax(axis=1)
    passed: dict[str, list[bool]] = {}

    def claim(kind: str, vector: Vectors, place: int) -> None:
        verdict = match_topic(vector, clusters[place], clusters[:place] + clusters[place + 1 :])
        passed.setdefault(kind, []).append(verdict.valid)

    generator = np.random.default_rng(0)
    for place, name in enumerate(names):
        for vector in texts.vectors(others[texts.labels[others] == name][:HELD_OUT]):
            claim("tpr", vector, place)
            claim("fpr_hard", vector, int(nearest[place]))
            claim("fpr_random", vector, int((place + generator.integers(1, len(names))) % len(names)))
    for vector in unit_rows(texts.embedder.embed_documents(themes())):
        claim("fpr_off_topic", vector, int((centroids @ vector).argmax()))
    return {kind: float(np.mean(verdicts)) for kind, verdicts in passed.items()}


def _numbered(partition: Partition, rows: Labels) -> dict[int, frozenset[str]]:
    members = (frozenset(map(str, rows[cluster.members])) for cluster in partition.clusters)
    return dict(enumerate(members))


def _grown(vectors: Vectors, labels: Labels, size: int, seed: int) -> tuple[Vectors, Labels]:
    """Add near copies of the vectors until there are enough."""
    more = size - len(vectors)
    generator = np.random.default_rng(seed)
    copied = generator.integers(0, len(vectors), more)
    scatter = unit_rows(generator.standard_normal((more, vectors.shape[1])))
    copies = unit_rows(vectors[copied] + SCATTER * scatter)
    return np.concatenate([vectors, copies]), np.concatenate([labels, labels[copied]])


def _mean(figures: list[Figures]) -> Figures:
    names = itertools.chain.from_iterable(figures)
    return {name: float(np.mean([one[name] for one in figures])) for name in dict.fromkeys(names)}


if __name__ == "__main__":
    main()
