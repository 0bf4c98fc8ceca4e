import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from learning_memory_server.errors import MissingCollectionError, StorageUnavailableError, WrongDimensionError
from learning_memory_server.index.engines.base import CollectionSpec, Filter, Point, VectorStore
from tests.index.engines.points import EAST, NORTH, OPERATIONS, WORD, ids_where, numbers, point, uid


async def test_ensuring_twice_changes_nothing(store: VectorStore, spec: CollectionSpec) -> None:
    await store.upsert("notes", [point(1)])
    await store.ensure(spec)
    assert await store.count("notes") == 1


async def test_ensuring_may_add_a_field_later(store: VectorStore, spec: CollectionSpec) -> None:
    await store.upsert("notes", [point(1, author="ada"), point(2, author="bob")])
    await store.ensure(replace(spec, keyword_fields=(*spec.keyword_fields, "author")))
    assert await ids_where(store, Filter(matches=(("author", "bob"),))) == [2]


async def test_a_collection_of_another_dimension_is_unused(store: VectorStore, spec: CollectionSpec) -> None:
    await store.upsert("notes", [point(1)])
    await store.ensure(replace(spec, dimension=5))
    assert await store.count("notes") == 0
    await store.upsert("notes", [point(1, [1.0] * 5)])


async def test_a_collection_keeps_its_original_data(bare_store: VectorStore, spec: CollectionSpec) -> None:
    about = {"model": "m1", "probe": [0.5, -0.25], "größe": {"a": None}}
    await bare_store.ensure(replace(spec, about=about))
    seen: list[Any] = []
    assert await bare_store.ensure(replace(spec, about={"model": "m2"}, refuses=seen.append)) is None
    assert seen == [about]


async def test_a_collection_callers_refuse_is_not_used(bare_store: VectorStore, spec: CollectionSpec) -> None:
    def refuses(about: Any) -> str | None:
        return None if about["model"] == "m2" else "It is another model's."

    await bare_store.ensure(replace(spec, about={"model": "m1"}))
    await bare_store.upsert("notes", [point(1)])
    assert await bare_store.is_intact("notes")
    theirs = replace(spec, about={"model": "m2"}, refuses=refuses)
    await bare_store.ensure(theirs)
    assert await bare_store.count("notes") == 0
    assert await bare_store.is_intact("notes")
    await bare_store.upsert("notes", [point(2)])
    assert await bare_store.ensure(theirs) is None
    assert numbers(await bare_store.scroll("notes")) == [2]


async def test_a_rebuilt_collection_has_what_was_written(store: VectorStore, spec: CollectionSpec) -> None:
    await store.upsert("notes", [point(1, tags=["old"]), point(2)])
    rebuild = await store.rebuild(spec, resume=True)
    assert rebuild.ids == frozenset()
    assert await store.count("notes") == 2
    await rebuild.upsert([point(3, NORTH, tags=["new"], project="a"), point(4)])
    await rebuild.finish([uid(3)])
    assert numbers(await store.scroll("notes")) == [3]
    (record,) = await store.retrieve("notes", [uid(1), uid(2), uid(3)])
    assert record.payload == {"tags": ["new"], "project": "a"}
    assert await ids_where(store, Filter(matches=(("tags", "new"),))) == [3]
    assert await store.ensure(spec) is None
    await store.upsert("notes", [point(4)])
    assert await store.count("notes") == 2
    assert await store.is_intact("notes")


async def test_an_interrupted_rebuild_can_be_resumed_or_begun_again(store: VectorStore, spec: CollectionSpec) -> None:
    await store.upsert("notes", [point(1), point(2)])
    await (await store.rebuild(spec, resume=True)).upsert([point(1)])
    assert (await store.rebuild(spec, resume=True)).ids == {uid(1)}
    again = await store.rebuild(spec, resume=False)
    assert again.ids == frozenset()
    await again.upsert([point(2)])
    resumed = await store.rebuild(spec, resume=True)
    assert resumed.ids == {uid(2)}
    await resumed.finish([uid(2)])
    assert numbers(await store.scroll("notes")) == [2]
    assert (await store.rebuild(spec, resume=True)).ids == frozenset()


async def test_an_empty_collection_answers_with_nothing_and_takes_empty_writes_and_queries(store: VectorStore) -> None:
    assert await store.scroll("notes") == []
    assert await store.count("notes") == 0
    assert await store.search("notes", EAST, limit=5) == []
    assert await store.search("notes", WORD, limit=5) == []
    assert await store.retrieve("notes", [uid(1)]) == []
    await store.upsert("notes", [])
    await store.delete("notes", [])
    assert await store.retrieve("notes", []) == []


