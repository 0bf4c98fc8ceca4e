import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

from learning_memory_server.learning.clustering.clusterer import Clusterer
from learning_memory_server.learning.clustering.neighbours import unit_rows
from learning_memory_server.learning.clusters.fitting import without_task
from tests.learning.clustering.parts import causes_in_tasks


def agreement(vectors: np.ndarray, truth: np.ndarray) -> float:
    labels = Clusterer().fit(vectors, np.ones(len(vectors))).labels()
    inside = labels >= 0
    return float(adjusted_mutual_info_score(truth[inside], labels[inside]))


def test_causes_are_clustered_across_tasks() -> None:
    texts, strategies, stories, cause, task = causes_in_tasks()
    assert agreement(texts, cause) < 0.1
    assert agreement(texts, task) > 0.9

    own = without_task(texts, strategies, stories)

    assert agreement(own, cause) > 0.9
    assert agreement(own, task) < 0.1


def test_the_rest_is_orthogonal_to_the_task_and_has_length_one() -> None:
    texts, strategies, stories, _, _ = causes_in_tasks()
    own = without_task(7 * texts, 3 * strategies, stories)

    np.testing.assert_allclose(np.linalg.norm(own, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(np.vecdot(own, strategies), 0, atol=1e-5)
    rest_of_story = stories - np.vecdot(stories, texts)[:, None] * texts
    np.testing.assert_allclose(np.vecdot(own, rest_of_story), 0, atol=1e-5)


def test_of_a_root_cause_and_its_surprise_counts_what_both_say() -> None:
    axes = np.eye(8, dtype=np.float32)
    mistake, hypothesis, outcome, goal = axes[[0]], axes[[1]], axes[[2]], axes[[3]]

    story = 2 * mistake + hypothesis + outcome + 2 * goal

    own = without_task(3 * (mistake + hypothesis + goal), goal, story, 5 * (mistake + outcome + goal))

    np.testing.assert_allclose(own, unit_rows(2 * mistake + hypothesis + outcome), atol=1e-5)


def test_a_root_cause_without_a_surprise_counts_alone() -> None:
    texts, strategies, stories, _, _ = causes_in_tasks()
    nothing = np.zeros_like(texts)

    np.testing.assert_allclose(
        without_task(texts, strategies, stories, nothing), without_task(texts, strategies, stories), atol=1e-5
    )


def test_a_text_that_says_nothing_but_its_task_stays_as_it_is() -> None:
    texts, _, stories, _, _ = causes_in_tasks()
    np.testing.assert_allclose(without_task(texts, texts, stories), texts, atol=1e-6)


def test_a_text_that_hardly_says_more_than_its_task_stays_as_it_is() -> None:
    axes = np.eye(4, dtype=np.float32)
    texts = unit_rows(axes[[0, 0]] + np.array([[0.07], [0.14]]) * axes[1])

    own = without_task(texts, axes[[0, 0]], texts)

    np.testing.assert_allclose(own, [texts[0], axes[1]], atol=1e-5)
