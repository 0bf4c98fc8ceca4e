from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.errors import (
    InsufficientDataError,
    LearningMemoryError,
    NotFoundError,
    StorageUnavailableError,
)
from tests.clustering.parts import ALL, CACHE, POOL, TYPES, entries_about, ids, learning, named
from tests.fast_forward import fast_forward
from tests.support import TOPICS, about, full_ghap, numbered

if TYPE_CHECKING:
    from pathlib import Path


async def test_the_topics_are_found_largest_first_and_named_by_their_words(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        found = await each.clusters()

    assert named(found) == {"full_0": ids(POOL), "full_1": ids(CACHE), "full_2": ids(TYPES)}
    assert (found.axis, found.total, found.noise_count, found.explanation) == (Axis.FULL, 24, 0, None)
    assert found.placed_since == 0
    for cluster, topic in zip(found.clusters, TOPICS, strict=True):
        label = set(cluster.label.replace(",", "").split())
        assert label & set(TOPICS[topic].split())
        assert not label & set(" ".join(TOPICS[other] for other in TOPICS if other != topic).split())
        assert len(cluster.exemplars) == 3
        assert set(cluster.exemplars) <= set(cluster.members)
        assert cluster.mean_weight == pytest.approx(1.0)
        assert cluster.evidence.name == str(cluster.id)
        assert cluster.evidence.size == len(cluster.members)


async def test_too_few_experiences_is_an_answer_with_both_numbers(tmp_path: Path) -> None:
    async with learning(tmp_path, *POOL, CACHE[0]) as each:
        with pytest.raises(InsufficientDataError, match=r"\b11\b.*\b12\b") as caught:
            await each.clusters()
        assert "full" in caught.value.message
        assert caught.value.hint
        assert each.runs == 0

        await each.memory.learn(CACHE[1])
        assert (await each.clusters()).total == 12


async def test_the_count_is_that_of_the_axis(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL, full_ghap()) as each:
        for axis in (Axis.SURPRISE, Axis.ROOT_CAUSE):
            with pytest.raises(InsufficientDataError, match=r"\b1\b.*\b12\b") as caught:
                await each.clusters(axis)
            assert axis in caught.value.message
        assert (await each.clusters(Axis.STRATEGY)).total == 25


async def test_an_empty_store_has_no_experiences(tmp_path: Path) -> None:
    async with learning(tmp_path) as each:
        with pytest.raises(InsufficientDataError, match=r"\b0\b.*\b12\b"):
            await each.clusters()


async def test_no_cluster_is_an_answer_that_explains_itself(tmp_path: Path) -> None:
    lone = [
        numbered(
            n,
            **{part: f"{part}{n} x{n} y{n} z{n}" for part in ("goal", "hypothesis", "action", "prediction")},
        )
        for n in range(15)
    ]
    async with learning(tmp_path, *lone, min_cluster_size=30) as each:
        found = await each.clusters()

    assert (found.clusters, found.noise_count, found.total) == ((), 15, 15)
    assert found.explanation
    assert "15" in found.explanation


async def test_clusters_are_computed_once_and_a_newcomer_is_placed_without_a_fit(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        first = await each.clusters()
        assert await each.clusters() is first
        await each.clusters(Axis.STRATEGY)
        assert await each.clusters() is first
        assert each.runs == 2

        newcomer = about("types", 90)
        await each.memory.learn(newcomer)
        second = await each.clusters()

        assert (second.total, second.noise_count, second.placed_since) == (25, 0, 1)
        assert named(second) == {**named(first), "full_2": ids([*TYPES, newcomer])}
        assert second.fitted_at == first.fitted_at
        # What has not changed is not put together again.
        assert second.clusters[0] is first.clusters[0]
        assert each.runs == 2
        assert not each.clusterer.is_refitting(Axis.FULL)


async def test_a_newcomer_unlike_all_clusters_is_in_none(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters()
        await each.memory.learn(numbered(90))
        found = await each.clusters()

        assert (found.total, found.noise_count, found.placed_since) == (25, 1, 1)
        assert len(found.clusters) == 3


async def test_a_pending_entry_is_no_member_until_it_is_indexed(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters()
        each.memory.collector.add_resolved([about("pool", 90)])
        assert (await each.clusters()).total == 24

        await each.memory.writer.find_pending()
        await each.memory.writer.catch_up()
        assert (await each.clusters()).total == 25


async def test_enough_newcomers_make_a_new_fit_due_that_nobody_waits_for(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        first = await each.clusters()
        each.hold()
        await each.memory.learn(*entries_about("pool", range(90, 94)))
        await each.clusters()
        assert not each.clusterer.is_refitting(Axis.FULL)

        await each.memory.learn(about("pool", 94))
        second = await each.clusters()
        assert (second.placed_since, second.fitted_at) == (5, first.fitted_at)
        assert each.clusterer.is_refitting(Axis.FULL)
        await each.entered.wait()
        # Another call starts no second one.
        assert await each.clusters() is second

        each.gate.set()
        await each.clusterer.settled()
        third = await each.clusters()
        assert (third.placed_since, each.runs) == (0, 2)
        assert third.fitted_at > first.fitted_at
        assert named(third) == named(second)


async def test_axes_take_turns(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters(Axis.FULL)
        await each.clusters(Axis.STRATEGY)
        each.hold()
        await each.memory.learn(*entries_about("pool", range(90, 95)))
        await each.clusters(Axis.FULL)
        await each.clusters(Axis.STRATEGY)
        await each.entered.wait()
        assert each.clusterer.is_refitting(Axis.FULL)
        assert each.clusterer.is_refitting(Axis.STRATEGY)
        assert each.runs == 3

        each.gate.set()
        await each.clusterer.settled()
        assert each.runs == 4


async def test_a_store_that_has_outgrown_its_fit_gets_a_new_one_at_once(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters()
        await each.memory.learn(*entries_about("types", range(30, 42)))
        found = await each.clusters()

        assert (found.total, found.placed_since, each.runs) == (36, 0, 2)
        assert len(each.requests[1].ids) == 36


async def test_a_fit_that_fails_leaves_the_last_one_and_is_not_tried_again_before_something_changes(
    tmp_path: Path,
) -> None:
    async with learning(tmp_path, *ALL) as each:
        first = await each.clusters()
        each.down = LearningMemoryError("The clustering failed.")
        await each.memory.learn(*entries_about("pool", range(90, 95)))
        found = await each.refitted()
        assert (found.fitted_at, found.placed_since, each.runs) == (first.fitted_at, 5, 2)
        assert not each.clusterer.is_refitting(Axis.FULL)

        await each.memory.learn(*entries_about("cache", range(100, 112)))
        found = await each.refitted()
        assert (found.fitted_at, found.placed_since, each.runs) == (first.fitted_at, 17, 3)

        each.down = None
        await each.memory.learn(about("pool", 120))
        assert (await each.refitted()).placed_since == 0


async def test_what_is_forgotten_is_gone_from_the_answers_at_once_and_then_from_the_fit(
    tmp_path: Path,
) -> None:
    async with learning(tmp_path, *ALL) as each:
        first = await each.clusters()
        gone = first.clusters[0].exemplars[0]
        each.hold()
        each.memory.collector.forget([gone.id], each.memory.clock())
        found = await each.clusters()

        assert (found.total, found.noise_count) == (23, 0)
        assert gone.id not in ids(found.clusters[0].members)
        assert gone not in found.clusters[0].exemplars
        assert len(found.clusters[0].exemplars) == 3
        assert each.clusterer.is_refitting(Axis.FULL)

        each.gate.set()
        await each.clusterer.settled()
        assert gone.id not in each.requests[-1].ids
        assert (await each.clusters()).fitted_at > first.fitted_at
        assert not each.clusterer.is_refitting(Axis.FULL)
        assert gone.id.encode() not in (each.directory / "full.fit").read_bytes()


async def test_an_axis_that_shrinks_below_the_minimum_has_no_clusters_any_more(tmp_path: Path) -> None:
    async with learning(tmp_path, *POOL, *CACHE) as each:
        await each.clusters()
        await each.forget([*POOL[3:], *CACHE[6:]])
        with pytest.raises(InsufficientDataError, match=r"\b9\b.*\b12\b"):
            await each.clusters()
        assert not (each.directory / "full.fit").exists()


async def test_ids_stay_with_their_members_when_sizes_change(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters()
        more = entries_about("types", range(30, 42))
        await each.memory.learn(*more)
        found = await each.clusters()

    assert named(found) == {
        "full_2": ids(TYPES) | ids(more),
        "full_0": ids(POOL),
        "full_1": ids(CACHE),
    }
    assert [str(cluster.id) for cluster in found.clusters] == ["full_2", "full_0", "full_1"]


async def test_ids_stay_over_a_restart(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters()
        await each.memory.learn(*entries_about("types", range(30, 42)))
        before = named(await each.clusters())
        size = each.memory.journal.size()

    async with learning(tmp_path) as each:
        assert named(await each.clusters()) == before
        assert each.memory.journal.size() == size
        assert each.runs == 0


async def test_an_id_is_never_given_twice(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL, min_cluster_size=4) as each:
        assert set(named(await each.clusters())) == {"full_0", "full_1", "full_2"}
    async with learning(tmp_path, min_cluster_size=7) as each:
        assert set(named(await each.clusters())) == {"full_0", "full_1"}
    async with learning(tmp_path, min_cluster_size=4) as each:
        found = named(await each.clusters())

    assert found == {"full_0": ids(POOL), "full_1": ids(CACHE), "full_3": ids(TYPES)}


async def test_axes_are_numbered_by_themselves(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters(Axis.FULL)
        assert set(named(await each.clusters(Axis.STRATEGY))) == {"strategy_0", "strategy_1", "strategy_2"}

    async with learning(tmp_path, about("pool", 50)) as each:
        assert "full_0" in named(await each.clusters(Axis.FULL))
        assert "strategy_0" in named(await each.clusters(Axis.STRATEGY))
        assert {record.id for record in each.memory.journal.clusters.read().records} == {"full", "strategy"}


async def test_a_cluster_that_is_not_there_is_answered_with_those_that_are(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        found = await each.clusters()

    assert found.get(ClusterId(Axis.FULL, 1)) is found.clusters[1]
    with pytest.raises(
        NotFoundError, match=r"never been a cluster full_9; .* full_0, full_1, full_2"
    ) as caught:
        found.get(ClusterId(Axis.FULL, 9))
    assert caught.value.hint == "Call get_clusters with axis full."


async def test_without_an_engine_there_are_no_clusters_but_a_clear_error(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        each.memory.store.down = StorageUnavailableError("The engine is down.")

        with pytest.raises(StorageUnavailableError, match="engine is down"):
            await each.clusters()
        each.memory.store.down = None
        assert len((await each.clusters()).clusters) == 3


def test_new_fits_are_made_as_they_become_due_though_nobody_asks(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with learning(tmp_path, *ALL) as each:
            await each.clusters()
            await each.clusters(Axis.STRATEGY)
            looking = asyncio.create_task(each.clusterer.run())
            await each.memory.learn(*entries_about("pool", range(90, 95)))
            while each.runs < 4:  # noqa: ASYNC110 - that is what is tested: it happens by itself
                await asyncio.sleep(1)
            await each.clusterer.settled()
            assert (await each.clusters()).placed_since == 0
            assert each.runs == 4
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    fast_forward(scenario())


async def test_a_fit_that_is_being_made_ends_with_the_memory(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters()
        each.hold()
        await each.memory.learn(*entries_about("pool", range(90, 95)))
        await each.clusters()
        await each.entered.wait()

        await each.clusterer.close()

        assert not each.clusterer.is_refitting(Axis.FULL)
        assert (await each.memory.index.identity()).dimension
