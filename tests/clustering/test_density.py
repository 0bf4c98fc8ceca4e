from __future__ import annotations

from typing import TYPE_CHECKING

import hdbscan
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from learning_memory_server.clustering.density import dense_groups, linkage_tree, pull_of, spread
from learning_memory_server.clustering.neighbours import Neighbours, nearest_neighbours, unit_rows

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


def blobs(seed: int, count: int = 120) -> Vectors:
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(6, 12))
    return unit_rows(centres[generator.integers(0, 6, count)] + 0.45 * generator.normal(size=(count, 12)))


@pytest.mark.parametrize("seed", range(4))
def test_on_a_complete_graph_the_tree_is_hdbscans(seed: int) -> None:
    points = blobs(seed)
    complete = nearest_neighbours(points, len(points))

    # hdbscan's classes do not count the point itself among its samples.
    tree = linkage_tree(points, complete, min_samples=4)

    theirs = hdbscan.HDBSCAN(
        min_cluster_size=8,
        min_samples=3,
        algorithm="boruvka_kdtree",
        approx_min_span_tree=False,
        core_dist_n_jobs=1,
    ).fit(points.astype(np.float64))
    np.testing.assert_allclose(tree[:, 2], theirs.single_linkage_tree_.to_numpy()[:, 2], atol=1e-5)
    # Mutual reachability ties by nature, so a border point may fall to either side.
    ours = np.full(len(points), -1)
    for number, rows in enumerate(dense_groups(tree, 8)):
        ours[rows] = number
    assert adjusted_rand_score(theirs.labels_, ours) > 0.95


def test_groups_are_selected_by_excess_of_mass() -> None:
    # Points 0-3 and 4-7 are joined at .1 each, the two groups at .5, the lone point 8 at .9.
    steps = [(0, 1), (2, 9), (3, 10), (4, 5), (6, 12), (7, 13), (11, 14), (8, 15)]
    tree = np.array(
        [
            (*nodes, distance, size)
            for nodes, distance, size in zip(
                steps, (0.1,) * 6 + (0.5, 0.9), (2, 3, 4, 2, 3, 4, 8, 9), strict=True
            )
        ],
        dtype=np.float64,
    )

    assert [rows.tolist() for rows in dense_groups(tree, 3)] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert dense_groups(tree, 5) == []


def test_a_group_without_persistence_is_dropped() -> None:
    # Six points at equal distances, joined as two groups of three.
    tree = np.array([(0, 1, 1, 2), (2, 6, 1, 3), (3, 4, 1, 2), (5, 8, 1, 3), (7, 9, 1, 6)], dtype=np.float64)

    assert dense_groups(tree, 3) == []


def test_the_tree_joins_every_point_once_with_rising_distances() -> None:
    points = blobs(9)

    tree = linkage_tree(points, nearest_neighbours(points, 5), min_samples=3)

    assert tree.shape == (len(points) - 1, 4)
    assert (np.diff(tree[:, 2]) >= 0).all()
    assert tree[-1, 3] == len(points)
    assert np.unique(tree[:, :2]).size == 2 * (len(points) - 1)


def test_pieces_of_the_graph_are_joined_beyond_any_real_distance() -> None:
    apart = np.repeat(np.eye(8, dtype=np.float32)[:3], 20, axis=0)
    points = unit_rows(apart + 0.01 * np.random.default_rng(0).normal(size=apart.shape))

    tree = linkage_tree(points, nearest_neighbours(points, 5), min_samples=3)

    assert (tree[:, 2] == 2.0).sum() == 2
    assert sorted(map(len, dense_groups(tree, 15))) == [20, 20, 20]


def test_small_pieces_are_joined_to_the_largest_and_not_to_each_other() -> None:
    points = blobs(2, 10)
    # Rows 0-1 and 2-3 are pairs, rows 4-9 a ring.
    next_of = np.array([1, 0, 3, 2, 5, 6, 7, 8, 9, 4])[:, None]

    tree = linkage_tree(points, Neighbours(next_of, np.ones((10, 1), dtype=np.float32)), min_samples=2)

    assert tree[tree[:, 2] == 2.0, 3].tolist() == [8, 10]


def test_diffusion_pulls_the_members_of_a_topic_together() -> None:
    generator = np.random.default_rng(3)
    centres = generator.normal(size=(4, 96))
    units = unit_rows(np.repeat(centres, 25, axis=0) + generator.normal(size=(100, 96)))

    neighbours = nearest_neighbours(units)
    points = spread(units, neighbours, pull_of(neighbours))

    def within(rows: Vectors) -> float:
        return float(np.mean([(rows[s : s + 25] @ rows[s : s + 25].T).mean() for s in range(0, 100, 25)]))

    assert points.shape == (100, 32)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1, atol=1e-5)
    assert within(points) > within(units) + 0.2
