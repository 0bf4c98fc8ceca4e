"""A newcomer goes where most of its neighbours are, if it is like the others there."""

from __future__ import annotations

import numpy as np
import pytest

from learning_memory_server.clustering.placement import place

EAST, NORTH = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
CENTROIDS = {0: EAST, 7: NORTH}
NEAR_EAST = np.array([0.8, 0.6], np.float32)


def test_the_cluster_of_most_neighbours_gets_it() -> None:
    found = place(NEAR_EAST, [(0, 0.9), (0, 0.8), (7, 0.7)], CENTROIDS)
    assert found.number == 0
    assert found.similarity == pytest.approx(0.8)


def test_near_votes_count_more() -> None:
    assert place(NEAR_EAST, [(7, 0.9), (0, 0.5), (0, 0.5)], CENTROIDS).number == 7


def test_a_winner_needs_half_of_all_votes() -> None:
    assert place(NEAR_EAST, [(0, 0.8), (7, 0.7), (None, 0.7)], CENTROIDS).number is None
    assert place(NEAR_EAST, [(0, 0.8), (None, 0.8)], CENTROIDS).number == 0


def test_who_is_unlike_the_centroid_stays_out() -> None:
    far = np.array([0.39, 0.92], np.float32)
    assert place(far, [(0, 0.9)], CENTROIDS).number is None
    assert place(far, [(7, 0.9)], CENTROIDS).number == 7


@pytest.mark.parametrize("neighbours", [[], [(None, 0.9)], [(0, 0.0)], [(0, -0.4)]])
def test_without_a_vote_it_is_in_none(neighbours: list[tuple[int | None, float]]) -> None:
    found = place(NEAR_EAST, neighbours, CENTROIDS)
    assert (found.number, found.similarity) == (None, 0.0)


def test_ten_neighbours_vote() -> None:
    ten = [(7, 0.9)] * 10
    assert place(NEAR_EAST, [*ten, *[(0, 0.9)] * 15], CENTROIDS).number == 7


def test_equal_votes_go_to_the_older_cluster() -> None:
    assert place(NEAR_EAST, [(7, 0.8), (0, 0.8)], CENTROIDS).number == 0
