"""The index made anew: what answers meanwhile, what an interruption leaves, and what cannot be used."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.embedding.terms import TERMS_VERSION
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.indexing.document import Collection, Query, point_id
from learning_memory_server.storage.base import CollectionSpec, Filter
from learning_memory_server.storage.edge import EdgeStore
from learning_memory_server.storage.vectors import VECTOR
from tests.support import full_ghap, numbered, open_memory

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support import Memory

FULL, STRATEGY = Collection.EXPERIENCES_FULL, Collection.EXPERIENCES_STRATEGY


def ignore(_done: int, _total: int) -> None:
    pass


async def found(memory: Memory) -> list[tuple[str, float]]:
    hits = await memory.nearest(FULL, "number 7", 50)
    return [(hit.id, hit.score) for hit in hits]


async def test_a_rebuilt_index_gives_the_same_answers(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(full_ghap(), *(numbered(n) for n in range(20)))
        before = await found(memory)
        generation = memory.index.generation(FULL)
        steps: list[tuple[int, int]] = []

        assert await memory.writer.rebuild(list(Collection), lambda *step: steps.append(step)) == 21 * 2 + 2

        after = await found(memory)
        assert [point for point, _ in after] == [point for point, _ in before]
        np.testing.assert_allclose([s for _, s in after], [s for _, s in before], atol=1e-4)
        assert memory.index.generation(FULL) > generation
        assert steps[-1] == (44, 44)


async def test_the_present_index_answers_until_the_new_one_is_complete_and_nothing_that_came_is_lost(
    tmp_path: Path,
) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(*(numbered(n) for n in range(20)))
        before = await found(memory)
        memory.store.entered.clear()
        memory.store.gate.clear()
        rebuilding = asyncio.create_task(memory.writer.rebuild([FULL], ignore))
        await memory.store.entered.wait()

        assert await found(memory) == before

        # It comes while the rebuild has seen all that there was.
        memory.collector.add_resolved([numbered(77)])
        memory.store.gate.set()
        await rebuilding
        assert len(await found(memory)) == 21
        assert memory.writer.pending == 0
        assert (await memory.index.counts())[STRATEGY] == 21


async def test_an_interrupted_rebuild_goes_on_from_where_it_was(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(*(numbered(n) for n in range(200)))
        memory.store.gate.clear()
        memory.store.entered.clear()
        first = asyncio.create_task(memory.writer.rebuild([FULL], ignore))
        await memory.store.entered.wait()
        # The first batch is written, the second fails.
        loop = asyncio.get_running_loop()
        memory.store.gate.set()
        loop.call_soon(memory.store.failures.append, StorageUnavailableError("gone"))
        with pytest.raises(StorageUnavailableError):
            await first
        assert len(await found(memory)) == 50

        steps: list[tuple[int, int]] = []
        await memory.writer.rebuild([FULL], lambda *step: steps.append(step))

        assert steps[0] == (128, 200)
        assert steps[-1] == (200, 200)
        assert (await memory.index.counts())[FULL] == 200


async def test_only_the_axis_that_was_asked_for_is_made_anew(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(full_ghap(), numbered(1))
        untouched = memory.index.generation(STRATEGY)

        assert await memory.writer.rebuild([Collection.of(Axis.SURPRISE)], ignore) == 1

        assert memory.index.generation(STRATEGY) == untouched


async def test_what_was_forgotten_meanwhile_is_not_in_the_new_index(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        entries = [numbered(n) for n in range(5)]
        await memory.learn(*entries)
        await memory.index.rebuild(FULL, list, lambda _: None)
        assert (await memory.index.counts())[FULL] == 0
        memory.collector.forget([entries[0].id], memory.clock())
        await memory.writer.rebuild(list(Collection), ignore)
        counts = await memory.index.counts()
        assert counts[FULL] == counts[STRATEGY] == 4


async def test_a_removal_that_fails_is_done_later_also_after_a_restart(tmp_path: Path) -> None:
    entries = [numbered(n) for n in range(3)]
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(*entries)
        memory.collector.forget([entries[0].id], memory.clock())
        memory.store.down = StorageUnavailableError("gone")
        assert not await memory.writer.remove([point_id("ghap", entries[0].id)])
        memory.store.down = None

    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        assert (await memory.index.counts())[FULL] == 3
        await memory.writer.complete()
        assert (await memory.index.counts())[FULL] == 2
        memory.collector.forget([entries[1].id], memory.clock())
        assert await memory.writer.remove([point_id("ghap", entries[1].id)])
        assert (await memory.index.counts())[FULL] == 1


async def test_a_damaged_collection_is_made_anew_and_it_is_said(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(*(numbered(n) for n in range(3)))
    (tmp_path / "index" / FULL / "edge_config.json").write_text("{}")

    async with open_memory(tmp_path) as memory:
        await memory.writer.complete()
        assert (await memory.index.counts())[FULL] == 3
        (notice,) = memory.index.notices
        assert "experiences_full" in notice
        assert "anew from the journal" in notice


async def test_a_collection_of_another_dimension_is_made_anew_and_it_is_said(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path / "index", min_free_bytes=0)
    await store.ensure(CollectionSpec(FULL, 5))
    await store.close()

    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(numbered(1))
        assert (await memory.index.counts())[FULL] == 1
        (notice,) = memory.index.notices
        assert notice.startswith("Collection `experiences_full` holds vectors of 5 numbers, not ")
        assert "anew from the journal" in notice


async def test_vectors_that_the_model_would_not_make_now_are_made_anew(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(*(numbered(n) for n in range(3)))
        before = await found(memory)
    about = tmp_path / "index" / FULL / "about.json"
    kept = json.loads(about.read_text())
    about.write_text(json.dumps({**kept, "probe": [-x for x in kept["probe"]]}))

    async with open_memory(tmp_path) as memory:
        await memory.writer.complete()
        (notice,) = memory.index.notices
        assert "other vectors" in notice
        assert await found(memory) == before
        assert json.loads(about.read_text()) == kept


OUTDATED: list[dict[str, object] | None] = [
    None,
    {"layout": 1},
    {"layout": 2},
    {"layout": None},
    {"terms": TERMS_VERSION + 1},
    {"vectors": 1},
    {"form": "another"},
    {"form": None},
]


@pytest.mark.parametrize("changes", OUTDATED)
async def test_a_collection_of_another_layout_is_made_anew_and_it_is_said(
    tmp_path: Path, changes: dict[str, object] | None
) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(*(numbered(n) for n in range(3)))
    about = tmp_path / "index" / FULL / "about.json"
    kept = json.loads(about.read_text())
    about.write_text(json.dumps({} if changes is None else {**kept, **changes}))

    async with open_memory(tmp_path) as memory:
        await memory.writer.complete()
        (notice,) = memory.index.notices
        assert notice == (
            "Collection `experiences_full` was laid out by another version of this program. "
            "It is made anew from the journal."
        )
        assert (await memory.index.counts())[FULL] == 3
        assert json.loads(about.read_text()) == kept


def make_without_terms(directory: Path, point: str) -> None:
    """Create a collection as the first layout had it, with nothing beside its vectors, and one point in it."""
    from qdrant_edge import Distance, EdgeConfig, EdgeShard, EdgeVectorParams, UpdateOperation  # noqa: PLC0415
    from qdrant_edge import Point as EdgePoint  # noqa: PLC0415

    directory.mkdir(parents=True)
    vectors = EdgeVectorParams(size=384, distance=Distance.Cosine)
    shard = EdgeShard.create(str(directory), EdgeConfig(vectors={VECTOR: vectors}))
    shard.update(UpdateOperation.upsert_points([EdgePoint(point, {VECTOR: [1.0] * 384}, {})]))
    shard.close()


async def test_an_index_of_the_first_layout_which_had_no_terms_gets_them(tmp_path: Path) -> None:
    for collection in Collection:
        make_without_terms(tmp_path / "index" / collection, point_id("ghap", numbered(1).id))

    async with open_memory(tmp_path) as memory:
        memory.collector.add_resolved([numbered(1)])
        await memory.writer.complete()

        assert len(memory.index.notices) == len(Collection)
        (match,) = await memory.index.search_hybrid(Query(FULL, "checkout", 5, Filter()))
        assert match.payload["ghap_id"] == numbered(1).id
        assert match.score > 0.6 * match.cosine


async def test_an_index_that_is_as_it_should_be_is_left_alone(tmp_path: Path) -> None:
    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        await memory.learn(numbered(1))

    async with open_memory(tmp_path) as memory:
        await memory.index.open()
        assert (await memory.index.counts())[FULL] == 1
        assert memory.index.notices == []
