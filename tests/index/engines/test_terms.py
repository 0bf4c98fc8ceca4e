"""The contract of every `VectorStore` for terms, and for searches among given points."""

import math
import random
from collections.abc import Mapping
from dataclasses import replace

import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.engines.base import CollectionSpec, Filter, Point, SparseVector, VectorStore
from tests.index.engines.points import EAST, NORTH, numbers, uid

LARGEST = 2**32 - 1

Terms = Mapping[int, float]


def sparse(terms: Terms) -> SparseVector:
    return SparseVector(sorted(terms), [terms[index] for index in sorted(terms)])


def query(*indices: int) -> SparseVector:
    return sparse(dict.fromkeys(indices, 1.0))


def point(number: int, terms: Terms | None = None, project: str = "a") -> Point:
    return Point(uid(number), EAST, {"project": project}, sparse(terms) if terms is not None else None)


def bm25(texts: Mapping[int, Terms], wanted: Terms) -> list[tuple[int, float]]:
    """Return every text that shares a term, best first, as the port defines it."""
    rarity = {}
    for term in wanted:
        having = sum(term in terms for terms in texts.values())
        rarity[term] = math.log(1 + (len(texts) - having + 0.5) / (having + 0.5))
    scores = {
        key: sum(wanted[term] * terms[term] * rarity[term] for term in terms.keys() & wanted.keys())
        for key, terms in texts.items()
    }
    return sorted(((key, score) for key, score in scores.items() if score), key=lambda pair: (-pair[1], pair[0]))


async def test_scores_are_bm25_over_the_whole_collection(store: VectorStore) -> None:
    draw = random.Random(5)
    texts = {
        number: {min(int(draw.expovariate(0.1)), LARGEST): draw.uniform(0.1, 3) for _ in range(12)}
        for number in range(300)
    }
    await store.upsert("notes", [point(number, terms) for number, terms in texts.items()])

    for wanted in ({0: 1.0}, {1: 1.0, 8: 1.0, 40: 1.0, 9_999: 1.0}, {3: 0.5, 70: 2.0, LARGEST: 1.0}):
        expected = bm25(texts, wanted)
        hits = await store.search("notes", sparse(wanted), limit=300)
        assert sorted(numbers(hits)) == sorted(key for key, _ in expected)
        assert [hit.score for hit in hits] == pytest.approx([score for _, score in expected], rel=1e-5)
        best = await store.search("notes", sparse(wanted), limit=5)
        assert numbers(best) == numbers(hits)[:5]


async def test_points_that_share_no_term_are_left_out(store: VectorStore) -> None:
    await store.upsert("notes", [point(1, {7: 1.0}), point(2, {8: 1.0}), point(3, {}), point(4)])

    assert numbers(await store.search("notes", query(7, 9), limit=10)) == [1]
    assert await store.search("notes", query(9), limit=10) == []
    assert await store.search("notes", query(), limit=10) == []
    assert numbers(await store.search("notes", EAST, limit=10)) == [1, 2, 3, 4]


async def test_points_without_terms_do_not_affect_the_rarity_of_a_term(store: VectorStore) -> None:
    texts = {1: {7: 1.0}, 2: {8: 1.0}}
    await store.upsert("notes", [point(number, terms) for number, terms in texts.items()])
    await store.upsert("notes", [point(number) for number in range(10, 30)])

    (hit,) = await store.search("notes", query(7), limit=10)

    assert hit.score == pytest.approx(bm25(texts, {7: 1.0})[0][1], rel=1e-5)


async def test_equal_scores_are_ordered_by_id_even_across_the_limit(store: VectorStore) -> None:
    order = random.Random(3).sample(range(60), 60)
    await store.upsert("notes", [point(n, {7: 2.0} if n < 50 else {7: 1.0}) for n in order])

    assert numbers(await store.search("notes", query(7), limit=5)) == [0, 1, 2, 3, 4]
    assert numbers(await store.search("notes", query(7), limit=55)) == list(range(55))


async def test_an_upsert_replaces_the_terms_even_with_none(store: VectorStore) -> None:
    await store.upsert("notes", [point(1, {7: 1.0}), point(2, {7: 1.0})])
    await store.upsert("notes", [point(1, {8: 1.0}), point(2)])

    assert await store.search("notes", query(7), limit=10) == []
    assert numbers(await store.search("notes", query(8), limit=10)) == [1]


