import random
from dataclasses import replace
from pathlib import Path

import pytest

from learning_memory_server.errors import InsufficientDataError, NotFoundError, StorageUnavailableError
from learning_memory_server.lessons.clusters.clusters import AxisClusters
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.value import ClusterId
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, RootCauseCategory, Strategy
from tests.lessons.clusters.parts import ALL, CACHE, POOL, TYPES, Learning, entries_about, ids, learning, named
from tests.support import TOPICS, about, full_ghap, numbered


@pytest.mark.slow
async def test_topics_are_found_largest_first_and_labelled_with_their_words(each: Learning) -> None:
    found = await each.clusters()

    assert named(found) == {"full_0": ids(POOL), "full_1": ids(CACHE), "full_2": ids(TYPES)}
    assert (found.axis, found.total, found.noise, found.explanation) == (Axis.FULL, 24, (), None)
    assert found.stale == 0
    for cluster, topic in zip(found.clusters, TOPICS, strict=True):
        label = set(cluster.label.replace(",", "").split())
        assert label & set(TOPICS[topic].split())
        assert not label & set(" ".join(TOPICS[other] for other in TOPICS if other != topic).split())
        assert len(cluster.exemplars) == 3
        assert set(cluster.exemplars) <= set(cluster.members)
        assert cluster.mean_weight == pytest.approx(1.0)
        assert cluster.evidence.name == str(cluster.id)
        assert len(cluster.evidence.sample) == len(cluster.members)


async def test_too_few_experiences_are_reported_with_both_numbers(tmp_path: Path) -> None:
    async with learning(tmp_path, *POOL, CACHE[0]) as each:
        with pytest.raises(InsufficientDataError, match=r"\b11\b.*\b12\b") as caught:
            await each.clusters()
        assert "full" in caught.value.message
        assert caught.value.hint
        assert each.runs == 0

        await each.parts.learn(CACHE[1])
        assert (await each.clusters()).total == 12


@pytest.mark.slow
async def test_experiences_are_counted_per_axis(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL, full_ghap()) as each:
        for axis in (Axis.SURPRISE, Axis.ROOT_CAUSE):
            with pytest.raises(InsufficientDataError, match=r"\b1\b.*\b12\b") as caught:
                await each.clusters(axis)
            assert axis in caught.value.message
        assert (await each.clusters(Axis.STRATEGY)).total == 25


@pytest.mark.slow
async def test_by_default_root_causes_and_surprises_need_eight_experiences_and_the_others_twenty(
    tmp_path: Path,
) -> None:
    async with learning(
        tmp_path, *(replace(full_ghap(), id=f"ghap_20260101_000000_{number:06}") for number in range(7)), minimum=None
    ) as each:
        for axis, least in zip(Axis, (20, 20, 8, 8), strict=True):
            with pytest.raises(InsufficientDataError, match=rf"has 7 of the {least} experiences"):
                await each.clusters(axis)


@pytest.mark.slow
async def test_a_root_cause_is_compared_together_with_its_surprise_if_it_has_one(tmp_path: Path) -> None:
    entries = [replace(full_ghap(), id=f"ghap_20260101_000000_{number:06}") for number in range(12)]
    without = {entry.id for entry in entries[:2]}
    entries[:2] = [replace(entry, resolution=replace(entry.outcome, surprise=None)) for entry in entries[:2]]
    async with learning(tmp_path, *entries) as each:
        await each.clusters(Axis.ROOT_CAUSE)
        [request] = each.requests

    strategies, stories, surprises = request.apart
    assert len(request.ids) == len(strategies) == len(stories) == len(surprises) == 12
    assert {name for name, row in zip(request.ids, surprises, strict=True) if not row.any()} == without


@pytest.mark.slow
async def test_labels_have_no_values_of_fields(each: Learning) -> None:
    for axis in (Axis.FULL, Axis.STRATEGY):
        await each.clusters(axis)
    values = {*map(str, Domain), *map(str, Strategy), *map(str, OutcomeStatus), *map(str, RootCauseCategory)}
    texts = [text for request in each.requests for text in request.texts]
    assert len(texts) == 48
    assert not any(line.partition(":")[0] in values for text in texts for line in text.splitlines())


async def test_an_empty_store_has_no_experiences(tmp_path: Path) -> None:
    async with learning(tmp_path) as each:
        with pytest.raises(InsufficientDataError, match=r"\b0\b.*\b12\b"):
            await each.clusters()


async def test_an_answer_without_clusters_explains_itself(tmp_path: Path) -> None:
    lone = [
        numbered(n, **{part: f"{part}{n} x{n} y{n} z{n}" for part in ("goal", "hypothesis", "action", "prediction")})
        for n in range(15)
    ]
    async with learning(tmp_path, *lone, min_cluster_size=30) as each:
        found = await each.clusters()

    assert (found.clusters, len(found.noise), found.total) == ((), 15, 15)
    assert found.explanation
    assert "15" in found.explanation


