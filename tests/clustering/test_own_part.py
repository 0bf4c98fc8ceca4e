"""What is left of a vector without its task."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from learning_memory_server.clustering.clusterer import Clusterer
from learning_memory_server.clustering.fitting import FitRequest, fit
from learning_memory_server.clustering.neighbours import unit_rows
from learning_memory_server.clustering.own_part import own_part

TASKS, CAUSES, DIMENSION = 12, 4, 48


def entries() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Every cause once in every task, as causes, strategies and stories; and the labels of causes and tasks."""
    random = np.random.default_rng(4)
    directions = unit_rows(random.normal(size=(TASKS + CAUSES, DIMENSION)))
    task, cause = np.divmod(np.arange(TASKS * CAUSES), CAUSES)
    goals, causes = directions[:TASKS][task], directions[TASKS:][cause]
    actions = unit_rows(random.normal(size=(TASKS, DIMENSION)))[task]

    def noisy(vectors: np.ndarray) -> np.ndarray:
        return unit_rows(vectors + 0.3 * unit_rows(random.normal(size=vectors.shape)))

    texts = noisy(1.3 * goals + 0.6 * actions + causes)
    return texts, noisy(goals), noisy(goals + actions + 0.3 * causes), cause, task


def agreement(vectors: np.ndarray, truth: np.ndarray) -> float:
    labels = Clusterer().fit(vectors, np.ones(len(vectors))).labels()
    inside = labels >= 0
    return float(adjusted_mutual_info_score(truth[inside], labels[inside]))


def test_causes_are_clustered_across_tasks() -> None:
    texts, strategies, stories, cause, task = entries()
    assert agreement(texts, cause) < 0.1
    assert agreement(texts, task) > 0.9

    own = own_part(texts, strategies, stories)

    assert agreement(own, cause) > 0.9
    assert agreement(own, task) < 0.1


def test_a_fit_compares_causes_apart_from_their_tasks_but_judges_values_by_whole_texts() -> None:
    texts, strategies, stories, cause, _ = entries()
    ids = [f"e{row:02}" for row in range(len(texts))]
    request = FitRequest(texts, np.ones(len(texts)), ids, ids, {}, 0, (strategies, stories))

    found = fit(request, Clusterer())

    labels = found.partition.labels()
    assert adjusted_mutual_info_score(cause[labels >= 0], labels[labels >= 0]) > 0.9
    for cluster, evidence in zip(found.partition.clusters, found.evidence, strict=True):
        mean = texts[cluster.members].sum(axis=0)
        np.testing.assert_allclose(evidence.centroid, mean / np.linalg.norm(mean), atol=1e-5)


def test_causes_that_say_nothing_apart_from_their_tasks_are_clustered_by_task() -> None:
    random = np.random.default_rng(6)
    goals = np.repeat(np.eye(5, 32, dtype=np.float32), 6, axis=0)
    texts = unit_rows(goals + np.eye(32)[31] + 0.2 * unit_rows(random.normal(size=goals.shape)))
    ids = [f"e{row:02}" for row in range(len(texts))]

    found = fit(FitRequest(texts, np.ones(30), ids, ids, {}, 0, (goals, texts)), Clusterer())

    assert {frozenset(cluster.members.tolist()) for cluster in found.partition.clusters} == {
        frozenset(range(start, start + 6)) for start in range(0, 30, 6)
    }


def test_the_rest_is_orthogonal_to_the_task_and_has_length_one() -> None:
    texts, strategies, stories, _, _ = entries()
    own = own_part(7 * texts, 3 * strategies, stories)

    np.testing.assert_allclose(np.linalg.norm(own, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(np.vecdot(own, strategies), 0, atol=1e-5)
    rest_of_story = stories - np.vecdot(stories, texts)[:, None] * texts
    np.testing.assert_allclose(np.vecdot(own, rest_of_story), 0, atol=1e-5)


def test_a_text_that_says_nothing_but_its_task_stays_as_it_is() -> None:
    texts, _, stories, _, _ = entries()
    np.testing.assert_allclose(own_part(texts, texts, stories), texts, atol=1e-6)
