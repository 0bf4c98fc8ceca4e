"""Where experiences are on the map: near what they resemble, and where they were before."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.server.dashboard.landmarks import LANDMARKS, Landmarks, new_frame
from learning_memory_server.server.dashboard.map_layout import LandmarkStore, made, made_in_child


def vectors(count: int, themes: int = 4, seed: int = 1) -> NDArray[np.float32]:
    """Unit vectors around some themes, which take turns."""
    generator = np.random.default_rng(seed)
    centres = np.random.default_rng(9).standard_normal((themes, 64))
    found = centres[np.arange(count) % themes] + 0.5 * generator.standard_normal((count, 64))
    unit: NDArray[np.float32] = np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32)
    return unit


@cache
def frame(count: int) -> Landmarks:
    """A frame that nobody has seen before; it takes seconds to make."""
    return new_frame(vectors(count), 0, "model", None)


@pytest.mark.parametrize("count", [0, 1, 2, 5, 6, 40])
def test_any_number_of_experiences_has_places_within_the_map(count: int) -> None:
    placed = frame(count).places_of(vectors(count))
    assert placed.shape == (count, 2)
    assert np.isfinite(placed).all()
    # A little outside, because each is moved off its landmarks.
    assert (np.abs(placed) < 1.5).all()


def test_an_outlier_does_not_shrink_all_others() -> None:
    generator = np.random.default_rng(11)
    centres = generator.standard_normal((6, 384))
    found = centres[np.arange(44) % 6] + 2 * generator.standard_normal((44, 384))
    places = new_frame(
        np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), np.float32), 0, "model", None
    ).places
    away = np.linalg.norm(places - np.median(places, axis=0), axis=1)
    assert away.max() < 2.1 * np.median(away)


def test_equal_vectors_do_not_break_the_map() -> None:
    same = np.repeat(vectors(1), 12, axis=0)
    assert np.isfinite(new_frame(same, 0, "model", None).places_of(same)).all()


@pytest.mark.slow
def test_experiences_of_one_theme_are_near_each_other() -> None:
    placed = frame(80).places_of(vectors(80))
    themes = np.arange(80) % 4
    middles = np.array([placed[themes == theme].mean(axis=0) for theme in range(4)])
    nearest = np.linalg.norm(placed[:, None] - middles[None], axis=2).argmin(axis=1)
    assert (nearest == themes).mean() > 0.95


@pytest.mark.slow
def test_the_same_experiences_give_the_same_map() -> None:
    assert np.array_equal(new_frame(vectors(40), 0, "model", None).places, frame(40).places)


def test_an_experience_that_comes_moves_no_other() -> None:
    earlier = frame(40)
    assert earlier.fits(79, 0, "model")
    more = vectors(79)
    assert np.allclose(earlier.places_of(more)[:40], earlier.places_of(more[:40]))


def test_how_a_processor_rounds_moves_nothing_between_landmarks_that_are_equally_near() -> None:
    marks = np.eye(6, dtype=np.float32)[:5]
    places = np.array([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]], np.float32)
    made = Landmarks(marks, places, 5, 0, "model")
    near = np.full(6, 6**-0.5, np.float32)
    others = near + np.float32(1e-6) * np.eye(6, dtype=np.float32)
    assert made.places_of(others) == pytest.approx(made.places_of(near[None]).repeat(6, axis=0), abs=1e-4)


def test_a_frame_is_made_again_for_twice_as_many_another_model_or_something_forgotten() -> None:
    earlier = frame(40)
    assert not earlier.fits(80, 0, "model")
    assert not earlier.fits(41, 1, "model")
    assert not earlier.fits(41, 0, "another model")


@pytest.mark.slow
def test_a_new_frame_resembles_the_one_before() -> None:
    earlier = frame(80)
    shared = vectors(80)
    before, after = earlier.places_of(shared), new_frame(vectors(160), 0, "model", earlier).places_of(shared)
    unrelated = np.roll(before, 1, axis=0)
    moved = np.linalg.norm(after - before, axis=1).mean()
    assert moved < np.linalg.norm(unrelated - before, axis=1).mean() / 2


@pytest.mark.slow
def test_a_large_store_has_few_landmarks() -> None:
    found = frame(2_000)
    assert len(found.vectors) == LANDMARKS
    assert np.isfinite(found.places_of(vectors(2_000))).all()


async def test_a_restart_moves_nothing(tmp_path: Path) -> None:
    rows = {"full": vectors(30)}
    first = await LandmarkStore(tmp_path / "map", made).current(rows, 0, {"full": "model"})
    again = await LandmarkStore(tmp_path / "map", no_more).current(rows, 0, {"full": "model"})
    assert np.array_equal(first["full"].places_of(rows["full"]), again["full"].places_of(rows["full"]))
    assert (tmp_path / "map" / "full.npz").stat().st_mode & 0o777 == 0o600


async def test_a_damaged_file_is_replaced(tmp_path: Path) -> None:
    rows = {"full": vectors(30)}
    (tmp_path / "full.npz").write_bytes(b"PK nonsense")
    found = await LandmarkStore(tmp_path, made).current(rows, 0, {"full": "model"})
    assert np.array_equal(found["full"].places, frame(30).places)
    await LandmarkStore(tmp_path, no_more).current(rows, 0, {"full": "model"})


@pytest.mark.slow
def test_a_child_makes_the_same_frames() -> None:
    found = made_in_child({"full": (vectors(30), 0, "model", None)})
    assert np.array_equal(found["full"].places, frame(30).places)


def no_more(_asked: object) -> dict[str, Landmarks]:
    raise AssertionError("a frame is made though one is kept")