async def test_collections_do_not_mix(store: VectorStore, spec: CollectionSpec) -> None:
    await store.ensure(replace(spec, name="others", dimension=2))
    await store.upsert("notes", [point(1)])
    await store.upsert("others", [point(1, [0.0, 1.0], kind="other")])
    assert (await store.retrieve("notes", [uid(1)]))[0].payload == {}
    assert (await store.retrieve("others", [uid(1)]))[0].payload == {"kind": "other"}


async def test_an_upsert_replaces_vector_and_payload(store: VectorStore) -> None:
    await store.upsert("notes", [point(1, EAST, project="a", old=True)])
    await store.upsert("notes", [point(1, NORTH, project="b")])
    (record,) = await store.retrieve("notes", [uid(1)], with_vectors=True)
    assert record.payload == {"project": "b"}
    assert record.vector == pytest.approx(NORTH)
    assert await ids_where(store, Filter(matches=(("project", "a"),))) == []


async def test_arrays_and_lists_are_both_vectors(store: VectorStore) -> None:
    array = np.array([0.0, 2.0, 0.0, 0.0], dtype=np.float32)
    await store.upsert("notes", [Point(uid(1), array, {}), point(2, EAST)])
    assert numbers(await store.search("notes", array, limit=2)) == [1, 2]


async def test_retrieve_keeps_the_requested_order_and_skips_missing_ids(store: VectorStore) -> None:
    await store.upsert("notes", [point(n, n=n) for n in range(1, 1_200)])
    everything = list(reversed(range(1, 1_200)))
    for wanted in ([1_100, 5_000, 7, 999, 3], everything):
        records = await store.retrieve("notes", [uid(n) for n in wanted])
        assert [record.payload["n"] for record in records] == [n for n in wanted if n != 5_000]
        assert all(record.vector is None for record in records)


@pytest.mark.slow
async def test_scroll_returns_more_points_than_any_page_ordered_by_id(
    store: VectorStore, request: pytest.FixtureRequest
) -> None:
    # A page has 10,000 at the most. The double takes the square of what it has, and has pages of 100 here.
    count = 1_050 if "qdrant-double" in request.node.name else 10_050
    drawn = [n * 2**90 for n in random.Random(7).sample(range(2**30), count)]
    await store.upsert("notes", [point(n, [1.0, 2.0, 2.0, 0.0]) for n in drawn])
    records = await store.scroll("notes", with_vectors=True)
    assert numbers(records) == sorted(drawn)
    assert records[-1].vector == pytest.approx([1 / 3, 2 / 3, 2 / 3, 0.0])
    assert await store.count("notes") == count


async def test_scroll_returns_vectors_and_fields_of_payloads_only_on_request(store: VectorStore) -> None:
    await store.upsert("notes", [point(1, project="a", kind="x")])
    for _ in range(2):
        (bare,) = await store.scroll("notes")
        (some,) = await store.scroll("notes", fields=["project", "absent"])
        assert (bare.payload, bare.vector) == ({}, None)
        assert (some.payload, some.vector) == ({"project": "a"}, None)
    (record,) = await store.scroll("notes", with_vectors=True)
    assert record.payload == {}
    assert record.vector == pytest.approx(EAST)


async def test_scroll_returns_no_more_points_than_requested(store: VectorStore) -> None:
    await store.upsert("notes", [point(n) for n in range(250)])
    for with_vectors in (True, False):
        few = await store.scroll("notes", with_vectors=with_vectors, most=200)
        ids = [record.id for record in few]
        assert len(set(ids)) == 200
        assert ids == sorted(ids)
        assert len(await store.scroll("notes", with_vectors=with_vectors, most=251)) == 250


async def test_delete_ignores_unknown_ids(store: VectorStore) -> None:
    await store.upsert("notes", [point(1), point(2)])
    await store.delete("notes", [uid(2), uid(3)])
    assert numbers(await store.scroll("notes")) == [1]


async def test_delete_removes_more_than_a_thousand_points(store: VectorStore) -> None:
    await store.upsert("notes", [point(n) for n in range(1_300)])
    await store.delete("notes", [uid(n) for n in range(1_250)])
    assert await store.count("notes") == 50
    assert numbers(await store.search("notes", EAST, limit=1)) == [1_250]


