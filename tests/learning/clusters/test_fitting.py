import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score

from learning_memory_server.learning.clustering.clusterer import Clusterer
from learning_memory_server.learning.clustering.density import unit_rows
from learning_memory_server.learning.clusters.clusters import Matching
from learning_memory_server.learning.clusters.fitting import FitRequest, fit, inherit, without_task
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


GONE = -1


def group(*members: str) -> frozenset[str]:
    return frozenset(members)


def letters(text: str) -> frozenset[str]:
    return frozenset(text)


def test_first_clusters_are_numbered_in_the_order_given() -> None:
    assert inherit({}, [letters("abc"), letters("de")], 0) == Matching((0, 1), 2, {}, {})


def test_a_cluster_keeps_its_number_whatever_its_place_and_size() -> None:
    before = {4: letters("abcd"), 7: letters("wxyz")}

    now = inherit(before, [letters("wxyz") | group("new1", "new2", "new3", "new4", "new5"), letters("abc")], 8)

    assert now == Matching((7, 4), 8, {}, {})


def test_a_new_topic_gets_a_new_number() -> None:
    now = inherit({0: letters("abc")}, [letters("abc"), letters("xyz")], 5)

    assert now == Matching((0, 5), 6, {}, {})


def test_the_larger_part_of_a_split_cluster_keeps_the_number() -> None:
    now = inherit({2: letters("abcdefgh")}, [letters("abc"), letters("defgh")], 3)

    assert now == Matching((3, 2), 4, {3: 2}, {})


def test_merged_clusters_keep_the_number_of_the_larger_one() -> None:
    now = inherit({0: letters("abc"), 1: letters("defgh")}, [letters("abcdefgh")], 2)

    assert now == Matching((1,), 2, {}, {0: 1})


def test_a_cluster_that_scattered_into_noise_leaves_no_trace() -> None:
    now = inherit({0: letters("abc"), 1: letters("xyz")}, [letters("abc")], 2)

    assert now == Matching((0,), 2, {}, {})


def test_a_share_below_three_tenths_does_not_inherit() -> None:
    before = {0: letters("abcdefghij")}
    quarters = [letters("abc"), letters("def"), letters("gh"), letters("ij")]

    assert inherit(before, quarters, 1).numbers == (0, 1, 2, 3)
    assert 0 not in inherit({0: letters("abcdefgh")}, [letters(pair) for pair in ("ab", "cd", "ef", "gh")], 1).numbers


def test_the_assignment_is_optimal_and_not_greedy() -> None:
    # 0 is most like the first cluster, but giving it the first leaves 1 with nothing.
    before = {0: letters("abcdef"), 1: letters("ghij")}

    now = inherit(before, [letters("abcghij"), letters("def")], 2)

    assert now.numbers == (1, 0)


def test_an_assigned_number_is_refused_as_the_next() -> None:
    with pytest.raises(ValueError, match="already assigned"):
        inherit({3: letters("abc")}, [letters("xyz")], 3)


runs = st.lists(st.lists(st.integers(GONE, 5), min_size=12, max_size=12), min_size=1, max_size=8)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(runs)
def test_over_any_history_numbers_are_unique_and_never_reused(history: list[list[int]]) -> None:
    previous: dict[int, frozenset[str]] = {}
    next_number = 0
    ever: set[int] = set()
    for placed in history:
        current = [
            frozenset(str(member) for member, where in enumerate(placed) if where == cluster)
            for cluster in sorted(set(placed) - {GONE})
        ]
        found = inherit(previous, current, next_number)
        fresh = set(found.numbers) - set(previous)

        assert len(found.numbers) == len(current)
        assert len(set(found.numbers)) == len(current)
        assert not fresh & ever
        assert found.next_number == next_number + len(fresh)
        assert set(found.split_from) <= fresh
        assert set(found.split_from.values()) <= set(previous)
        assert set(found.merged_into) <= set(previous) - set(found.numbers)
        assert set(found.merged_into.values()) <= set(found.numbers)

        ever |= fresh
        previous = dict(zip(found.numbers, current, strict=True))
        next_number = found.next_number


@given(runs)
@settings(max_examples=50, deadline=None)
def test_an_unchanged_clustering_keeps_every_number(history: list[list[int]]) -> None:
    placed = history[0]
    current = [
        frozenset(str(member) for member, where in enumerate(placed) if where == cluster)
        for cluster in sorted(set(placed) - {GONE})
    ]
    first = inherit({}, current, 10)

    again = inherit(dict(zip(first.numbers, current, strict=True)), current[::-1], first.next_number)

    assert again == Matching(first.numbers[::-1], first.next_number, {}, {})


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
