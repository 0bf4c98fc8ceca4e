"""Rebuilding the index: what answers in the meantime, what an interruption leaves, and what cannot be used."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.document import Collection, Document, WholeDocument, digest_of, documents_of, point_id
from learning_memory_server.index.engines.base import CollectionSpec, Filter
from learning_memory_server.index.engines.edge import EdgeStore
from learning_memory_server.index.engines.vectors import VECTOR
from learning_memory_server.index.ranking.hybrid import Query
from learning_memory_server.model.vocabulary import Axis
from tests.support import Parts, full_ghap, numbered, open_parts

FULL, STRATEGY = Collection.EXPERIENCES_FULL, Collection.EXPERIENCES_STRATEGY


def ignore(_done: int, _total: int) -> None:
    pass


def ignored(_done: int) -> None:
    pass


async def found(parts: Parts) -> list[tuple[str, float]]:
    hits = await parts.nearest(FULL, "number 7", 50)
    return [(hit.id, hit.score) for hit in hits]


@pytest.mark.slow
async def test_a_rebuilt_index_gives_the_same_answers(parts: Parts) -> None:
    await parts.learn(full_ghap(), *(numbered(n) for n in range(20)))
    before = await found(parts)
    generation = parts.index.generation(FULL)
    steps: list[tuple[int, int]] = []

    assert await parts.writer.rebuild(list(Collection), lambda *step: steps.append(step)) == 21 * 2 + 2

    after = await found(parts)
    assert [point for point, _ in after] == [point for point, _ in before]
    np.testing.assert_allclose([s for _, s in after], [s for _, s in before], atol=1e-4)
    assert parts.index.generation(FULL) > generation
    assert steps[-1] == (44, 44)


async def test_the_present_index_answers_until_the_new_one_is_complete_and_nothing_that_came_is_lost(
    parts: Parts,
) -> None:
    await parts.learn(*(numbered(n) for n in range(20)))
    before = await found(parts)
    parts.store.hold()
    rebuilding = asyncio.create_task(parts.writer.rebuild([FULL], ignore))
    await parts.store.entered.wait()

    assert await found(parts) == before

    # It arrives after the rebuild has read the journal.
    parts.collector.add_resolved([numbered(77)])
    parts.store.gate.set()
    await rebuilding
    assert len(await found(parts)) == 21
    assert parts.writer.pending == 0
    assert (await parts.index.counts())[STRATEGY] == 21


async def test_what_comes_during_a_rebuild_is_in_the_new_index_before_that_answers(parts: Parts) -> None:
    await parts.ready()
    known = [documents_of(numbered(n))[0] for n in range(3)]

    def documents() -> list[Document]:
        # One more each time, until there are ten.
        known.extend([documents_of(numbered(len(known)))[0]] if len(known) < 10 else [])
        return list(known)

    await parts.index.rebuild(FULL, documents, lambda _done: None)
    assert (await parts.index.digests())[FULL].keys() == {document.point_id for document in known}
    assert len(known) == 10


@pytest.mark.slow
async def test_an_interrupted_rebuild_resumes_where_it_stopped(parts: Parts) -> None:
    await parts.learn(*(numbered(n) for n in range(200)))
    parts.store.hold()
    first = asyncio.create_task(parts.writer.rebuild([FULL], ignore))
    await parts.store.entered.wait()
    # The first batch is written, the second fails.
    loop = asyncio.get_running_loop()
    parts.store.gate.set()
    loop.call_soon(parts.store.failures.append, StorageUnavailableError("gone"))
    with pytest.raises(StorageUnavailableError):
        await first
    assert len(await found(parts)) == 50

    steps: list[tuple[int, int]] = []
    await parts.writer.rebuild([FULL], lambda *step: steps.append(step))

    assert steps[0] == (128, 200)
    assert steps[-1] == (200, 200)
    assert (await parts.index.counts())[FULL] == 200


async def test_a_renewal_does_not_resume_an_earlier_rebuild_whose_points_have_earlier_texts(parts: Parts) -> None:
    earlier, later = (
        [WholeDocument(FULL, point_id("ghap", str(n)), f"{text} {n}", {}) for n in range(300)]
        for text in ("earlier", "later")
    )

    def documents() -> Iterator[Document]:
        yield from earlier[:200]
        raise StorageUnavailableError("gone")

    await parts.ready()
    with pytest.raises(StorageUnavailableError):
        await parts.index.rebuild(FULL, documents, ignored)

    await parts.index.rebuild(FULL, lambda: list(later), ignored, outdated={each.point_id for each in later})

    stored = (await parts.index.digests())[FULL]
    assert stored == {each.point_id: digest_of(each) for each in later}


async def test_only_the_requested_axis_is_rebuilt(parts: Parts) -> None:
    await parts.learn(full_ghap(), numbered(1))
    untouched = parts.index.generation(STRATEGY)

    assert await parts.writer.rebuild([Collection.of(Axis.SURPRISE)], ignore) == 1

    assert parts.index.generation(STRATEGY) == untouched


@pytest.mark.slow
async def test_what_is_forgotten_during_a_rebuild_is_not_in_the_new_index(parts: Parts) -> None:
    entries = [numbered(n) for n in range(5)]
    await parts.learn(*entries)
    await parts.index.rebuild(FULL, list, lambda _: None)
    assert (await parts.index.counts())[FULL] == 0
    parts.collector.forget([entries[0].id], parts.clock())
    await parts.writer.rebuild(list(Collection), ignore)
    counts = await parts.index.counts()
    assert counts[FULL] == counts[STRATEGY] == 4


async def test_a_document_forgotten_during_a_rebuild_never_answers_from_the_new_index(parts: Parts) -> None:
    documents = [WholeDocument(FULL, point_id("ghap", str(n)), f"text {n}", {}) for n in range(3)]
    rounds = iter([documents, documents[1:]])
    await parts.index.rebuild(FULL, lambda: next(rounds), lambda _: None)

    stored = await parts.index.digests()
    assert stored[FULL].keys() == {document.point_id for document in documents[1:]}


async def test_a_failed_removal_is_repeated_when_the_index_catches_up(parts: Parts) -> None:
    await parts.learn(numbered(1))
    parts.store.down = StorageUnavailableError("gone")
    assert not await parts.writer.remove([point_id("ghap", numbered(1).id)])
    parts.store.down = None

    await parts.writer.reconciler.catch_up()

    assert set((await parts.index.counts()).values()) == {0}


@pytest.mark.slow
async def test_a_failed_removal_is_done_later_even_after_a_restart(tmp_path: Path) -> None:
    entries = [numbered(n) for n in range(3)]
    async with open_parts(tmp_path) as parts:
        await parts.index.open()
        await parts.learn(*entries)
        parts.collector.forget([entries[0].id], parts.clock())
        parts.store.down = StorageUnavailableError("gone")
        assert not await parts.writer.remove([point_id("ghap", entries[0].id)])
        parts.store.down = None

    async with open_parts(tmp_path) as parts:
        await parts.index.open()
        assert (await parts.index.counts())[FULL] == 3
        await parts.writer.complete()
        assert (await parts.index.counts())[FULL] == 2
        parts.collector.forget([entries[1].id], parts.clock())
        assert await parts.writer.remove([point_id("ghap", entries[1].id)])
        assert (await parts.index.counts())[FULL] == 1


async def learn_three(path: Path) -> None:
    async with open_parts(path) as parts:
        await parts.index.open()
        await parts.learn(*(numbered(n) for n in range(3)))


@pytest.mark.slow
async def test_a_damaged_collection_is_rebuilt_and_a_notice_says_so(tmp_path: Path) -> None:
    await learn_three(tmp_path)
    (tmp_path / "index" / FULL / "edge_config.json").write_text("{}")

    async with open_parts(tmp_path) as parts:
        await parts.writer.complete()
        assert (await parts.index.counts())[FULL] == 3
        (notice,) = parts.index.notices
        assert "experiences_full" in notice
        assert "rebuilt from the journal" in notice


async def test_a_collection_of_another_dimension_is_rebuilt_and_a_notice_says_so(tmp_path: Path) -> None:
    store = EdgeStore(tmp_path / "index", min_free_bytes=0)
    await store.ensure(CollectionSpec(FULL, 5))
    await store.close()

    async with open_parts(tmp_path) as parts:
        await parts.index.open()
        await parts.learn(numbered(1))
        assert (await parts.index.counts())[FULL] == 1
        (notice,) = parts.index.notices
        assert notice.startswith("Collection `experiences_full` holds vectors of 5 numbers, not ")
        assert "rebuilt from the journal" in notice


@pytest.mark.slow
async def test_vectors_that_the_model_no_longer_makes_are_rebuilt(tmp_path: Path) -> None:
    async with open_parts(tmp_path) as parts:
        await parts.index.open()
        await parts.learn(*(numbered(n) for n in range(3)))
        before = await found(parts)
    about = tmp_path / "index" / FULL / "about.json"
    kept = json.loads(about.read_text())
    about.write_text(json.dumps({**kept, "probe": [-x for x in kept["probe"]]}))

    async with open_parts(tmp_path) as parts:
        await parts.writer.complete()
        (notice,) = parts.index.notices
        assert "no longer makes the vectors" in notice
        assert await found(parts) == before
        assert json.loads(about.read_text()) == kept


OUTDATED: list[dict[str, object] | None] = [
    None,
    {"layout": 1},
    {"layout": 2},
    {"layout": None},
    {"terms": 1},
    {"vectors": 1},
    {"form": "another"},
    {"form": None},
]


@pytest.mark.slow
@pytest.mark.parametrize("changes", OUTDATED)
async def test_a_collection_made_by_another_recipe_is_rebuilt_and_a_notice_says_so(
    tmp_path: Path, changes: dict[str, object] | None
) -> None:
    await learn_three(tmp_path)
    about = tmp_path / "index" / FULL / "about.json"
    kept = json.loads(about.read_text())
    about.write_text(json.dumps({} if changes is None else {**kept, **changes}))

    async with open_parts(tmp_path) as parts:
        await parts.writer.complete()
        (notice,) = parts.index.notices
        assert notice == (
            "Collection `experiences_full` was made by another version of this program. It is rebuilt from the journal."
        )
        assert (await parts.index.counts())[FULL] == 3
        assert json.loads(about.read_text()) == kept


def make_without_terms(directory: Path, point: str) -> None:
    """Create a collection in the first layout, with nothing but vectors, and one point in it."""
    from qdrant_edge import Distance, EdgeConfig, EdgeShard, EdgeVectorParams, Point as EdgePoint, UpdateOperation

    directory.mkdir(parents=True)
    vectors = EdgeVectorParams(size=384, distance=Distance.Cosine)
    shard = EdgeShard.create(str(directory), EdgeConfig(vectors={VECTOR: vectors}))
    shard.update(UpdateOperation.upsert_points([EdgePoint(point, {VECTOR: [1.0] * 384}, {})]))
    shard.close()


@pytest.mark.slow
async def test_an_index_of_the_first_layout_which_had_no_terms_gets_them(tmp_path: Path) -> None:
    for collection in Collection:
        make_without_terms(tmp_path / "index" / collection, point_id("ghap", numbered(1).id))

    async with open_parts(tmp_path) as parts:
        parts.collector.add_resolved([numbered(1)])
        await parts.writer.complete()

        assert len(parts.index.notices) == len(Collection)
        (match,) = await parts.index.search_hybrid(Query(FULL, "checkout", 5, Filter()))
        assert match.payload["ghap_id"] == numbered(1).id
        assert match.explanation.bm25 > 0


async def test_an_index_that_is_given_up_stays_until_its_successor_has_everything(tmp_path: Path) -> None:
    def given_up() -> list[str]:
        return [path.name for path in tmp_path.rglob(".*.given-up")]

    async with open_parts(tmp_path) as parts:
        await parts.ready()
        await parts.learn(*(numbered(n) for n in range(20)))
    for path in (tmp_path / "index").rglob("edge_config.json"):
        path.write_text("{}")
    for failed in range(3):
        async with open_parts(tmp_path) as parts:
            parts.store.failures = [StorageUnavailableError("It fails half-way.")] * bool(failed % 2 == 0)
            if failed < 2:
                parts.store.failures.append(StorageUnavailableError("It fails."))
                with pytest.raises(StorageUnavailableError):
                    await parts.writer.complete()
            assert sorted(given_up()) == [f".{FULL}.given-up", f".{STRATEGY}.given-up"]
    async with open_parts(tmp_path) as parts:
        await parts.writer.complete()
        assert parts.writer.is_complete
        assert given_up() == []
        assert (await parts.index.counts())[FULL] == 20
