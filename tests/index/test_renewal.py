"""Renewing points whose records were rewritten: nothing else is computed again, and no file has the earlier texts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.document import Collection, digest_of, documents_of, point_id
from learning_memory_server.index.engines.base import Point
from learning_memory_server.index.kept_files import OutdatedPoints
from tests.support import ListeningEmbedder, Parts, numbered, open_parts
from tests.traces import files_with

FULL = Collection.EXPERIENCES_FULL
EARLIER = "the earlier goal of number three"
THREE = numbered(3, goal=EARLIER)
POINT = point_id("ghap", THREE.id)


def outdated_in(path: Path) -> OutdatedPoints:
    return OutdatedPoints(path / "outdated.json")


async def filled(parts: Parts) -> None:
    """Index four entries as earlier versions did, whose payloads had the texts."""
    await parts.index.open()
    await parts.learn(*(numbered(n) for n in range(3)), THREE)
    (point,) = await parts.store.retrieve(FULL, [POINT], with_vectors=True)
    assert point.vector is not None
    await parts.store.upsert(FULL, [Point(POINT, point.vector, {**point.payload, "entry": EARLIER})])
    await parts.index.flush()


def rewrite(parts: Parts, path: Path) -> None:
    """Do what an operation does that rewrites records."""
    outdated_in(path).add([POINT])
    parts.collector.hold(replace(THREE, goal="another goal"))


def traces(path: Path) -> list[str]:
    return files_with(path / "index", EARLIER)


@pytest.mark.slow
async def test_only_what_was_rewritten_is_embedded_and_all_else_is_copied(tmp_path: Path) -> None:
    model = ListeningEmbedder()
    async with open_parts(tmp_path, load=lambda: model) as parts:
        await filled(parts)
        before = await parts.index.vectors(FULL)
        assert traces(tmp_path)
        rewrite(parts, tmp_path)
        model.texts.clear()
        steps: list[tuple[int, int]] = []

        await parts.writer.renew(lambda *step: steps.append(step))

        assert steps[-1] == (8, 8)
        assert model.texts
        assert all("another goal" in text for text in model.texts if "goal" in text)
        assert not any("checkout" in text for text in model.texts)
        after = await parts.index.vectors(FULL)
        assert after.keys() == before.keys()
        for point, vector in after.items():
            assert np.array_equal(vector, before[point]) is (point != POINT)
        (record,) = await parts.index.retrieve(FULL, [POINT])
        assert record.payload["digest"] == digest_of(documents_of(replace(THREE, goal="another goal"))[0])
        assert outdated_in(tmp_path).ids() == frozenset()
        assert traces(tmp_path) == []

        model.texts.clear()
        await parts.writer.renew()
        assert model.texts == []
    assert not (tmp_path / "outdated.json").exists()


@pytest.mark.slow
async def test_the_next_process_does_what_this_one_could_not(tmp_path: Path) -> None:
    async with open_parts(tmp_path) as parts:
        await filled(parts)
        rewrite(parts, tmp_path)
        parts.store.down = StorageUnavailableError("gone")
        with pytest.raises(StorageUnavailableError):
            await parts.writer.renew()
        assert outdated_in(tmp_path).ids() == {POINT}

    async with open_parts(tmp_path) as parts:
        parts.collector.load()
        parts.collector.hold(replace(THREE, goal="another goal"))
        await parts.writer.complete()
        (record,) = await parts.index.retrieve(FULL, [POINT])
        assert record.payload["digest"] == digest_of(documents_of(replace(THREE, goal="another goal"))[0])
        assert outdated_in(tmp_path).ids() == frozenset()
        assert traces(tmp_path) == []


@pytest.mark.slow
async def test_what_an_interrupted_rebuild_has_left_is_not_taken_over(tmp_path: Path, parts: Parts) -> None:
    await filled(parts)
    rounds = iter([documents_of(THREE)[:1]])
    with pytest.raises(RuntimeError, match="StopIteration"):
        await parts.index.rebuild(FULL, lambda: next(rounds), lambda _done: None)
    assert (tmp_path / "index" / f"{FULL}_next").is_dir()
    rewrite(parts, tmp_path)

    await parts.writer.renew()

    assert traces(tmp_path) == []
    (record,) = await parts.index.retrieve(FULL, [POINT])
    assert record.payload["digest"] == digest_of(documents_of(replace(THREE, goal="another goal"))[0])


def test_ids_outlast_the_process_and_a_file_without_ids_is_no_file(tmp_path: Path) -> None:
    outdated = outdated_in(tmp_path)
    assert outdated.ids() == frozenset()
    outdated.add(["a", "b"])
    outdated.add(["b", "c"])
    assert outdated_in(tmp_path).ids() == {"a", "b", "c"}
    outdated.discard({"a", "c", "d"})
    assert outdated_in(tmp_path).ids() == {"b"}
    outdated.discard({"b"})
    assert not (tmp_path / "outdated.json").exists()
    (tmp_path / "outdated.json").write_text("{")
    assert outdated_in(tmp_path).ids() == frozenset()
