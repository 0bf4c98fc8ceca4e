"""A Qdrant server does not answer: nobody waits longer than the table says, and afterwards nothing is missing."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.composition.services import open_services
from learning_memory_server.domain.vocabulary import Axis, SearchMode
from learning_memory_server.indexing.document import Collection, point_id
from learning_memory_server.memories.query import MemoryQuery
from learning_memory_server.observation.query import ExperienceQuery
from learning_memory_server.operations import operate
from learning_memory_server.settings import Settings
from tests.fast_forward import fast_forward
from tests.storage.double import QdrantDouble, Wrong, serving
from tests.support import ALICE, about, keeping_up

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
    from pathlib import Path

    from learning_memory_server.composition.services import Services

ENTRIES = [about("pool", number) for number in range(6)]
LOADED = 1.1
"""On a loaded machine, a tenth more than the table says."""
SEARCH = ExperienceQuery(text="pool", axis=Axis.FULL, limit=3)


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    with serving() as server:
        yield server


async def search(services: Services) -> None:
    assert (await services.searcher.search_experiences(SEARCH)).mode is SearchMode.LEXICAL


async def search_memory(services: Services) -> None:
    assert (await services.memory_searcher.search(MemoryQuery("pool"))).mode is SearchMode.LEXICAL


async def hint(services: Services) -> None:
    await services.value_listing.by_relevance("pool", services.value_listing.list_values())


async def resolve(services: Services) -> None:
    entry = about("pool", 100 + len(services.collector.list_resolved()))
    services.collector.add_resolved([entry])
    assert not await services.persister.persist(entry)


async def add_memory(services: Services) -> None:
    text = f"Number {len(services.memory_log.all())} closes the pool."
    assert not (await services.memories.add(ALICE, text, {})).is_indexed


async def forget(services: Services) -> None:
    doomed = services.collector.list_resolved()[-1].id
    fields = {"ids": [doomed], "project": None, "purge": False, "preview": False}
    await operate(services, lambda *_: None, "forget", fields)


LIMITS: dict[Callable[[Services], Awaitable[None]], float] = {
    search: 2.0,
    search_memory: 1.0,
    hint: 2.0,
    resolve: 1.0,
    add_memory: 1.0,
    forget: 1.0,
}


@asynccontextmanager
async def complete(path: Path, double: QdrantDouble) -> AsyncIterator[Services]:
    settings = Settings(storage_path=path, embedding_backend="hashing", qdrant_url=double.url)
    async with open_services(settings, purpose="a test") as services:
        services.collector.add_resolved(ENTRIES)
        async with keeping_up(services.writer):
            await until(lambda: services.writer.missing == 0)
            assert (await services.searcher.search_experiences(SEARCH)).mode is SearchMode.HYBRID
            yield services


async def until(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(300):
        while not is_so():  # noqa: ASYNC110 - on a loop whose time is skipped, not waited for
            await asyncio.sleep(0.5)


@pytest.mark.slow
@pytest.mark.parametrize("tool", LIMITS, ids=lambda tool: tool.__name__)
def test_nobody_waits_longer_than_the_table_says(
    tmp_path: Path, double: QdrantDouble, tool: Callable[[Services], Awaitable[None]]
) -> None:
    async def scenario() -> None:
        async with complete(tmp_path, double) as services:
            now = asyncio.get_running_loop().time
            double.refuse(Wrong.HANGS)
            waits = []
            for _ in range(3):
                began = now()
                await tool(services)
                waits.append(now() - began)
            assert max(waits) <= LOADED * LIMITS[tool]
            # The circuit is open by now.
            assert max(waits[1:]) <= 0.5
            double.heal()

    fast_forward(scenario())


@pytest.mark.slow
@pytest.mark.parametrize("wrong", Wrong)
def test_what_was_acknowledged_is_in_the_index_soon_after_the_servers_return(
    tmp_path: Path, double: QdrantDouble, wrong: Wrong
) -> None:
    async def scenario() -> None:
        async with complete(tmp_path, double) as services:
            now = asyncio.get_running_loop().time
            double.refuse(wrong)
            for _ in range(5):
                await resolve(services)
                await add_memory(services)
            gone = services.collector.list_resolved()[-1].id
            await forget(services)
            await asyncio.sleep(20)
            assert services.circuits

            double.heal()
            returned = now()
            await until(lambda: not (services.circuits and services.circuits.is_open))
            assert now() - returned <= 5 * LOADED
            await until(lambda: services.writer.missing == 0)
            assert now() - returned <= 15

            ids = (await services.index.vectors(Collection.EXPERIENCES_FULL)).keys()
            assert ids == {point_id("ghap", each.id) for each in services.collector.list_resolved()}
            assert point_id("ghap", gone) not in ids
            assert (await services.index.counts())[Collection.MEMORIES] == 5
            assert (await services.searcher.search_experiences(SEARCH)).mode is SearchMode.HYBRID

    fast_forward(scenario())
