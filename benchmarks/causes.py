"""Measure whether clusters of causes and surprises share what went wrong: `python -m benchmarks.causes --data PATH`.

PATH is a file of GHAP entries, a line each (`.jsonl` or `.jsonl.gz`), with `labels`: an object with the `task` and the
`cause`. A cause `logic` means that the text names no other: the others are `explicit`. The entries are imported and
embedded as a server does it, and clustered as `get_clusters` does: all of them, and many draws of a part of them.

Each figure is the adjusted mutual information of the clusters with the causes, with the explicit causes, and with the
tasks. Noise is left out, as it claims nothing; in the columns with `+ noise`, each such entry is a cluster of its own.
`texts` are the same vectors clustered as they are, without removing the task. `k-means` is given the number of causes,
`random` the sizes of our clusters.

One clustering of a few hundred entries says little: from draw to draw the figures differ by more than most changes to
the algorithm make. So compare the means over draws; the last column has the standard deviation of the explicit figure.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks.measuring import Option, options_of
from benchmarks.population import completed
from benchmarks.recorded import lines_of
from learning_memory_server.journal.archive.entries_importing import parse_entries
from learning_memory_server.lessons.clustering.clusterer import Clusterer
from learning_memory_server.lessons.clusters.clusterer import LiveAxis
from learning_memory_server.lessons.clusters.fitting import FitRequest, fit, without_task
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.logging import configure_logging
from tests.lessons.clustering.parts import places_of

Labels = NDArray[np.int64]
Names = NDArray[np.str_]
Figures = dict[str, float]

AXES = (Axis.ROOT_CAUSE, Axis.SURPRISE)
DRAWS = 40
SHARE = 0.8
"""The share of the entries in each draw."""
NAMELESS = "logic"
"""The label of a cause that has no name of its own."""
FIGURES = ("cause", "explicit", "task", "cause + noise", "explicit + noise", "clusters", "noise")


def main() -> None:
    """Run the benchmark."""
    options = options_of(
        __doc__, data=Option(Path, is_needed=True), draws=DRAWS, share=Option(SHARE, "of the entries in each draw")
    )
    configure_logging("error")
    lines = lines_of(options.data)
    labels = {row["id"]: row["labels"] for row in map(json.loads, lines)}
    materials = asyncio.run(read(lines))
    report = {}
    with threadpool_limits(limits=1):
        for axis, material in materials.items():
            of_rows = [labels[name] for name in material.ids]
            rows = drawn(len(of_rows), options.share, options.draws)
            causes, tasks = (np.array([each[kind] for each in of_rows]) for kind in ("cause", "task"))
            report[axis.value] = measure(axis, material, causes, tasks, rows)
    if options.json:
        print(json.dumps(report))


async def read(lines: Sequence[bytes]) -> dict[Axis, FitRequest]:
    """Import the entries, and return the input of a fit of each axis."""
    parsed = parse_entries(lines, project="benchmark")
    print(f"{len(parsed.entries)} entries, {len(parsed.rejections)} lines rejected")
    async with completed(list(parsed.entries.values())) as services:
        return {axis: await LiveAxis(axis, None, 0, services.clusterer).material() for axis in AXES}


def drawn(count: int, share: float, draws: int) -> list[Labels]:
    """Return the rows of each draw, ascending."""
    generator = np.random.default_rng(0)
    return [np.sort(generator.permutation(count)[: round(share * count)]) for _ in range(draws)]


def measure(axis: Axis, material: FitRequest, causes: Names, tasks: Names, draws: list[Labels]) -> dict[str, Any]:
    """Print and return the figures of every method: of all entries, and their means over the draws."""
    count = len(causes)
    print(
        f"\n{axis.value}: {count} entries, {len(set(causes))} causes, {len(set(tasks))} tasks; "
        f"then the mean of {len(draws)} draws of {len(draws[0])}"
    )
    print(f"  {'':8}{'':6}" + "".join(f"{name:>18}" for name in (*FIGURES, "deviation")))
    report: dict[str, Any] = {}
    for name, method in methods(material, causes).items():
        whole = scored(method(np.arange(count)), causes, tasks)
        parts = [scored(method(rows), causes[rows], tasks[rows]) for rows in draws]
        mean = {kind: float(np.mean([each[kind] for each in parts])) for kind in FIGURES}
        mean["deviation"] = float(np.std([each["explicit"] for each in parts]))
        report[name] = {"all": whole, "draws": mean}
        for kind, figures in report[name].items():
            print(f"  {name:8}{kind:6}" + "".join(f"{value:18.3f}" for value in figures.values()))
    return report


def methods(material: FitRequest, causes: Names) -> dict[str, Callable[[Labels], Labels]]:
    """Return ours and what it is compared with: each labels the entries in some rows, -1 for noise."""
    from sklearn.cluster import KMeans

    clusterer = Clusterer()
    own = without_task(material.vectors, *material.apart)

    def ours(rows: Labels) -> Labels:
        request = FitRequest(
            material.axis,
            material.vectors[rows],
            material.weights[rows],
            [material.texts[row] for row in rows],
            [material.ids[row] for row in rows],
            [each[rows] for each in material.apart],
        )
        numbers = {
            name: number for number, each in enumerate(fit(request, clusterer).clusters) for name in each.members
        }
        return np.array([numbers.get(name, -1) for name in request.ids])

    def at_random(rows: Labels) -> Labels:
        return np.random.default_rng(len(rows)).permutation(ours(rows))

    return {
        "ours": ours,
        "texts": lambda rows: places_of(clusterer.fit(material.vectors[rows], material.weights[rows])),
        "k-means": lambda rows: KMeans(len(set(causes)), n_init=3, random_state=0).fit_predict(own[rows]),
        "random": at_random,
    }


def scored(labels: Labels, causes: Names, tasks: Names) -> Figures:
    """Return how well clusters agree with causes and tasks; -1 in `labels` is noise."""
    from sklearn.metrics import adjusted_mutual_info_score as shared

    inside, explicit = labels >= 0, causes != NAMELESS
    apart = np.where(inside, labels, labels.max() + 1 + np.arange(len(labels)))
    named = inside & explicit
    return {
        "cause": float(shared(causes[inside], labels[inside])),
        "explicit": float(shared(causes[named], labels[named])),
        "task": float(shared(tasks[inside], labels[inside])),
        "cause + noise": float(shared(causes, apart)),
        "explicit + noise": float(shared(causes[explicit], apart[explicit])),
        "clusters": float(labels.max() + 1),
        "noise": float(1 - inside.mean()),
    }


if __name__ == "__main__":
    main()
