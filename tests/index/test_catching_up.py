"""Catching up: what is in the journal and not in the index is found and written, whatever happens meanwhile.

Renewing points whose records were rewritten: nothing else is computed again, and no file has the earlier texts.
"""

import asyncio
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from learning_memory_server.errors import MissingCollectionError, StorageUnavailableError
from learning_memory_server.index.document import Collection, Document, WholeDocument, digest_of, documents_of, point_id
from learning_memory_server.index.engines.base import Point
from learning_memory_server.index.kept_files import OutdatedPoints
from tests.fast_forward import fast_forward
from tests.support import MINUTES, ListeningEmbedder, Parts, full_ghap, numbered, open_parts
from tests.traces import files_with


def document(number: int) -> Document:
    return WholeDocument(Collection.VALUES, point_id("value", str(number)), f"value {number}", {"n": number})


@pytest.mark.slow
@fast_forward
async def test_a_restart_finds_and_indexes_everything_that_is_missing(tmp_path: Path) -> None:
    async with open_parts(tmp_path) as parts:
        await parts.index.open()
        await parts.learn(numbered(1))
        parts.collector.add_resolved([full_ghap(), numbered(2)])

    async with open_parts(tmp_path) as parts:
        await parts.index.open()
        assert await parts.writer.find_pending() == 4 + 2
        async with parts.running():
            await parts.writer.settle()
            counts = await parts.index.counts()
            assert counts["experiences_full"] == counts["experiences_strategy"] == 3
            assert counts["experiences_surprise"] == counts["experiences_root_cause"] == 1
            assert await parts.writer.find_pending() == 0
        assert sum(map(parts.index.generation, Collection)) == 4


async def test_a_point_of_another_text_and_one_without_a_digest_are_written_again(parts: Parts) -> None:
    parts.collector.add_resolved([numbered(1), numbered(2)])
    await parts.writer.complete()
    collection = Collection.EXPERIENCES_FULL
    records = await parts.store.scroll(collection, with_vectors=True, fields=["digest"])
    for record, digest in zip(records, ["another text's", None], strict=True):
        assert record.vector is not None
        payload = {"ghap_id": "x"} if digest is None else {"ghap_id": "x", "digest": digest}
        await parts.store.upsert(collection, [Point(record.id, record.vector, payload)])

    assert await parts.writer.find_pending() == 2
    await parts.writer.reconciler.catch_up()
    mended = await parts.store.scroll(collection, fields=["digest"])
    assert [each.payload for each in mended] == [each.payload for each in records]


async def test_many_pending_documents_are_all_written_and_counted(tmp_path: Path) -> None:
    async with open_parts(tmp_path) as parts:
        assert not await parts.writer.write([document(n) for n in range(150)])
        await parts.index.open()

        assert await parts.writer.reconciler.catch_up() == 150

        assert parts.writer.pending == 0
        assert (await parts.index.counts())["values"] == 150
        assert await parts.writer.reconciler.catch_up() == 0


async def test_the_index_becomes_complete_although_something_is_written_all_the_time(parts: Parts) -> None:
    parts.collector.add_resolved([numbered(n) for n in range(40)])
    await parts.writer.find_pending()
    arrivals = iter(range(1000))
    parts.store.before_upsert = lambda: parts.writer.postpone(map(document, islice(arrivals, 10)))

    await parts.writer.reconciler.catch_up()

    assert Collection.EXPERIENCES_FULL in parts.writer.reconciler.searchable
    assert parts.writer.pending
    assert (await parts.index.counts())["experiences_full"] == 40


async def test_nothing_is_lost_when_the_engine_fails_half_way(parts: Parts) -> None:
    parts.collector.add_resolved([numbered(n) for n in range(50)])
    await parts.writer.find_pending()
    parts.store.attempts.clear()

    async with asyncio.timeout(MINUTES):
        while True:
            parts.store.failures = [MissingCollectionError("gone")] if len(parts.store.attempts) % 3 else []
            try:
                await parts.writer.reconciler.catch_up()
            except StorageUnavailableError:
                continue
            break

    counts = await parts.index.counts()
    assert counts["experiences_full"] == counts["experiences_strategy"] == 50
    assert await parts.writer.find_pending() == 0


FULL = Collection.EXPERIENCES_FULL
EARLIER = "the earlier goal of number three"
THREE = numbered(3, goal=EARLIER)
REWRITTEN = replace(THREE, goal="another goal")
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
    parts.collector.replace_loaded(REWRITTEN)


def traces(path: Path) -> list[str]:
    return files_with(path / "index", EARLIER)


async def require_renewed(parts: Parts, path: Path) -> None:
    (record,) = await parts.index.retrieve(FULL, [POINT])
    assert record.payload["digest"] == digest_of(documents_of(REWRITTEN)[0])
    assert outdated_in(path).ids() == frozenset()
    assert traces(path) == []


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
        await require_renewed(parts, tmp_path)

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
        parts.collector.replace_loaded(REWRITTEN)
        await parts.writer.complete()
        await require_renewed(parts, tmp_path)


@pytest.mark.slow
async def test_what_an_interrupted_rebuild_has_left_is_not_taken_over(tmp_path: Path, parts: Parts) -> None:
    await filled(parts)
    rounds = iter([documents_of(THREE)[:1]])
    with pytest.raises(RuntimeError, match="StopIteration"):
        await parts.index.rebuild(FULL, lambda: next(rounds), lambda _done: None)
    assert (tmp_path / "index" / f"{FULL}_next").is_dir()
    rewrite(parts, tmp_path)

    await parts.writer.renew()

    await require_renewed(parts, tmp_path)


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
