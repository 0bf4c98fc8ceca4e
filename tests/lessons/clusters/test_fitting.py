import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.metrics import adjusted_mutual_info_score

from learning_memory_server.lessons.clustering.clusterer import Clusterer
from learning_memory_server.lessons.clustering.density import unit_rows
from learning_memory_server.lessons.clusters.fitting import FitRequest, explain, fit, inherit, without_task
from learning_memory_server.model.vocabulary import Axis
from tests.lessons.clustering.parts import causes_in_tasks, directions, fit as partition_of, mixture, places_of


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


GONE = -1


def letters(text: str) -> frozenset[str]:
    return frozenset(text)


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param({}, ["abc", "de"], [0, 1], id="the first are numbered in their order"),
        pytest.param(
            {4: "abcd", 7: "wxyz"}, ["wxyz12345", "abc"], [7, 4], id="a number stays whatever the place and size"
        ),
        pytest.param({0: "abc"}, ["abc", "xyz"], [0, 1], id="a new topic gets a new number"),
        pytest.param({2: "abcdefgh"}, ["abc", "defgh"], [3, 2], id="the larger part of a split"),
        pytest.param({0: "abc", 1: "defgh"}, ["abcdefgh"], [1], id="the larger one of a merger"),
        pytest.param({0: "abc", 1: "xyz"}, ["abc"], [0], id="what scattered into noise leaves no trace"),
        # Giving 0 the first, which it is most like, leaves 1 with nothing.
        pytest.param(
            {0: "abcdef", 1: "ghij"}, ["abcghij", "def"], [1, 0], id="the assignment is optimal and not greedy"
        ),
    ],
)
def test_numbers_are_inherited(before: dict[int, str], now: list[str], expected: list[int]) -> None:
    earlier = {number: letters(members) for number, members in before.items()}
    assert inherit(earlier, [letters(members) for members in now], max(before, default=-1) + 1) == expected


def test_a_new_number_is_the_next_and_not_the_first_that_is_free() -> None:
    assert inherit({0: letters("abc")}, [letters("xyz")], 5) == [5]


def test_a_share_below_three_tenths_does_not_inherit() -> None:
    quarters = [letters(members) for members in ("abc", "def", "gh", "ij")]
    assert inherit({0: letters("abcdefghij")}, quarters, 1) == [0, 1, 2, 3]
    assert 0 not in inherit({0: letters("abcdefgh")}, [letters(pair) for pair in ("ab", "cd", "ef", "gh")], 1)


def test_an_assigned_number_is_refused_as_the_next() -> None:
    with pytest.raises(ValueError, match="already assigned"):
        inherit({3: letters("abc")}, [letters("xyz")], 3)


runs = st.lists(st.lists(st.integers(GONE, 5), min_size=12, max_size=12), min_size=1, max_size=8)


def groups_of(placed: list[int]) -> list[frozenset[str]]:
    return [
        frozenset(str(member) for member, where in enumerate(placed) if where == cluster)
        for cluster in sorted(set(placed) - {GONE})
    ]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(runs)
def test_over_any_history_numbers_are_unique_and_never_reused(history: list[list[int]]) -> None:
    previous: dict[int, frozenset[str]] = {}
    next_number = 0
    ever: set[int] = set()
    for placed in history:
        current = groups_of(placed)
        found = inherit(previous, current, next_number)
        fresh = set(found) - set(previous)

        assert len(set(found)) == len(found) == len(current)
        assert not fresh & ever

        ever |= fresh
        previous = dict(zip(found, current, strict=True))
        next_number += len(fresh)


@given(runs)
@settings(max_examples=50, deadline=None)
def test_an_unchanged_clustering_keeps_every_number(history: list[list[int]]) -> None:
    current = groups_of(history[0])
    first = inherit({}, current, 10)

    again = inherit(dict(zip(first, current, strict=True)), current[::-1], 10 + len(first))

    assert again == first[::-1]


def agreement(vectors: np.ndarray, truth: np.ndarray) -> float:
    labels = places_of(Clusterer().fit(vectors, np.ones(len(vectors))))
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


def test_zero_clusters_are_explained_with_the_setting_that_would_find_some() -> None:
    vectors, _ = mixture(20, 16, spread=0.3)

    said = explain(partition_of(vectors, min_cluster_size=17))

    assert said == (
        "No 17 of the 320 points are close enough to each other to form a cluster "
        "(hdbscan_min_cluster_size = 17, min_samples = 3). "
        "With hdbscan_min_cluster_size = 16 there would be 20 clusters, the largest of 16, 16 and 16 points."
    )


def test_a_mostly_noisy_partition_is_explained() -> None:
    vectors, _ = mixture(2, 10, spread=0.5, noise=60)

    said = explain(partition_of(vectors))

    assert said is not None
    assert said.startswith("2 clusters found, but 60 of 80 points are in none of them")


def test_points_that_no_setting_groups_are_explained_as_dissimilar() -> None:
    said = explain(partition_of(directions(60, 384, 8)))

    assert said is not None
    assert "too dissimilar" in said


def test_too_few_points_are_explained_by_their_count() -> None:
    said = explain(partition_of(directions(2, 16, 1)))

    assert said == "There are 2 points, and hdbscan_min_cluster_size = 3 requires at least 3 in a cluster."


def test_a_good_partition_needs_no_explanation() -> None:
    vectors, _ = mixture(6, 10)

    assert explain(partition_of(vectors)) is None
