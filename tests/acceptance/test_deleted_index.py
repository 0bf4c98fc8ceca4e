import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest

from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.server.composition.services import Services
from tests.services import opened
from tests.support import MINUTES, keeping_up, numbered

pytestmark = pytest.mark.slow


COUNT = 1_500


@asynccontextmanager
async def serving(path: Path) -> AsyncIterator[Services]:
    """Services with their background work, as in a server."""
    async with opened(path) as services, keeping_up(services.writer):
        yield services


def distinct(number: int) -> Ghap:
    return numbered(number, goal=f"Repair part{number} of machine {number % 97} in hall {number % 11}")


async def answers(services: Services) -> tuple[SearchMode, list[str], list[float]]:
    result = await services.searcher.search_experiences(ExperienceQuery(text="machine 77 in hall 3", limit=50))
    return result.mode, [each.entry.id for each in result.found], [each.score for each in result.found]


async def test_after_the_index_is_deleted_the_journal_answers_at_once_and_the_index_is_rebuilt_the_same(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path) as services:
        services.collector.add_resolved([distinct(n) for n in range(COUNT)])
        await services.writer.complete()
        mode, ids, scores = await answers(services)
        assert mode is not SearchMode.LEXICAL
        assert len(ids) == 50
        index = services.settings.index_directory
    shutil.rmtree(index)

    async with serving(tmp_path) as services:
        meanwhile = await services.searcher.search_experiences(ExperienceQuery(text=distinct(77).goal))
        assert meanwhile.mode is SearchMode.LEXICAL
        assert distinct(77) in [each.entry for each in meanwhile.found]
        await services.writer.complete()
        assert services.writer.pending == 0
        mode_after, ids_after, scores_after = await answers(services)

    assert (mode_after, ids_after) == (mode, ids)
    np.testing.assert_allclose(scores_after, scores, atol=1e-4)


async def test_an_index_that_is_deleted_while_in_use_is_rebuilt_although_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("learning_memory_server.system.timeouts.CHECK_EVERY", 0.05)
    async with serving(tmp_path) as services:
        services.collector.add_resolved([numbered(1), numbered(2)])
        await services.writer.complete()
        index = services.settings.index_directory
        shutil.rmtree(index)

        async with asyncio.timeout(MINUTES):
            while not index.exists() or not services.writer.is_complete:
                await asyncio.sleep(0.01)
        mode, ids, _ = await answers(services)
        assert mode is SearchMode.HYBRID
        assert set(ids) == {numbered(1).id, numbered(2).id}


async def test_an_index_that_is_deleted_while_in_use_is_rebuilt(tmp_path: Path) -> None:
    async with serving(tmp_path) as services:
        await services.writer.settle()
        services.collector.add_resolved([numbered(1), numbered(2)])
        for entry in services.collector.list_resolved():
            assert await services.persister.persist(entry)
        shutil.rmtree(services.settings.index_directory)

        services.collector.add_resolved([numbered(3)])
        assert not await services.persister.persist(numbered(3))
        # Two more attempts follow in the background. Until then the open files answer, without what is pending.
        meanwhile = await services.searcher.search_experiences(ExperienceQuery(text=numbered(3).goal))
        assert {found.entry.id for found in meanwhile.found} == {numbered(n).id for n in (1, 2)}

        async with asyncio.timeout(MINUTES):
            while not services.writer.is_complete:
                await asyncio.sleep(0.05)
        found = await services.searcher.search_experiences(ExperienceQuery(text=numbered(3).goal))
        assert found.mode is SearchMode.HYBRID
        assert {hit.entry.id for hit in found.found} == {numbered(n).id for n in (1, 2, 3)}
