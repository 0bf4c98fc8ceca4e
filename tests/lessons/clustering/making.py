"""Make tests/data/clustering.npz: `python -m tests.lessons.clustering.making`.

Each set was drawn with a seed for which changes to steps and constants of the algorithm change the groups, while
changes of the numbers by two in ten thousand do not. The groups are those of the algorithm when the file was made: a
change that is meant to move them makes the file again, after the benchmarks.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from learning_memory_server.lessons.clustering.density import unit_rows
from tests.lessons.clustering.parts import DIMENSION, fit, places_of

Vectors = NDArray[np.float32]

FILE = Path(__file__).parents[2] / "data/clustering.npz"
TOPICS = (1022, 5, 19)
ONE_TOPIC = (30, 15)


def around(centre: Vectors, distance: float, count: int, generator: Generator) -> Vectors:
    return np.asarray(centre + distance * unit_rows(generator.normal(size=(count, DIMENSION))))


def topics(seed: int) -> Vectors:
    """Topics of several parts, lone points, and near copies."""
    random = np.random.default_rng(seed)
    drawn = []
    for _ in range(int(random.integers(1, 9))):
        centre = unit_rows(random.normal(size=(1, DIMENSION)))[0]
        for _ in range(int(random.integers(1, 5))):
            part = unit_rows(around(centre, random.uniform(0.2, 1.0), 1, random))[0]
            members = int(random.integers(3, 22))
            drawn.append(around(part, random.uniform(0.4, 1.5), members, random))
    lone = random.normal(size=(int(random.integers(0, 40)), DIMENSION))
    vectors = unit_rows(np.vstack([*drawn, lone / 10]))
    if copies := int(random.integers(0, 25)):
        originals = vectors[random.integers(0, len(vectors), copies)]
        vectors = np.vstack([vectors, around(originals, random.uniform(0.1, 0.3), copies, random)])
    return unit_rows(vectors)


def one_topic(seed: int) -> Vectors:
    """A loose topic of several parts, and a few lone points."""
    random = np.random.default_rng(seed)
    centre = unit_rows(random.normal(size=(1, DIMENSION)))[0]
    drawn = []
    for _ in range(int(random.integers(2, 6))):
        part = unit_rows(around(centre, random.uniform(0.3, 0.9), 1, random))[0]
        members = int(random.integers(8, 40))
        drawn.append(around(part, random.uniform(0.5, 1.1), members, random))
    lone = int(sum(map(len, drawn)) * random.uniform(0.03, 0.12))
    return unit_rows(np.vstack([*drawn, 0.1 * random.normal(size=(lone, DIMENSION))]))


def as_bytes(vectors: Vectors) -> NDArray[np.int8]:
    """Vectors of other lengths in nearly the same directions, a byte a number."""
    return np.asarray(np.round(vectors / np.abs(vectors).max(axis=1, keepdims=True) * 127), dtype=np.int8)


def main() -> None:
    sets = [as_bytes(topics(seed)) for seed in TOPICS] + [as_bytes(one_topic(seed)) for seed in ONE_TOPIC]
    found: dict[str, Any] = {}
    for number, vectors in enumerate(sets):
        found[f"vectors_{number}"] = vectors
        found[f"groups_{number}"] = places_of(fit(vectors.astype(np.float32))).astype(np.int8)
    np.savez_compressed(FILE, **found)


if __name__ == "__main__":
    main()
