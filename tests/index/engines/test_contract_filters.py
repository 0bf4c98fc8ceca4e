from datetime import datetime, timedelta, timezone

import pytest

from learning_memory_server.index.engines.base import Filter, TimeRange, VectorStore
from tests.index.engines.points import EAST, NOON, ids_where, numbers, point

A, B, X, Y, Z = ("project", "a"), ("project", "b"), ("tags", "x"), ("tags", "y"), ("tags", "z")
POINTS = [
    point(1, project="a", tags=["x", "y"]),
    point(2, project="a", tags=["y"], created_at=NOON.isoformat()),
    point(3, project="b", tags=["x"]),
    point(4),
    point(5, project="A", tags=[]),
    point(6, project="b", tags=["x", "y"]),
]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        pytest.param(Filter(), [1, 2, 3, 4, 5, 6], id="no condition"),
        pytest.param(Filter((A,)), [1, 2], id="a field"),
        pytest.param(Filter((Y,)), [1, 2, 6], id="any item of a list"),
        pytest.param(Filter((Z,)), [], id="what no point has"),
        pytest.param(Filter((X, Y)), [1, 6], id="two items"),
        pytest.param(Filter((X, Y, A)), [1], id="two items and a field"),
        pytest.param(Filter(without=(A,)), [3, 4, 5, 6], id="without a field"),
        pytest.param(Filter(without=(A, B)), [4, 5], id="without either"),
        pytest.param(Filter(without=(X,)), [2, 4, 5], id="without an item"),
        pytest.param(Filter(without=(Z,)), [1, 2, 3, 4, 5, 6], id="without what no point has"),
        pytest.param(Filter((A,), without=(X,)), [2], id="a field without an item"),
        pytest.param(Filter((A,), without=(A,)), [], id="a contradiction"),
        pytest.param(Filter(times=(TimeRange("created_at", NOON),), without=(B,)), [2], id="a time without a field"),
    ],
)
async def test_all_that_matches_and_is_not_excluded_is_found(
    store: VectorStore, where: Filter, expected: list[int]
) -> None:
    await store.upsert("notes", POINTS)
    assert await ids_where(store, where) == expected


async def test_time_ranges_include_both_bounds_to_the_microsecond(store: VectorStore) -> None:
    tick = timedelta(microseconds=1)
    times = [NOON - tick, NOON, NOON + timedelta(hours=1), NOON + timedelta(hours=1) + tick]
    await store.upsert("notes", [point(n, created_at=time.isoformat()) for n, time in enumerate(times)])
    end = NOON + timedelta(hours=1)

    async def within(start: datetime | None, end: datetime | None) -> list[int]:
        return await ids_where(store, Filter(times=(TimeRange("created_at", start, end),)))

    assert await within(NOON, None) == [1, 2, 3]
    assert await within(None, end) == [0, 1, 2]
    assert await within(NOON, end) == [1, 2]
    assert await within(NOON, NOON) == [1]
    assert await within(None, None) == [0, 1, 2, 3]


async def test_time_ranges_compare_moments_not_texts(store: VectorStore) -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    await store.upsert("notes", [point(1, created_at=NOON.astimezone(zone).isoformat())])
    elsewhere = NOON.astimezone(timezone(timedelta(hours=-8)))
    where = Filter(times=(TimeRange("created_at", elsewhere, elsewhere),))
    assert await ids_where(store, where) == [1]


async def test_matches_and_several_ranges_hold_together(store: VectorStore) -> None:
    early, late = (NOON - timedelta(days=9)).isoformat(), NOON.isoformat()
    await store.upsert(
        "notes",
        [
            point(1, project="a", created_at=late, seen_at=late),
            point(2, project="a", created_at=late, seen_at=early),
            point(3, project="b", created_at=late, seen_at=late),
            point(4, project="a", created_at=early, seen_at=late),
            point(5, project="a", created_at=late),
        ],
    )
    times = (TimeRange("created_at", start=NOON), TimeRange("seen_at", start=NOON))
    assert await ids_where(store, Filter(matches=(("project", "a"),), times=times)) == [1]


@pytest.mark.parametrize(
    "where",
    [Filter(matches=(("project", "b"),)), Filter(without=(("project", "a"),))],
    ids=["only the worst", "none of the better ones"],
)
async def test_filters_apply_before_the_best_are_taken(store: VectorStore, where: Filter) -> None:
    better = [point(n, EAST, project="a") for n in range(500)]
    await store.upsert("notes", [*better, point(999, [-1.0, 0.0, 0.0, 0.0], project="b")])
    hits = await store.search("notes", EAST, limit=5, where=where)
    assert numbers(hits) == [999]
    assert hits[0].score == pytest.approx(-1.0)
