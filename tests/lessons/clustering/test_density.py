import sys
from importlib.util import find_spec

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from learning_memory_server.lessons.clustering.density import (
    Neighbours,
    dense_groups,
    distance_graph,
    load_hdbscan,
    nearest_neighbours,
    pull_of,
    spread,
    unit_rows,
)
from tests.lessons.clustering.parts import labels_of

Vectors = NDArray[np.float32]


def blobs(seed: int, count: int = 120) -> Vectors:
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(6, 12))
    return unit_rows(centres[generator.integers(0, 6, count)] + 0.45 * generator.normal(size=(count, 12)))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("min_samples", [1, 4])
def test_on_a_complete_graph_the_groups_are_those_of_the_points(seed: int, min_samples: int) -> None:
    points = blobs(seed)
    complete = nearest_neighbours(points, len(points))

    found = dense_groups(distance_graph(points, complete), 8, min_samples)

    theirs = HDBSCAN(min_cluster_size=8, min_samples=min_samples, algorithm="brute", copy=True).fit(points)
    # Mutual reachability ties by nature, so a border point may fall to either side.
    assert adjusted_rand_score(theirs.labels_, labels_of(found, len(points))) > 0.99


@pytest.fixture
def without_hdbscan(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hdbscan", None)  # Importing it raises ImportError


def test_hdbscan_finds_the_groups_where_it_is_installed() -> None:
    assert (type(load_hdbscan()()).__module__ == "hdbscan.hdbscan_") == (find_spec("hdbscan") is not None)


@pytest.mark.usefixtures("without_hdbscan")
def test_scikit_learn_finds_the_groups_where_hdbscan_is_missing() -> None:
    points = blobs(3)
    graph = distance_graph(points, nearest_neighbours(points))

    assert type(load_hdbscan()()) is HDBSCAN
    assert len(dense_groups(graph, 8, 3)) > 1


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("decimals", [8, 1], ids=["distinct distances", "equal distances"])
def test_hdbscan_and_scikit_learn_find_the_same_groups(
    seed: int, decimals: int, request: pytest.FixtureRequest
) -> None:
    points = unit_rows(blobs(seed, 300).round(decimals))
    graph = distance_graph(points, nearest_neighbours(points))
    sizes = [(2, 1), (5, 3), (12, 6)]
    found = [dense_groups(graph, *size) for size in sizes]

    request.getfixturevalue("without_hdbscan")

    for ours, size in zip(found, sizes, strict=True):
        assert ours
        assert list(map(list, ours)) == list(map(list, dense_groups(graph, *size)))


def test_more_samples_than_neighbours_are_as_many_as_there_are() -> None:
    points = blobs(5)
    graph = distance_graph(points, nearest_neighbours(points, 6))

    fewest = int(np.diff(graph.indptr).min())

    assert fewest < 500
    assert list(map(len, dense_groups(graph, 8, 500))) == list(map(len, dense_groups(graph, 8, fewest + 1)))


def test_the_graph_has_every_edge_both_ways_with_the_distance_of_its_ends() -> None:
    points = blobs(9)
    neighbours = nearest_neighbours(points, 5)

    graph = distance_graph(points, neighbours).toarray()

    np.testing.assert_array_equal(graph, graph.T)
    for row, others in enumerate(neighbours.rows):
        np.testing.assert_allclose(graph[row, others], np.linalg.norm(points[others] - points[row], axis=1))
    assert np.count_nonzero(graph) <= 2 * neighbours.rows.size


def test_equal_points_have_an_edge() -> None:
    points = np.repeat(blobs(1, 4), 5, axis=0)

    graph = distance_graph(points, nearest_neighbours(points, 4))

    assert graph[0, 1] == 1e-3


def test_pieces_of_the_graph_are_joined_beyond_any_real_distance() -> None:
    apart = np.repeat(np.eye(8, dtype=np.float32)[:3], 20, axis=0)
    points = unit_rows(apart + 0.01 * np.random.default_rng(0).normal(size=apart.shape))

    graph = distance_graph(points, nearest_neighbours(points, 5))

    assert (graph.data == 2.0).sum() == 4
    assert connected_components(graph, directed=False)[0] == 1
    assert sorted(map(len, dense_groups(graph, 15, 3))) == [20, 20, 20]


def test_small_pieces_are_joined_to_the_largest_and_not_to_each_other() -> None:
    points = blobs(2, 10)
    # Rows 0-1 and 2-3 are pairs, rows 4-9 a ring.
    next_of = np.array([1, 0, 3, 2, 5, 6, 7, 8, 9, 4])[:, None]

    graph = distance_graph(points, Neighbours(next_of, np.ones((10, 1), dtype=np.float32))).toarray()

    assert np.argwhere(graph == 2.0).tolist() == [[0, 4], [2, 4], [4, 0], [4, 2]]


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


@pytest.mark.slow
@pytest.mark.parametrize(("count", "k"), [(2, 15), (16, 15), (40, 15), (700, 15), (2500, 4)])
def test_neighbours_agree_with_a_full_sort(count: int, k: int) -> None:
    units = unit_rows(np.random.default_rng(count).normal(size=(count, 24)))
    kept = min(k, count - 1)

    found = nearest_neighbours(units, k)

    cosines = units @ units.T
    np.fill_diagonal(cosines, -np.inf)
    expected = -np.sort(-cosines, axis=1)[:, :kept]
    assert found.rows.shape[1] == kept
    np.testing.assert_allclose(found.similarities, expected, atol=1e-5)
    np.testing.assert_allclose(np.take_along_axis(cosines, found.rows, axis=1), expected, atol=1e-5)
    assert (found.rows != np.arange(count)[:, None]).all()


def test_the_number_of_threads_does_not_change_the_result() -> None:
    units = unit_rows(np.random.default_rng(1).normal(size=(4500, 24)))

    with threadpool_limits(limits=1):
        alone, together = (nearest_neighbours(units, threads=threads) for threads in (1, 3))

    np.testing.assert_array_equal(alone.rows, together.rows)
    np.testing.assert_array_equal(alone.similarities, together.similarities)


@pytest.mark.parametrize("count", [0, 1])
def test_a_single_point_has_no_neighbours(count: int) -> None:
    assert nearest_neighbours(np.full((count, 4), 0.5, dtype=np.float32)).rows.shape == (count, 0)


def test_ties_between_neighbours_are_broken_by_row() -> None:
    copies = np.tile(np.eye(4, dtype=np.float32)[0], (600, 1))

    assert nearest_neighbours(copies, 3).rows[[0, 1, 599]].tolist() == [[1, 2, 3], [0, 2, 3], [0, 1, 2]]


def test_a_zero_vector_is_not_scaled() -> None:
    assert unit_rows(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0.0, 0.0], pytest.approx([0.6, 0.8])]
