from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.domain.vocabulary import SearchMode
from learning_memory_server.search.searcher import ExperienceQuery
from learning_memory_server.server.config import load_settings
from learning_memory_server.server.services import open_services
from tests.support import numbered

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


async def test_an_index_that_is_deleted_while_it_is_used_is_rebuilt(tmp_path: Path) -> None:
    settings = load_settings(
        {
            "LEARNING_MEMORY_STORAGE_PATH": str(tmp_path),
            "LEARNING_MEMORY_EMBEDDING_BACKEND": "hashing",
        }
    )
    async with open_services(settings, purpose="a test") as services:
        task = asyncio.create_task(services.writer.run())
        await services.writer.settle()
        services.collector.add_resolved([numbered(1), numbered(2)])
        for entry in services.collector.list_resolved():
            assert await services.persister.persist(entry)
        shutil.rmtree(settings.index_directory)

        services.collector.add_resolved([numbered(3)])
        await services.persister.persist(numbered(3))
        meanwhile = await services.searcher.search_experiences(ExperienceQuery(text=numbered(3).goal))
        assert numbered(3) in [found.entry for found in meanwhile.found]

        async with asyncio.timeout(20):
            while not services.writer.is_complete:  # noqa: ASYNC110 - the writer tells nobody
                await asyncio.sleep(0.05)
        found = await services.searcher.search_experiences(ExperienceQuery(text=numbered(3).goal))
        assert found.mode is SearchMode.SEMANTIC
        assert {hit.entry.id for hit in found.found} == {numbered(n).id for n in (1, 2, 3)}
        task.cancel()