@pytest.mark.slow
async def test_the_same_experiences_give_the_same_clusters_whatever_their_order(tmp_path: Path) -> None:
    shuffled = random.Random(3).sample(ALL, len(ALL))
    async with learning(tmp_path / "one", *ALL) as each:
        at_once = await each.clusters()
    async with learning(tmp_path / "other", *shuffled[:12]) as each:
        for entry in shuffled[12:]:
            await each.parts.learn(entry)
            one_by_one = await each.clusters()

    def content(found: AxisClusters) -> set[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        return {
            (
                cluster.label,
                tuple(entry.id for entry in cluster.members),
                tuple(entry.id for entry in cluster.exemplars),
            )
            for cluster in found.clusters
        }

    assert content(one_by_one) == content(at_once)


async def test_an_experience_unlike_all_others_is_noise(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL, numbered(90)) as each:
        found = await each.clusters()

        assert (found.total, found.noise) == (25, (numbered(90),))
        assert len(found.clusters) == 3


@pytest.mark.slow
async def test_a_project_has_clusters_and_ids_of_its_own(tmp_path: Path) -> None:
    def of(project: str, entries: list[Ghap]) -> list[Ghap]:
        return [replace(entry, project=project) for entry in entries]

    async with learning(tmp_path, *of("a", [*POOL, *CACHE[:4]]), *of("b", [*CACHE[4:], *TYPES])) as each:
        everywhere = await each.clusters()
        found = await each.clusterer.cluster_axis(Axis.FULL, "a")
        assert named(found) == {"full_3": ids(POOL), "full_4": ids(CACHE[:4])}
        assert found.total == 14
        with pytest.raises(InsufficientDataError, match=r"has 10 of the 12 experiences of project b that"):
            await each.clusterer.cluster_axis(Axis.FULL, "b")

        assert await each.clusterer.clusters_with(ClusterId(Axis.FULL, 4)) is found
        assert await each.clusterer.clusters_with(ClusterId(Axis.FULL, 1)) is everywhere
        assert await each.clusterer.clusters_with(ClusterId(Axis.FULL, 99)) is everywhere

    async with learning(tmp_path) as each:
        assert named(await each.clusterer.clusters_with(ClusterId(Axis.FULL, 3))) == named(found)
        assert named(await each.clusters()) == named(everywhere)


async def test_a_pending_entry_is_not_a_member_until_it_is_indexed(each: Learning) -> None:
    await each.clusters()
    each.parts.collector.add_resolved([about("pool", 90)])
    assert (await each.clusters()).total == 24

    await each.parts.writer.find_pending()
    await each.parts.writer.reconciler.catch_up()
    assert (await each.clusters()).total == 25


async def test_an_axis_that_shrinks_below_the_minimum_loses_its_clusters(tmp_path: Path) -> None:
    async with learning(tmp_path, *POOL, *CACHE) as each:
        await each.clusters()
        await each.forget([*POOL[3:], *CACHE[6:]])
        with pytest.raises(InsufficientDataError, match=r"\b9\b.*\b12\b"):
            await each.clusters()


@pytest.mark.slow
async def test_ids_stay_with_their_members_when_sizes_change(each: Learning) -> None:
    await each.clusters()
    more = entries_about("types", range(30, 42))
    await each.parts.learn(*more)
    found = await each.clusters()

    assert named(found) == {"full_2": ids(TYPES) | ids(more), "full_0": ids(POOL), "full_1": ids(CACHE)}
    assert [str(cluster.id) for cluster in found.clusters] == ["full_2", "full_0", "full_1"]


@pytest.mark.slow
async def test_ids_survive_a_restart(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters()
        await each.parts.learn(*entries_about("types", range(30, 42)))
        before = named(await each.clusters())
        size = each.parts.journal.size()

    async with learning(tmp_path) as each:
        assert named(await each.clusters()) == before
        assert each.parts.journal.size() == size


@pytest.mark.slow
async def test_an_id_is_never_reused(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL, min_cluster_size=4) as each:
        assert set(named(await each.clusters())) == {"full_0", "full_1", "full_2"}
    async with learning(tmp_path, min_cluster_size=7) as each:
        assert set(named(await each.clusters())) == {"full_0", "full_1"}
    async with learning(tmp_path, min_cluster_size=4) as each:
        found = named(await each.clusters())

    assert found == {"full_0": ids(POOL), "full_1": ids(CACHE), "full_3": ids(TYPES)}


@pytest.mark.slow
async def test_each_axis_has_its_own_numbers(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        await each.clusters(Axis.FULL)
        assert set(named(await each.clusters(Axis.STRATEGY))) == {"strategy_0", "strategy_1", "strategy_2"}

    async with learning(tmp_path, about("pool", 50)) as each:
        assert "full_0" in named(await each.clusters(Axis.FULL))
        assert "strategy_0" in named(await each.clusters(Axis.STRATEGY))
        assert {record.id for record in each.parts.journal.clusters.read().records} == {"full", "strategy"}


async def test_an_unknown_cluster_is_answered_with_the_existing_ones(each: Learning) -> None:
    found = await each.clusters()

    assert found.get(ClusterId(Axis.FULL, 1)) is found.clusters[1]
    with pytest.raises(NotFoundError, match=r"never been a cluster full_9; .* full_0, full_1, full_2") as caught:
        found.get(ClusterId(Axis.FULL, 9))
    assert caught.value.hint == "Call get_clusters with axis full."


async def test_without_an_engine_clustering_is_a_clear_error(each: Learning) -> None:
    each.parts.store.down = StorageUnavailableError("The engine is down.")

    with pytest.raises(StorageUnavailableError, match="engine is down"):
        await each.clusters()
    each.parts.store.down = None
    assert len((await each.clusters()).clusters) == 3
