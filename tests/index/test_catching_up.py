"""Catching up: what is in the journal and not in the index is found and written, whatever happens meanwhile."""

import asyncio
from itertools import islice
from pathlib import Path

import pytest

from learning_memory_server.errors import MissingCollectionError, StorageUnavailableError
from learning_memory_server.index.document import Collection, Document, WholeDocument, point_id
from learning_memory_server.index.engines.base import Point
from tests.fast_forward import fast_forward
from tests.support import Parts, full_ghap, numbered, open_parts


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


async def test_a_point_of_another_text_is_written_again_and_one_without_digest_is_left(parts: Parts) -> None:
    await parts.index.open()
    parts.collector.add_resolved([numbered(1), numbered(2)])
    await parts.writer.complete()
    collection = Collection.EXPERIENCES_FULL
    records = await parts.store.scroll(collection, with_vectors=True, fields=["digest"])
    for record, digest in zip(records, ["another text's", None], strict=True):
        assert record.vector is not None
        payload = {"ghap_id": "x"} if digest is None else {"ghap_id": "x", "digest": digest}
        await parts.store.upsert(collection, [Point(record.id, record.vector, payload)])

    assert await parts.writer.find_pending() == 1
    await parts.writer.reconciler.catch_up()
    (first, second) = await parts.store.scroll(collection, fields=["digest"])
    assert (first.payload, second.payload) == (records[0].payload, {})


async def test_many_pending_documents_are_all_written_and_counted(parts: Parts) -> None:
    assert not await parts.writer.write([document(n) for n in range(150)])
    await parts.index.open()

    assert await parts.writer.reconciler.catch_up() == 150

    assert parts.writer.pending == 0
    assert (await parts.index.counts())["values"] == 150
    assert await parts.writer.reconciler.catch_up() == 0


async def test_the_index_becomes_complete_although_something_is_written_all_the_time(parts: Parts) -> None:
    parts.collector.add_resolved([numbered(n) for n in range(40)])
    await parts.index.open()
    await parts.writer.find_pending()
    arrivals = iter(range(1000))
    parts.store.before_upsert = lambda: parts.writer.postpone(map(document, islice(arrivals, 10)))

    await parts.writer.reconciler.catch_up()

    assert Collection.EXPERIENCES_FULL in parts.writer.reconciler.searchable
    assert parts.writer.pending
    assert (await parts.index.counts())["experiences_full"] == 40


async def test_nothing_is_lost_when_the_engine_fails_half_way(parts: Parts) -> None:
    parts.collector.add_resolved([numbered(n) for n in range(50)])
    await parts.index.open()
    await parts.writer.find_pending()
    parts.store.attempts.clear()

    async with asyncio.timeout(30):
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


@pytest.mark.slow
@fast_forward
async def test_a_start_after_a_quiet_moment_compares_only_what_is_new_until_the_index_is_replaced(
    tmp_path: Path,
) -> None:
    async with open_parts(tmp_path) as parts, parts.running():
        await parts.writer.settle()
        await parts.learn(numbered(1), full_ghap())
        await asyncio.sleep(20)
        mark = parts.store.mark_file
    assert mark
    assert mark.exists()

    async with open_parts(tmp_path) as parts:
        parts.collector.add_resolved([numbered(2)])
        await parts.index.open()
        scroll, parts.index.digests = parts.index.digests, unexpected  # type: ignore[method-assign]
        assert await parts.writer.find_pending() == 2
        parts.index.digests = scroll  # type: ignore[method-assign]
        await parts.index.rebuild(Collection.EXPERIENCES_FULL, list, lambda _: None)
    async with open_parts(tmp_path) as parts:
        await parts.index.open()
        assert await parts.writer.find_pending() == 3 + 1
        assert not mark.exists()


async def unexpected() -> dict[str, dict[str, str | None]]:
    raise AssertionError
