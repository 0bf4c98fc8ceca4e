"""When an axis is fitted, who waits for it, and what is shown meanwhile."""

import asyncio
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.errors import LearningMemoryError, NoAnswerError
from learning_memory_server.index.document import Collection
from learning_memory_server.lessons.clusters.clusterer import LiveAxis
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.system.waiting import Budget
from tests.lessons.clusters.parts import ALL, TYPES, Learning, entries_about, ids, learning, named
from tests.support import MINUTES, about


async def test_vectors_that_a_server_gives_late_are_read_without_the_caller(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL) as each:
        given, read = asyncio.Event(), each.parts.index.vectors

        async def late(collection: Collection) -> dict[str, NDArray[np.float32]]:
            await given.wait()
            return await read(collection)

        each.parts.index.vectors = late  # type: ignore[method-assign]
        async with asyncio.timeout(MINUTES):
            for _ in range(2):
                with pytest.raises(NoAnswerError, match="in time"):
                    await each.clusterer.cluster_axis(Axis.FULL, budget=Budget(index=0.05))
        given.set()
        assert (await each.clusters()).total == 24
        assert each.runs == 1


@pytest.mark.slow
async def test_clusters_are_computed_once_until_experiences_change(each: Learning) -> None:
    first = await each.clusters()
    assert await each.clusters() is first
    await each.clusters(Axis.STRATEGY)
    assert await each.clusters() is first
    assert each.runs == 2

    newcomer = about("types", 90)
    await each.parts.learn(newcomer)
    second = await each.clusters()

    assert (second.total, second.noise, second.stale) == (25, (), 0)
    assert named(second) == {**named(first), "full_2": ids([*TYPES, newcomer])}
    assert second.fitted_at > first.fitted_at
    assert each.runs == 3


@pytest.mark.slow
async def test_a_large_store_gets_the_last_fit_while_a_new_one_runs(tmp_path: Path) -> None:
    async with learning(tmp_path, *ALL, waited_for=20) as each:
        first = await each.clusters()
        gone = first.clusters[0].exemplars[0]
        each.hold()
        await each.parts.learn(*entries_about("pool", range(90, 94)))
        each.parts.collector.forget([gone.id], each.parts.clock())
        second = await each.clusters()

        assert (second.fitted_at, second.stale, second.total) == (first.fitted_at, 5, 23)
        assert gone.id not in ids(second.clusters[0].members)
        assert gone not in second.clusters[0].exemplars
        await each.entered.wait()
        # Another question does not start a second one.
        assert (await each.clusters()).stale == 5
        assert each.runs == 2

        each.gate.set()
        while (third := await each.clusters()).stale:
            pass
        assert (third.stale, third.total, each.runs) == (0, 27, 2)
        assert third.fitted_at > first.fitted_at


@pytest.mark.slow
async def test_a_fit_that_ends_while_the_last_one_is_shown_does_not_make_that_one_fresh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with learning(tmp_path, *ALL, waited_for=20) as each:
        first = await each.clusters()
        await each.parts.learn(*entries_about("pool", range(90, 94)))
        read = LiveAxis.entries

        async def late(axis: LiveAxis) -> dict[str, Ghap]:
            assert axis._running
            await asyncio.wait([axis._running])
            return await read(axis)

        monkeypatch.setattr(LiveAxis, "entries", late)
        second = await each.clusters()
        assert (second.fitted_at, second.stale) == (first.fitted_at, 4)
        assert (await each.clusters()).stale == 0


@pytest.mark.slow
async def test_axes_take_turns(each: Learning) -> None:
    each.hold()
    both = asyncio.gather(each.clusters(Axis.FULL), each.clusters(Axis.STRATEGY))
    await each.entered.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert each.runs == 1

    each.gate.set()
    await both
    assert each.runs == 2


@pytest.mark.slow
async def test_a_question_that_is_cancelled_leaves_its_fit_to_others(each: Learning) -> None:
    each.hold()
    first, second = (asyncio.create_task(each.clusters()) for _ in range(2))
    await each.entered.wait()
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    each.gate.set()

    assert (await second).total == 24
    assert each.runs == 1


@pytest.mark.slow
async def test_after_a_failed_fit_the_last_one_is_shown(each: Learning) -> None:
    first = await each.clusters()
    each.down = LearningMemoryError("The clustering failed.")
    await each.parts.learn(*entries_about("pool", range(90, 95)))
    found = await each.clusters()
    assert (found.fitted_at, found.stale) == (first.fitted_at, 5)

    each.down = None
    assert (await each.clusters()).stale == 0


async def test_a_first_fit_that_fails_is_an_error(each: Learning) -> None:
    each.down = LearningMemoryError("The clustering failed.")
    with pytest.raises(LearningMemoryError, match="clustering failed"):
        await each.clusters()


@pytest.mark.slow
async def test_closing_cancels_a_running_fit(each: Learning) -> None:
    each.hold()
    question = asyncio.create_task(each.clusters())
    await each.entered.wait()

    await each.clusterer.close()

    assert question.cancelled() or isinstance(
        (await asyncio.gather(question, return_exceptions=True))[0], asyncio.CancelledError
    )
    assert (await each.parts.index.embeddings.identity()).dimension