async def test_deleted_points_are_not_found(store: VectorStore) -> None:
    await store.upsert("notes", [point(n, {7: 1.0 + n}) for n in range(20)])
    await store.delete("notes", [uid(n) for n in range(5, 20)])

    assert numbers(await store.search("notes", query(7), limit=3)) == [4, 3, 2]


async def test_filters_apply_before_the_best_are_taken_and_leave_the_scores(store: VectorStore) -> None:
    texts = {n: {7: 2.0} for n in range(500)} | {999: {7: 1.0}}
    await store.upsert("notes", [point(n, terms, "b" if n == 999 else "a") for n, terms in texts.items()])

    (hit,) = await store.search("notes", query(7), limit=1, where=Filter(matches=(("project", "b"),)))

    assert numbers([hit]) == [999]
    # An engine computes with 32 bits, and the logarithm of nearly 1 shows it.
    assert hit.score == pytest.approx(dict(bm25(texts, {7: 1.0}))[999], rel=1e-3)


async def test_only_the_given_points_are_searched(store: VectorStore) -> None:
    await store.upsert(
        "notes",
        [replace(point(n, {7: 1.0 + n, 8: 1.0}, "ab"[n % 2]), vector=[1.0, n / 10, 0.0, 0.0]) for n in range(30)],
    )
    ids = [uid(n) for n in (25, 3, 12, 4, 700, 3)]
    in_b = Filter(matches=(("project", "b"),))

    near = await store.search("notes", EAST, limit=10, ids=ids)
    assert numbers(near) == [3, 4, 12, 25]
    everything = {hit.id: hit.score for hit in await store.search("notes", EAST, limit=30)}
    assert [hit.score for hit in near] == pytest.approx([everything[hit.id] for hit in near], abs=1e-6)
    assert numbers(await store.search("notes", EAST, limit=2, ids=ids)) == [3, 4]
    assert numbers(await store.search("notes", EAST, limit=10, ids=set(ids), where=in_b)) == [3, 25]
    assert await store.search("notes", EAST, limit=10, ids=[]) == []

    worded = await store.search("notes", query(7), limit=10, ids=ids)
    assert numbers(worded) == [25, 12, 4, 3]
    scores = {hit.id: hit.score for hit in await store.search("notes", query(7), limit=30)}
    assert [hit.score for hit in worded] == pytest.approx([scores[hit.id] for hit in worded], rel=1e-6)
    assert numbers(await store.search("notes", query(7), limit=10, ids=ids, where=in_b)) == [25, 3]
    assert await store.search("notes", query(7), limit=10, ids=[]) == []


async def test_an_id_that_is_not_a_uuid_is_refused(store: VectorStore) -> None:
    for asked in (EAST, query(7)):
        with pytest.raises(StorageUnavailableError):
            await store.search("notes", asked, limit=1, ids=["first"])


async def test_a_rebuilt_collection_has_its_terms(store: VectorStore, spec: CollectionSpec) -> None:
    rebuild = await store.rebuild(spec, resume=False)
    await rebuild.upsert([point(1, {7: 1.0})])
    await rebuild.finish([uid(1)])

    assert numbers(await store.search("notes", query(7), limit=1)) == [1]


@pytest.mark.parametrize(
    "terms",
    [
        SparseVector([7, 7], [1.0, 1.0]),
        SparseVector([8, 7], [1.0, 1.0]),
        SparseVector([-1], [1.0]),
        SparseVector([2**32], [1.0]),
        SparseVector([7], []),
        SparseVector([7], [0.0]),
        SparseVector([7], [-1.0]),
        SparseVector([7], [math.nan]),
        SparseVector([7], [math.inf]),
    ],
)
async def test_invalid_terms_are_refused_and_not_written(store: VectorStore, terms: SparseVector) -> None:
    with pytest.raises(StorageUnavailableError):
        await store.search("notes", terms, limit=1)
    with pytest.raises(StorageUnavailableError):
        await store.upsert("notes", [point(1), Point(uid(2), NORTH, {}, terms)])
    assert await store.count("notes") == 0
