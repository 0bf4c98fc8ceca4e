"""Neighbours that are brought up to date are those that would be found anew."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning_memory_server.clustering.incremental import KnownNeighbours, neighbours_of
from learning_memory_server.clustering.neighbours import Neighbours, nearest_neighbours, unit_rows

NAMES = [f"e{number:03}" for number in range(300)]
UNITS = dict(
    zip(NAMES, unit_rows(np.random.default_rng(3).normal(size=(300, 12)).astype(np.float32)), strict=True)
)


def of(names: list[str], k: int = 15) -> Neighbours:
    return nearest_neighbours(np.array([UNITS[name] for name in names]), k)


def updated(names: list[str], known: KnownNeighbours | None, k: int = 15) -> Neighbours:
    return neighbours_of(np.array([UNITS[name] for name in names]), names, k, known)


def assert_same(found: Neighbours, wanted: Neighbours) -> None:
    # How BLAS adds up depends on the shape of the matrix: equal to single precision.
    np.testing.assert_allclose(found.similarities, wanted.similarities, atol=1e-6)
    np.testing.assert_array_equal(found.rows, wanted.rows)


@given(st.sets(st.sampled_from(NAMES), max_size=60), st.sets(st.sampled_from(NAMES), max_size=3))
def test_whatever_comes_and_goes_they_are_exact(new: set[str], gone: set[str]) -> None:
    before = [name for name in NAMES if name not in new]
    now = [name for name in NAMES if name not in gone]

    found = updated(now, KnownNeighbours(before, of(before)))

    assert_same(found, of(now))


def test_what_is_known_is_used() -> None:
    before = NAMES[:299]
    known = of(before)
    # A similarity that no computation would give, in a row that keeps its neighbours.
    row = int(
        np.flatnonzero(known.similarities[:, -1] > np.array([UNITS[n] @ UNITS[NAMES[299]] for n in before]))[
            0
        ]
    )
    known.similarities[row, 3] += 1e-4

    found = updated(NAMES, KnownNeighbours(before, known))

    assert found.similarities[row, 3] == known.similarities[row, 3]


def test_neighbours_of_other_vectors_are_not_believed() -> None:
    other = nearest_neighbours(unit_rows(np.random.default_rng(4).normal(size=(300, 12)).astype(np.float32)))
    assert_same(updated(NAMES, KnownNeighbours(NAMES, other)), of(NAMES))


@pytest.mark.parametrize("k", [14, 16])
def test_another_number_of_neighbours_is_sought_anew(k: int) -> None:
    assert_same(updated(NAMES, KnownNeighbours(NAMES, of(NAMES)), k), of(NAMES, k))


@pytest.mark.parametrize("count", [0, 1, 2, 15, 16, 17])
def test_small_stores_are_no_exception(count: int) -> None:
    names = NAMES[:count]
    for before in (names[:-1], names, NAMES[: count + 1]):
        assert_same(
            neighbours_of(
                np.array([UNITS[name] for name in names]).reshape(count, 12),
                names,
                15,
                KnownNeighbours(
                    before, nearest_neighbours(np.array([UNITS[name] for name in before]).reshape(-1, 12))
                ),
            ),
            nearest_neighbours(np.array([UNITS[name] for name in names]).reshape(count, 12)),
        )
