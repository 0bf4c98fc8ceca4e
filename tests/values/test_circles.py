"""Which situations are like those that a value was learned from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from learning_memory_server.values.circles import Circle, containing

if TYPE_CHECKING:
    from numpy.typing import NDArray

DIMENSION = 48


def around(axis: int, members: int, spread: float, seed: int = 0) -> NDArray[np.float32]:
    """Vectors around an axis, `spread` away from it."""
    drawn = np.random.default_rng(seed).normal(size=(members, DIMENSION))
    drawn *= spread / np.linalg.norm(drawn, axis=1, keepdims=True)
    drawn[:, axis] += 1
    return np.asarray(drawn, dtype=np.float32)


POOL, CACHE = Circle.around("pool", around(0, 20, 1.5)), Circle.around("cache", around(1, 20, 1.5, 1))


def test_most_situations_of_the_same_kind_are_in_and_none_of_another() -> None:
    again, elsewhere = (containing(around(axis, 40, 1.5, 5), [POOL, CACHE]) for axis in (0, 2))

    assert 0.6 < np.mean(["pool" in near for near in again]) < 1
    assert not any("cache" in near for near in again)
    assert not any(elsewhere)


def test_how_near_it_is_stands_beside() -> None:
    text = around(0, 1, 0.1, 3)
    (near,) = containing(5 * text, [POOL, CACHE])

    assert near == {"pool": pytest.approx(float(POOL.centre @ text[0] / np.linalg.norm(text[0])), abs=1e-6)}


def test_what_lies_in_two_circles_counts_for_the_nearer_one() -> None:
    axes = np.eye(DIMENSION, dtype=np.float32)
    wide = [Circle("own", axes[0], 0.9), Circle("other", axes[1], 0.9)]
    between = (0.8 * axes[0] + 0.6 * axes[1])[None]

    assert containing(between, wide)[0].keys() == {"own"}
    assert containing(between, wide[1:])[0].keys() == {"other"}


def test_values_of_one_neighbourhood_share_their_experiences() -> None:
    axes = np.eye(DIMENSION, dtype=np.float32)
    beside = axes[0] + 0.3 * axes[1]
    pair = [Circle("old", axes[0], 0.9), Circle("new", beside / np.linalg.norm(beside), 0.9)]

    assert containing(axes[:1], pair)[0].keys() == {"old", "new"}


def test_without_circles_or_vectors_there_is_nothing_to_count() -> None:
    assert containing(around(0, 2, 0.1), []) == [{}, {}]
    assert containing(np.empty((0, DIMENSION), dtype=np.float32), [POOL]) == []


def test_a_single_member_makes_a_circle_of_its_own_place() -> None:
    alone = Circle.around("alone", around(0, 1, 0.6))

    assert containing(around(0, 1, 0.6), [alone])[0].keys() == {"alone"}
    assert containing(around(0, 1, 0.6, 9), [alone]) == [{}]


def test_a_circle_around_copies_leaves_some_room() -> None:
    copies = Circle.around("copies", np.repeat(around(0, 1, 0.6), 5, axis=0))

    assert copies.radius == pytest.approx(0.05, abs=1e-6)
    assert containing(around(0, 1, 0.55), [copies])[0].keys() == {"copies"}
