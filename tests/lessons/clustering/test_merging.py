import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.cluster.hierarchy import linkage
from sklearn.metrics import silhouette_score

from learning_memory_server.lessons.clustering.density import nearest_neighbours, pull_of, unit_rows
from learning_memory_server.lessons.clustering.merging import best_level, join_path, joined, links_between, readmitted
from tests.lessons.clustering.parts import labels_of


def pieces(topics: int, each: int, members: int, seed: int = 0) -> tuple[NDArray[np.float32], list[NDArray[np.int64]]]:
    """Topics split at random into pieces, and the rows of each piece."""
    generator = np.random.default_rng(seed)
    centres = unit_rows(generator.normal(size=(topics, 48)))
    scatter = unit_rows(generator.normal(size=(topics * each * members, 48)))
    points = unit_rows(np.repeat(centres, each * members, axis=0) + 0.9 * scatter)
    return points, list(np.arange(len(points)).reshape(-1, members))


def join(points: NDArray[np.float32], groups: list[NDArray[np.int64]]) -> list[NDArray[np.int64]]:
    neighbours = nearest_neighbours(points)
    return joined(points, points, groups, neighbours, pull_of(neighbours))


@pytest.mark.parametrize("topics", [2, 5, 12])
def test_the_pieces_of_each_topic_are_merged_and_no_others(topics: int) -> None:
    points, groups = pieces(topics, 4, 10)

    found = join(points, groups)

    assert {tuple(rows) for rows in found} == {tuple(range(40 * t, 40 * t + 40)) for t in range(topics)}


def test_groups_that_are_topics_are_left_alone() -> None:
    points, groups = pieces(9, 1, 12)

    assert [rows.tolist() for rows in join(points, groups)] == [rows.tolist() for rows in groups]


@pytest.mark.parametrize("count", [0, 1])
def test_one_group_or_none_is_left_alone(count: int) -> None:
    points, groups = pieces(2, 2, 5)

    assert join(points, groups[:count]) == groups[:count]


def test_rows_in_no_group_stay_out() -> None:
    points, groups = pieces(3, 4, 10)

    found = join(points, groups[1:])

    assert sorted(np.concatenate(found).tolist()) == list(range(10, 120))


def test_single_points_are_merged_in_order_of_distance() -> None:
    # Centroid linkage is the same rule while all sizes are equal. Later merges weigh sizes, so one is compared.
    centres = np.random.default_rng(4).normal(size=(12, 3)).astype(np.float32)

    path = join_path(centres, np.ones(12))

    assert path[0] == tuple(sorted(linkage(centres, "centroid")[0, :2].astype(int).tolist()))
    assert len(path) == 11
    assert len({gone for _, gone in path}) == 11
    assert 0 not in {gone for _, gone in path}


def test_the_level_with_the_best_product_of_silhouette_and_modularity_is_kept() -> None:
    points, groups = pieces(4, 5, 6, seed=3)
    neighbours = nearest_neighbours(points)
    pull = pull_of(neighbours)
    links = np.zeros((len(points), len(points)))
    np.put_along_axis(links, neighbours.rows[:, : pull.shape[1]], pull, axis=1)
    links /= links.sum()

    def product(level: list[NDArray[np.int64]]) -> float:
        silhouette = float(silhouette_score(points, labels_of(level, len(points)), metric="cosine"))
        inside = sum(links[np.ix_(rows, rows)].sum() for rows in level)
        by_chance = sum(links[rows].sum() * links[:, rows].sum() for rows in level)
        return float(silhouette * (inside - by_chance))

    path = join_path(np.stack([points[rows].mean(axis=0) for rows in groups]), np.full(len(groups), 6.0))
    target = np.arange(len(groups))
    scores = [product(groups)]
    for into, gone in path[:-1]:
        target[target == gone] = into
        level = [np.concatenate([groups[g] for g in np.flatnonzero(target == t)]) for t in np.unique(target)]
        scores.append(product(level))

    number, score = best_level(points, groups, path, links_between(groups, neighbours.rows, pull))
    assert number == len(groups) - int(np.argmax(scores))
    assert score == pytest.approx(max(scores), abs=1e-5)
    assert len(join(points, groups)) == number


def test_links_are_summed_between_the_groups_of_both_ends() -> None:
    rows = np.array([[1], [0], [0], [1]])
    pull = np.array([[0.5], [1.0], [0.25], [1.0]], dtype=np.float32)

    found = links_between([np.array([0, 1]), np.array([2])], rows, pull)

    assert found.tolist() == [[1.5, 0], [0.25, 0]]


def test_parts_of_one_loose_topic_are_merged_into_one() -> None:
    generator = np.random.default_rng(5)
    scatter = unit_rows(generator.normal(size=(60, 48)))
    points = unit_rows(np.eye(48, dtype=np.float32)[0] + 0.8 * scatter)
    groups = [np.flatnonzero(scatter[:, 1] < 0), np.flatnonzero(scatter[:, 1] >= 0)]

    assert [len(rows) for rows in join(points, groups)] == [60]


def test_two_tight_topics_are_not_merged() -> None:
    points, groups = pieces(2, 4, 10)

    assert len(join(points, groups)) == 2


def test_noise_within_a_topic_is_readmitted_and_other_noise_is_not() -> None:
    points, _ = pieces(2, 1, 20)
    apart = unit_rows(np.random.default_rng(9).normal(size=(3, 48)))
    points = np.vstack([points, apart])
    near = nearest_neighbours(points)

    found = readmitted(points, [np.arange(18), np.arange(20, 38)], near)

    assert [rows.tolist() for rows in found] == [list(range(20)), list(range(20, 40))]


def test_a_point_whose_neighbours_disagree_stays_noise() -> None:
    axes = np.eye(8, dtype=np.float32)
    points = unit_rows(np.vstack([np.repeat(axes[:3], 4, axis=0), axes[:3].sum(axis=0, keepdims=True)]))
    near = nearest_neighbours(points)
    groups = [np.arange(start, start + 4) for start in (0, 4, 8)]

    assert [len(rows) for rows in readmitted(points, groups, near)] == [4, 4, 4]
    assert readmitted(points, [], near) == []
