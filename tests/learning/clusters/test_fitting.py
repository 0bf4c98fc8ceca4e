import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from learning_memory_server.learning.clustering.clusterer import Clusterer
from learning_memory_server.learning.clustering.neighbours import unit_rows
from learning_memory_server.learning.clusters.fitting import FitRequest, fit
from learning_memory_server.model.vocabulary import Axis
from tests.learning.clustering.parts import causes_in_tasks


def test_a_fit_compares_causes_apart_from_their_tasks_but_judges_values_by_whole_texts() -> None:
    texts, strategies, stories, cause, _ = causes_in_tasks()
    ids = [f"e{row:02}" for row in range(len(texts))]
    request = FitRequest(Axis.ROOT_CAUSE, texts, np.ones(len(texts)), ids, ids, (strategies, stories))

    found = fit(request, Clusterer())

    rows = [[ids.index(name) for name in cluster.members] for cluster in found.clusters]
    labels = np.repeat(np.arange(len(rows)), list(map(len, rows)))
    assert adjusted_mutual_info_score(cause[np.concatenate(rows)], labels) > 0.9
    for cluster, members in zip(found.clusters, rows, strict=True):
        mean = texts[members].sum(axis=0)
        np.testing.assert_allclose(cluster.evidence.centroid, mean / np.linalg.norm(mean), atol=1e-5)


def test_causes_that_say_nothing_apart_from_their_tasks_are_clustered_by_task() -> None:
    random = np.random.default_rng(6)
    goals = np.repeat(np.eye(5, 32, dtype=np.float32), 6, axis=0)
    texts = unit_rows(goals + np.eye(32)[31] + 0.2 * unit_rows(random.normal(size=goals.shape)))
    ids = [f"e{row:02}" for row in range(len(texts))]

    found = fit(FitRequest(Axis.ROOT_CAUSE, texts, np.ones(30), ids, ids, (goals, texts)), Clusterer())

    assert {frozenset(cluster.members) for cluster in found.clusters} == {
        frozenset(ids[start : start + 6]) for start in range(0, 30, 6)
    }
