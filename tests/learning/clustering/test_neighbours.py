import numpy as np
import pytest
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from learning_memory_server.learning.clustering.neighbours import nearest_neighbours, unit_rows


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
