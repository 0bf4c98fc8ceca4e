"""Several owners on one Qdrant server: nobody finds, counts, overwrites or removes what is another's."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.errors import NoAnswerError, StorageUnavailableError
from learning_memory_server.index.engines.base import CollectionSpec, Filter, Point, SparseVector
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.engines.qdrant import QdrantStore
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import limiting_requests
from tests.fast_forward import fast_forward
from tests.index.engines.double import QdrantDouble, Request, Wrong, answering, opened, store_of
from tests.index.engines.points import EAST, NORTH, WORD, numbers, uid, worded as point


@pytest.fixture
async def bob(double: QdrantDouble, tmp_path: Path, spec: CollectionSpec) -> AsyncIterator[QdrantStore]:
    async with opened(store_of(double.url, tmp_path / "bob" / "owner.json"), spec) as store:
        yield store


@pytest.fixture(autouse=True)
def nothing_is_dropped_or_renamed(double: QdrantDouble) -> Iterator[None]:
    """No test here may send a request that would remove or rename a collection."""
    yield
    assert not [each for each in double.asked if each.method == "DELETE" or "aliases" in each.path]


def reads(double: QdrantDouble) -> list[Request]:
    kinds = ("/scroll", "/query", "/count")
    return [each for each in double.asked if each.path.endswith(kinds)]


async def test_nobody_finds_what_is_anothers(ann: QdrantStore, bob: QdrantStore) -> None:
    await ann.upsert("notes", [point(n, project="a") for n in range(5)])
    assert await bob.search("notes", EAST, limit=9) == []
    assert await bob.search("notes", EAST, limit=9, ids=[uid(1)]) == []
    assert await bob.search("notes", WORD, limit=9) == []
    assert await bob.retrieve("notes", [uid(1)]) == []
    assert await bob.scroll("notes") == await bob.scroll("notes", with_vectors=True) == []
    assert await bob.count("notes") == 0
    assert await bob.is_intact("notes")
    where = Filter(matches=(("project", "a"),), without=(("tags", "x"),))
    assert await bob.search("notes", EAST, limit=9, where=where) == []


async def test_the_same_entry_of_two_owners_is_two_points(
    ann: QdrantStore, bob: QdrantStore, double: QdrantDouble
) -> None:
    await ann.upsert("notes", [point(1, EAST)])
    await bob.upsert("notes", [point(1, NORTH)])
    assert len(double.engine.created) == 1
    (hit,) = await ann.search("notes", NORTH, limit=9)
    assert hit.score == pytest.approx(0)
    await bob.delete("notes", [uid(1)])
    assert await bob.count("notes") == 0
    assert await ann.count("notes") == 1


async def test_a_rebuild_leaves_what_is_anothers(ann: QdrantStore, bob: QdrantStore, spec: CollectionSpec) -> None:
    for store in (ann, bob):
        await store.upsert("notes", [point(n) for n in range(4)])
    rebuild = await bob.rebuild(spec, resume=True)
    await rebuild.upsert([point(9)])
    assert await bob.count("notes") == 5
    await bob.upsert("notes", [point(3), point(8)])
    await rebuild.finish([uid(9)])
    assert numbers(await bob.scroll("notes")) == [3, 8, 9]
    assert numbers(await ann.scroll("notes")) == [0, 1, 2, 3]


async def test_every_read_names_the_owner_and_every_deletion_names_ids(
    ann: QdrantStore, spec: CollectionSpec, double: QdrantDouble, tmp_path: Path
) -> None:
    await ann.upsert("notes", [point(n) for n in range(12)])
    await ann.search("notes", EAST, limit=1)
    await ann.search("notes", EAST, limit=1, ids=[uid(1)], where=Filter(without=(("project", "a"),)))
    await ann.search("notes", WORD, limit=1)
    await ann.retrieve("notes", [uid(1)], with_vectors=True)
    await ann.scroll("notes")
    await ann.scroll("notes", with_vectors=True)
    await ann.count("notes")
    await (await ann.rebuild(spec, resume=True)).finish([uid(1)])
    await ann.tidy(lambda _: set())

    mine = {"key": "owner", "match": {"value": open_owner(tmp_path / "ann" / "owner.json").name}}
    assert len(reads(double)) > 9
    assert all(each.body["filter"]["must"][0] == mine for each in reads(double))
    deletions = [each.body for each in double.asked if each.path.endswith("/points/delete")]
    assert deletions
    assert all(list(body) == ["points"] for body in deletions)
    assert not [each for each in double.asked if each.method == "POST" and each.path.endswith("/points")]


@pytest.mark.parametrize("field", ["owner", "rebuild"])
async def test_a_callers_field_of_the_walls_names_is_refused(ann: QdrantStore, field: str) -> None:
    with pytest.raises(StorageUnavailableError, match=field):
        await ann.upsert("notes", [Point(uid(1), EAST, {field: "bob"})])


async def test_a_callers_filter_on_the_owner_is_refused(ann: QdrantStore, spec: CollectionSpec) -> None:
    for where in (Filter(matches=(("owner", "bob"),)), Filter(without=(("owner", "bob"),))):
        with pytest.raises(StorageUnavailableError, match="owner"):
            await ann.search("notes", EAST, limit=1, where=where)
    with pytest.raises(StorageUnavailableError, match="owner"):
        await ann.ensure(replace(spec, keyword_fields=("owner",)))


async def test_scores_are_the_same_alone_and_beside_others(ann: QdrantStore, bob: QdrantStore) -> None:
    def texts(count: int) -> list[Point]:
        return [Point(uid(n), [1.0, n % 7, 0, 0], {}, SparseVector([7, 8 + n % 5], [1.0, 2.0])) for n in range(count)]

    await ann.upsert("notes", texts(30))
    query = SparseVector([7, 9], [1.0, 1.0])
    alone = await ann.search("notes", query, limit=30)
    await bob.upsert("notes", texts(300))
    assert await ann.search("notes", query, limit=30) == alone
    assert [hit.score for hit in await bob.search("notes", query, limit=30)] != [hit.score for hit in alone]


async def test_rarity_follows_what_is_written_removed_and_lost(
    ann: QdrantStore, spec: CollectionSpec, double: QdrantDouble, tmp_path: Path
) -> None:
    assert await ann.search("notes", WORD, limit=1) == []
    await ann.upsert("notes", [Point(uid(n), EAST, {}, SparseVector([7 + n], [1.0])) for n in range(6)])
    await ann.upsert("notes", [Point(uid(1), EAST, {}, None)])
    await ann.delete("notes", [uid(2)])
    lost = open_owner(tmp_path / "ann" / "owner.json").outside(uid(3))
    double.engine.client.delete(f"notes-{spec.variant}-1", [lost])
    assert not await ann.is_intact("notes")
    await ann.scroll("notes")
    assert await ann.is_intact("notes")
    assert await ann.count("notes") == 4

    async with opened(store_of(double.url, tmp_path / "ann" / "owner.json"), spec) as again:
        assert await ann.search("notes", WORD, limit=1) == await again.search("notes", WORD, limit=1)


async def test_a_collection_that_another_created_meanwhile_is_used(
    ann: QdrantStore, bob: QdrantStore, spec: CollectionSpec, double: QdrantDouble
) -> None:
    await asyncio.gather(*(store.ensure(replace(spec, name="others")) for store in (ann, bob, ann, bob)))
    assert list(double.engine.created) == [f"notes-{spec.variant}-1", f"others-{spec.variant}-1"]
    assert set(double.engine.indexed[f"others-{spec.variant}-1"]) >= {"owner", "rebuild", "project"}


async def test_a_collection_without_its_indexes_gets_them(
    ann: QdrantStore, spec: CollectionSpec, double: QdrantDouble
) -> None:
    double.engine.indexed[f"notes-{spec.variant}-1"].clear()
    with pytest.raises(StorageUnavailableError, match="still being created"):
        await ann.count("notes")
    await ann.ensure(spec)
    assert await ann.count("notes") == 0


async def test_a_model_whose_vectors_changed_gets_the_next_number_and_the_first_stays(
    ann: QdrantStore, bob: QdrantStore, spec: CollectionSpec, double: QdrantDouble
) -> None:
    first = replace(spec, name="others", about={"probe": 1})
    await ann.ensure(first)
    await ann.upsert("others", [point(1)])
    changed = replace(first, about={"probe": 2}, refuses=lambda about: None if about["probe"] == 2 else "no")
    for _ in range(2):
        await bob.ensure(changed)
    await bob.upsert("others", [point(2)])
    assert [each.rpartition("-")[2] for each in double.engine.created if each.startswith("others")] == ["1", "2"]
    assert await ann.count("others") == await bob.count("others") == 1


async def test_what_is_forgotten_leaves_every_collection_one_was_ever_in(
    ann: QdrantStore, bob: QdrantStore, spec: CollectionSpec, double: QdrantDouble, tmp_path: Path
) -> None:
    for store in (ann, bob):
        await store.upsert("notes", [point(1), point(2)])
    another = replace(spec, variant="abcdef012345")
    async with opened(store_of(double.url, tmp_path / "ann" / "owner.json"), another) as after:
        await after.upsert("notes", [point(1), point(2)])
        await after.tidy({"notes": {uid(1), uid(2)}}.__getitem__)
        assert numbers(await ann.scroll("notes")) == [1, 2]
        await after.delete("notes", [uid(1)])
    assert numbers(await ann.scroll("notes")) == [2]
    assert await bob.count("notes") == 2

    # What was forgotten before, or while the server was away.
    async with opened(store_of(double.url, tmp_path / "ann" / "owner.json"), another) as after:
        await after.tidy(lambda _: set())
        assert await ann.count("notes") == 0
        assert await after.count("notes") == 1
        double.asked.clear()
        await after.tidy(lambda _: set())
        assert not double.asked
    assert await bob.count("notes") == 2


@fast_forward
async def test_a_write_that_was_given_up_and_arrives_after_its_removal_is_removed_again(
    double: QdrantDouble, spec: CollectionSpec, tmp_path: Path
) -> None:
    async with opened(store_of(double.url, tmp_path / "owner.json"), spec) as store:
        await store.upsert("notes", [point(2)])
        assert await store.is_intact("notes")
        double.asked.clear()
        double.refuse(Wrong.HANGS, only=lambda each: each.method == "PUT" and bool(each.body["points"]))
        with limiting_requests(0.5), pytest.raises(NoAnswerError):
            await store.upsert("notes", [point(1)])
        (late,) = [each for each in double.asked if each.method == "PUT" and each.body["points"]]
        double.heal()
        await answering(store)
        await store.delete("notes", [uid(1)])
        with double.turn:
            double.engine.answer(*late)
        for _ in range(2):
            assert not await store.is_intact("notes")
        assert await store.count("notes") == 2
        await asyncio.sleep(timeouts.ARRIVAL + 1)
        assert await store.is_intact("notes")
        assert numbers(await store.scroll("notes")) == [2]
        double.asked.clear()
        await asyncio.sleep(timeouts.ARRIVAL + 1)
        assert await store.is_intact("notes")
        assert [each.path.rpartition("/")[2] for each in double.asked] == ["count"]


async def test_who_leaves_a_server_leaves_nothing_there_and_takes_nothing_of_others(
    ann: QdrantStore, bob: QdrantStore, spec: CollectionSpec
) -> None:
    for variant in ("abcdef012345", "012345abcdef"):
        for store in (ann, bob):
            await store.ensure(replace(spec, variant=variant))
            await store.upsert("notes", [point(1), point(2)])
    assert await ann.leave(["notes"]) == 4
    assert await ann.leave(["notes"]) == 0
    assert await bob.leave(["notes"]) == 4


async def test_who_leaves_is_not_stopped_by_a_collection_that_cannot_be_read(
    ann: QdrantStore, double: QdrantDouble
) -> None:
    from qdrant_client import models

    await ann.upsert("notes", [point(1)])
    vectors = {"dense": models.VectorParams(size=4, distance=models.Distance.COSINE)}
    for name in ("docs-1-1", "notes-0-1", "notes-f-1"):
        double.engine.client.create_collection(name, vectors)
    with pytest.raises(StorageUnavailableError, match="`notes-0-1`, `notes-f-1`") as caught:
        await ann.leave(["notes"])
    assert "from the others: 1." in caught.value.message
    assert "still being created" in str(caught.value.hint)
    assert await ann.count("notes") == 0
    assert not [each for each in double.asked if "docs-1-1" in each.path]


async def test_who_leaves_a_server_that_goes_away_is_told_so_at_once(ann: QdrantStore, double: QdrantDouble) -> None:
    double.refuse(Wrong.RESETS, only=lambda each: each.path.endswith("/scroll"))
    with pytest.raises(NoAnswerError):
        await ann.leave(["notes"])


async def test_nothing_is_removed_from_a_copied_folder(
    ann: QdrantStore, spec: CollectionSpec, double: QdrantDouble, tmp_path: Path
) -> None:
    await ann.upsert("notes", [point(1)])
    shutil.copytree(tmp_path / "ann", tmp_path / "copy")
    async with opened(store_of(double.url, tmp_path / "copy" / "owner.json"), spec) as copy:
        assert await copy.count("notes") == 1
        with pytest.raises(StorageUnavailableError, match="moved or copied"):
            await copy.delete("notes", [uid(1)])
    assert await ann.count("notes") == 1
