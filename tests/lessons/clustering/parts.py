"""Vectors whose groups are known."""

import numpy as np
from numpy.typing import NDArray

from learning_memory_server.lessons.clustering.clusterer import Clusterer, Partition
from learning_memory_server.lessons.clustering.density import unit_rows

Vectors = NDArray[np.float32]

DIMENSION = 96


def directions(count: int, dimension: int, seed: int) -> Vectors:
    drawn = np.random.default_rng(seed).normal(size=(count, dimension))
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=np.float32)


def mixture(
    topics: int, members: int, *, spread: float = 0.8, noise: int = 0, seed: int = 0
) -> tuple[Vectors, NDArray[np.int64]]:
    """Topics in random directions, members scattered around them at distance `spread`, then lone points."""
    centres = np.repeat(directions(topics, DIMENSION, seed), members, axis=0)
    points = centres + spread * directions(topics * members, DIMENSION, seed + 1)
    labels = np.repeat(np.arange(topics), members)
    lone = directions(noise, DIMENSION, seed + 2)
    return np.vstack([points, lone]).astype(np.float32), np.concatenate([labels, np.full(noise, -1)])


def even(count: int) -> NDArray[np.float64]:
    return np.ones(count)


def fit(vectors: Vectors, min_cluster_size: int | None = None, min_samples: int = 3) -> Partition:
    return Clusterer(min_cluster_size, min_samples).fit(vectors, even(len(vectors)))


def labels_of(groups: list[NDArray[np.int64]], count: int) -> NDArray[np.int64]:
    labels = np.full(count, -1)
    for number, rows in enumerate(groups):
        labels[rows] = number
    return labels


def as_sets(partition: Partition) -> set[frozenset[int]]:
    return {frozenset(cluster.members.tolist()) for cluster in partition.clusters}


TASKS, CAUSES = 12, 4


def causes_in_tasks() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every cause once in every task, as causes, strategies and stories; and the labels of causes and tasks."""
    random = np.random.default_rng(4)
    directions = unit_rows(random.normal(size=(TASKS + CAUSES, 48)))
    task, cause = np.divmod(np.arange(TASKS * CAUSES), CAUSES)
    goals, causes = directions[:TASKS][task], directions[TASKS:][cause]
    actions = unit_rows(random.normal(size=(TASKS, 48)))[task]

    def noisy(vectors: np.ndarray) -> np.ndarray:
        return unit_rows(vectors + 0.3 * unit_rows(random.normal(size=vectors.shape)))

    texts = noisy(1.3 * goals + 0.6 * actions + causes)
    return texts, noisy(goals), noisy(goals + actions + 0.3 * causes), cause, task


def places_of(partition: Partition) -> NDArray[np.int64]:
    """Return the place of each row's cluster, or -1 for noise."""
    return labels_of([each.members for each in partition.clusters], partition.count)
