"""The last fit of an axis is in a file, and a file that is not it is not believed."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

import numpy as np
import pytest

from learning_memory_server.clustering.axis_fit import AxisFit
from learning_memory_server.clustering.clusterer import Clusterer
from learning_memory_server.clustering.fitting import Fit, FitRequest, fit
from learning_memory_server.clustering.kept_fits import KeptFits
from learning_memory_server.clustering.lineage import Lineage
from learning_memory_server.domain.vocabulary import Axis
from tests.clustering.parts import ALL, CACHE, learning, named
from tests.support import NOON, about

if TYPE_CHECKING:
    from pathlib import Path


def made(count: int = 60) -> tuple[AxisFit, Fit, Lineage]:
    random = np.random.default_rng(5)
    centres = np.eye(3, 16, dtype=np.float32)[np.arange(count) % 3]
    vectors = centres + 0.1 * random.normal(size=(count, 16)).astype(np.float32)
    vectors[0] = -1
    names = [f"ghap_é{row:03}" for row in range(count)]
    texts = [("pool", "cache", "queue")[row % 3] + f" number {row}" for row in range(count)]
    found = fit(FitRequest(vectors, np.ones(count), texts, names, {}, 4), Clusterer())
    kept = AxisFit.of(Axis.FULL, NOON, names, found)
    return kept, found, Lineage({number: set(members) for number, members in kept.members().items()})


def test_what_is_kept_is_what_comes_back(tmp_path: Path) -> None:
    kept, found, lineage = made()
    KeptFits(tmp_path / "a" / "b", "p").save(Axis.FULL, "model", kept, found.neighbours)

    fits = KeptFits(tmp_path / "a" / "b", "p")
    back = fits.load(Axis.FULL, "model", lineage)
    known = fits.neighbours(Axis.FULL, "model")

    assert back is not None
    assert (back.at, back.explanation) == (kept.at, kept.explanation)
    assert list(back.numbers.items()) == list(kept.numbers.items())
    assert None in back.numbers.values()
    assert len(back.clusters) == len(kept.clusters) == 3
    for ours, theirs in zip(back.clusters, kept.clusters, strict=True):
        assert (ours.id, ours.label) == (theirs.id, theirs.label)
        assert list(ours.members) == list(theirs.members)
        assert ours.members == pytest.approx(theirs.members)
        for part in ("name", "size", "loo_mean", "loo_deviation", "mean", "deviation"):
            assert getattr(ours.evidence, part) == getattr(theirs.evidence, part)
        np.testing.assert_array_equal(ours.evidence.centroid, theirs.evidence.centroid)
        np.testing.assert_array_equal(ours.evidence.sample, theirs.evidence.sample)
    assert known is not None
    assert list(known.ids) == list(kept.numbers)
    np.testing.assert_array_equal(known.neighbours.rows, found.neighbours.rows)
    np.testing.assert_array_equal(known.neighbours.similarities, found.neighbours.similarities)
    assert fits.load(Axis.STRATEGY, "model", lineage) is None
    if os.name != "nt":
        assert stat.S_IMODE((tmp_path / "a" / "b" / "full.fit").stat().st_mode) == 0o600


def test_a_fit_without_clusters_can_be_kept(tmp_path: Path) -> None:
    names = [f"e{row:02}" for row in range(20)]
    vectors = np.random.default_rng(1).normal(size=(20, 16)).astype(np.float32)
    found = fit(FitRequest(vectors, np.ones(20), names, names, {}, 0), Clusterer(15))
    kept = AxisFit.of(Axis.FULL, NOON, names, found)
    assert not kept.clusters
    fits = KeptFits(tmp_path, "")
    fits.save(Axis.FULL, "m", kept, found.neighbours)

    back = fits.load(Axis.FULL, "m", Lineage())

    assert back is not None
    assert (back.clusters, list(back.numbers), back.explanation) == ((), names, kept.explanation)


@pytest.mark.parametrize(
    ("identity", "parameters", "is_known"),
    [("another", "p", True), ("model", "q", True), ("model", "p", False)],
)
def test_a_fit_of_another_model_setting_or_journal_is_removed(
    tmp_path: Path, identity: str, parameters: str, is_known: bool
) -> None:
    kept, found, lineage = made()
    KeptFits(tmp_path, "p").save(Axis.FULL, "model", kept, found.neighbours)

    assert (
        KeptFits(tmp_path, parameters).load(Axis.FULL, identity, lineage if is_known else Lineage()) is None
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("position", [0, 31, 32, 33, 200, 2000, -1, -30, None])
def test_a_damaged_file_is_removed(tmp_path: Path, position: int | None) -> None:
    kept, found, lineage = made()
    fits = KeptFits(tmp_path, "p")
    for read in (
        lambda: fits.load(Axis.FULL, "model", lineage),
        lambda: fits.neighbours(Axis.FULL, "model"),
    ):
        fits.save(Axis.FULL, "model", kept, found.neighbours)
        path = tmp_path / "full.fit"
        content = bytearray(path.read_bytes())
        if position is None:
            del content[len(content) // 2 :]
        else:
            content[position] ^= 1
        path.write_bytes(content)

        assert read() is None
        assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"no such file", b"PK\x03\x04" + bytes(100)])
def test_a_foreign_file_is_removed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "full.fit"
    path.write_bytes(content)
    assert KeptFits(tmp_path, "p").load(Axis.FULL, "model", Lineage()) is None
    assert not path.exists()


def test_where_nothing_can_be_written_nothing_is_kept(tmp_path: Path) -> None:
    kept, found, lineage = made()
    (tmp_path / "in the way").write_text("")
    fits = KeptFits(tmp_path / "in the way", "p")

    fits.save(Axis.FULL, "model", kept, found.neighbours)

    assert fits.load(Axis.FULL, "model", lineage) is None


async def test_after_a_restart_clusters_are_there_without_a_fit_and_newcomers_are_placed(
    tmp_path: Path,
) -> None:
    async with learning(tmp_path, *ALL) as each:
        before = await each.clusters()
        await each.memory.learn(about("pool", 90))
        placed = await each.clusters()
    async with learning(tmp_path, about("cache", 91)) as each:
        after = await each.clusters()
        assert each.runs == 0
        assert named(after) == {
            **named(placed),
            "full_1": {entry.id for entry in (*CACHE, about("cache", 91))},
        }
        assert (after.fitted_at, after.placed_since) == (before.fitted_at, 2)
        for ours, theirs in zip(after.clusters, before.clusters, strict=True):
            assert (ours.label, ours.exemplars) == (theirs.label, theirs.exemplars)
            np.testing.assert_array_equal(ours.evidence.centroid, theirs.evidence.centroid)


async def test_a_damaged_file_costs_a_fit_and_no_id(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        before = await each.clusters()
        path = each.directory / "full.fit"
    path.write_bytes(path.read_bytes()[:-1])
    async with learning(tmp_path) as each:
        assert named(await each.clusters()) == named(before)
        assert each.runs == 1
    async with learning(tmp_path) as each:
        assert named(await each.clusters()) == named(before)
        assert each.runs == 0


async def test_a_new_fit_begins_with_the_neighbours_of_the_last(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters()
        assert each.requests[0].known is None
    async with learning(tmp_path, *(about("pool", number) for number in range(90, 95))) as each:
        await each.refitted()
        (request,) = each.requests
        assert request.known is not None
        assert list(request.known.ids) == sorted(entry.id for entry in ALL)