async def test_scores_are_cosines_for_vectors_of_any_length(store: VectorStore) -> None:
    vectors = [[5.0, 0.0, 0.0, 0.0], [3.0, 4.0, 0.0, 0.0], [0.0, 0.5, 0.0, 0.0], [-2.0, 0.0, 0.0, 0.0]]
    await store.upsert("notes", [point(n, vector) for n, vector in enumerate(vectors)])
    hits = await store.search("notes", [10.0, 0.0, 0.0, 0.0], limit=10)
    assert numbers(hits) == [0, 1, 2, 3]
    assert [hit.score for hit in hits] == pytest.approx([1.0, 0.6, 0.0, -1.0], abs=1e-6)
    assert all(-1.0 <= hit.score <= 1.0 for hit in hits)


async def test_search_returns_no_more_than_its_limit(store: VectorStore) -> None:
    await store.upsert("notes", [point(n, [1.0, n / 10, 0.0, 0.0]) for n in range(40)])
    assert numbers(await store.search("notes", EAST, limit=3)) == [0, 1, 2]


async def test_equal_scores_are_ordered_by_id_even_across_the_limit(store: VectorStore) -> None:
    shuffled = random.Random(3).sample(range(60), 60)
    await store.upsert("notes", [point(n, NORTH if n < 3 else EAST) for n in shuffled])
    assert numbers(await store.search("notes", EAST, limit=5)) == [3, 4, 5, 6, 7]
    assert numbers(await store.search("notes", EAST, limit=59)) == [*range(3, 60), 0, 1]


async def test_payloads_come_back_unchanged(store: VectorStore) -> None:
    payload = {
        "nested": {"deep": {"list": [1, [2, {"three": 3}], None]}, "empty": {}},
        "text": "naïve 日本 🧠 \u0000 \"quoted\" 'it' \n",
        "none": None,
        "empty": [],
        "bool": True,
        "integer": -(2**53),
        "float": 0.1,
        "dotted.key": "kept",
        "größe": ["ä", "ö"],
    }
    await store.upsert("notes", [Point(uid(1), EAST, payload)])
    (record,) = await store.retrieve("notes", [uid(1)])
    assert record.payload == payload


async def test_changing_a_result_does_not_change_what_is_stored(store: VectorStore) -> None:
    await store.upsert("notes", [point(1, tags=["x"])])
    (record,) = await store.retrieve("notes", [uid(1)])
    record.payload["tags"].append("y")
    assert (await store.retrieve("notes", [uid(1)]))[0].payload == {"tags": ["x"]}


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_collection_that_was_not_ensured_is_missing(bare_store: VectorStore, operation: str) -> None:
    with pytest.raises(MissingCollectionError, match="`notes` does not exist"):
        await OPERATIONS[operation](bare_store)


@pytest.mark.parametrize(
    ("vector", "error", "message"),
    [
        *(([1.0] * length, WrongDimensionError, "4 numbers") for length in (2, 5, 0)),
        *(([number, 0.0, 0.0, 1.0], StorageUnavailableError, "NaN or infinity") for number in (math.nan, math.inf)),
    ],
)
async def test_a_vector_of_another_length_or_with_a_number_that_is_not_finite_is_refused(
    store: VectorStore, vector: list[float], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        await store.search("notes", vector, limit=1)
    with pytest.raises(error, match=message):
        await store.upsert("notes", [point(n) for n in range(300)] + [Point(uid(999), vector, {})])
    assert await store.count("notes") == 0


async def test_an_id_that_is_not_a_uuid_is_refused(store: VectorStore) -> None:
    with pytest.raises(StorageUnavailableError):
        await store.upsert("notes", [Point("first", EAST, {})])
    with pytest.raises(StorageUnavailableError):
        await store.retrieve("notes", ["first"])


async def test_flushing_keeps_what_was_written(store: VectorStore) -> None:
    await store.upsert("notes", [point(1)])
    await store.flush()
    await store.flush()
    assert await store.count("notes") == 1


@pytest.mark.parametrize("operation", OPERATIONS)
async def test_a_closed_store_says_so(store: VectorStore, spec: CollectionSpec, operation: str) -> None:
    await store.close()
    await store.close()
    with pytest.raises(StorageUnavailableError, match="closed"):
        await OPERATIONS[operation](store)
    with pytest.raises(StorageUnavailableError, match="closed"):
        await store.ensure(spec)
    with pytest.raises(StorageUnavailableError, match="closed"):
        await store.flush()
