from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from learning_memory_server.learning.clustering.clusterer import Clusterer
from learning_memory_server.learning.clustering.neighbours import unit_rows
from learning_memory_server.learning.clusters.fitting import FitRequest, fit
from tests.learning.clustering.parts import causes_in_tasks


def test_a_fit_compares_causes_apart_from_their_tasks_but_judges_values_by_whole_texts() -> None:
    texts, strategies, stories, cause, _ = causes_in_tasks()
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
