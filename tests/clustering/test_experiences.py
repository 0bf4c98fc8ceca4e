from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.clustering.clusterer import Clusterer
from learning_memory_server.clustering.experiences import ExperienceClusterer
from learning_memory_server.clustering.fitting import fit
from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.errors import InsufficientDataError, NotFoundError, StorageUnavailableError
from tests.support import TOPICS, about, full_ghap, numbered, open_memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from learning_memory_server.clustering.experiences import AxisClusters
    from learning_memory_server.clustering.fitting import Fit, FitRequest
    from learning_memory_server.domain.ghap import Ghap
    from tests.support import Memory

MINIMUM = 12


class Learning:
    """A running memory and the clusters over it."""

    def __init__(self, memory: Memory, min_cluster_size: int | None) -> None:
        self.memory = memory
        self.runs = 0
        self._size = min_cluster_size
        self.clusterer = ExperienceClusterer(
            memory.index,
            memory.writer,
            memory.collector,
            self,
            memory.journal.clusters,
            memory.clock,
            MINIMUM,
        )

    async def clusters(self, axis: Axis = Axis.FULL) -> AxisClusters:
        return await self.clusterer.cluster_axis(axis)

    async def fit(self, request: FitRequest) -> Fit:
        self.runs += 1
        return fit(request, Clusterer(self._size))


@asynccontextmanager
async def learning(
    path: Path, *entries: Ghap, min_cluster_size: int | None = None
) -> AsyncIterator[Learning]:
    async with open_memory(path) as memory, memory.running():
        await memory.writer.settle()
        await memory.learn(*entries)
        yield Learning(memory, min_cluster_size)


def entries_about(topic: str, numbers: Sequence[int]) -> list[Ghap]:
    return [about(topic, number) for number in numbers]


POOL = entries_about("pool", range(10))
CACHE = entries_about("cache", range(10, 18))
TYPES = entries_about("types", range(18, 24))
ALL = [*POOL, *CACHE, *TYPES]


def named(found: AxisClusters) -> dict[str, set[str]]:
    return {str(cluster.id): {entry.id for entry in cluster.members} for cluster in found.clusters}


def ids(entries: Sequence[Ghap]) -> set[str]:
    return {entry.id for entry in entries}


async def test_the_topics_are_found_largest_first_and_named_by_their_words(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        found = await each.clusters()

    assert named(found) == {"full_0": ids(POOL), "full_1": ids(CACHE), "full_2": ids(TYPES)}
    assert (found.axis, found.total, found.noise_count, found.explanation) == (Axis.FULL, 24, 0, None)
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


async def test_clusters_are_computed_once_until_the_collection_changes(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        first = await each.clusters()
        assert await each.clusters() is first
        await each.clusters(Axis.STRATEGY)
        assert await each.clusters() is first
        assert each.runs == 2

        await each.memory.learn(about("pool", 90))
        second = await each.clusters()

        assert second is not first
        assert second.total == 25
        assert each.runs == 3


async def test_a_pending_entry_is_no_member_until_it_is_indexed(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        each.memory.collector.add_resolved([about("pool", 90)])
        assert (await each.clusters()).total == 24

        await each.memory.writer.find_pending()
        await each.memory.writer.catch_up()
        assert (await each.clusters()).total == 25


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
    with pytest.raises(NotFoundError, match=r"full_9 .* full_0, full_1, full_2") as caught:
        found.get(ClusterId(Axis.FULL, 9))
    assert caught.value.hint == "Call get_clusters with axis full."


async def test_without_an_engine_there_are_no_clusters_but_a_clear_error(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        each.memory.store.down = StorageUnavailableError("The engine is down.")

        with pytest.raises(StorageUnavailableError, match="engine is down"):
            await each.clusters()
        each.memory.store.down = None
        assert len((await each.clusters()).clusters) == 3
