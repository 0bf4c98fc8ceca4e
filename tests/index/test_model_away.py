"""The server that runs the model does not answer: nobody waits for it, and afterwards nothing is missing."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.model.value import ClusterId
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.services import Services
from tests.embedding.ollama_stub import OllamaStub, Wrong
from tests.fast_forward import fast_forward
from tests.index.test_server_away import ENTRIES, LIMITS, LOADED, forget, require_exact, search
from tests.server.test_waits import SEARCH, add_memory, index_one
from tests.services import opened as services_in
from tests.support import ALICE, MINUTES, keeping_up, until, within

pytestmark = pytest.mark.slow

WOKEN = 20.0
"""Seconds, less than the half minute after which the writer tries again by itself. Skipped time runs ten times as fast
as threads and sockets, so how soon a circuit closes is tested where there are none (`tests/system/test_waiting.py`)."""
AWAY = 14.0
"""Seconds, so that the writer has given up waiting, and its half minute has just begun."""


@pytest.fixture
def ollama() -> Iterator[OllamaStub]:
    with OllamaStub(dimension=16) as stub:
        yield stub


async def store_value(services: Services) -> None:
    with pytest.raises(EmbeddingUnavailableError):
        await services.values.store(ALICE, "Close the pool.", ClusterId(Axis.FULL, 1), Axis.FULL)


async def validate_value(services: Services) -> None:
    with pytest.raises(EmbeddingUnavailableError):
        await services.values.validate("Close the pool.", ClusterId(Axis.FULL, 1))


TOOLS: dict[Callable[[Services], Awaitable[None]], float] = {**LIMITS, store_value: 1.0, validate_value: 2.0}


@asynccontextmanager
async def opened(path: Path, ollama: OllamaStub) -> AsyncIterator[Services]:
    model = {"embedding_backend": "ollama", "embedding_model": "nomic-embed-text", "ollama_url": ollama.url}
    async with services_in(path, **model) as services:
        services.collector.add_resolved(ENTRIES)
        async with keeping_up(services.writer):
            yield services


async def is_back(services: Services) -> None:
    """Wait until nothing is missing, and searches are hybrid again."""
    async with asyncio.timeout(MINUTES):
        await until(lambda: services.writer.missing == 0)
        while (await services.searcher.search_experiences(SEARCH)).mode is not SearchMode.HYBRID:
            await asyncio.sleep(0.5)


@fast_forward
async def test_nobody_waits_longer_than_the_table_says(tmp_path: Path, ollama: OllamaStub) -> None:
    now = asyncio.get_running_loop().time
    async with opened(tmp_path, ollama) as services:
        for tool, limit in TOOLS.items():
            await is_back(services)
            ollama.fail(Wrong.HANGS)
            # No vector of an earlier query is known.
            services.embeddings._cached.clear()
            waits = []
            for _ in range(3):
                began = now()
                await tool(services)
                waits.append(now() - began)
            ollama.heal()
            assert max(waits) <= LOADED * limit, tool.__name__
            # The circuit is open by now.
            assert max(waits[1:]) <= 0.5, tool.__name__
        await is_back(services)
        await require_exact(services)


@pytest.mark.parametrize("wrong", Wrong)
@fast_forward
async def test_what_was_acknowledged_is_in_the_index_soon_after_the_servers_return(
    tmp_path: Path, ollama: OllamaStub, wrong: Wrong
) -> None:
    now = asyncio.get_running_loop().time
    async with opened(tmp_path, ollama) as services:
        await is_back(services)
        services.embeddings._cached.clear()
        ollama.fail(wrong)
        for _ in range(3):
            await search(services)
            await index_one(services)
            await add_memory(services)
        gone = services.collector.list_resolved()[-1].id
        await forget(services)
        await asyncio.sleep(AWAY)
        assert services.writer.missing != 0

        ollama.heal()

        returned = now()
        await is_back(services)
        # A server that refuses is asked again after half a minute: it is there, and may refuse for good.
        assert now() - returned <= (60 if wrong is Wrong.REFUSES else WOKEN)
        await require_exact(services)
        assert gone not in {each.id for each in services.collector.list_resolved()}


@pytest.mark.parametrize("wrong", [Wrong.AWAY, Wrong.HANGS])
@fast_forward
async def test_a_server_that_comes_after_this_program_is_used_at_once(
    tmp_path: Path, ollama: OllamaStub, wrong: Wrong
) -> None:
    now = asyncio.get_running_loop().time
    ollama.fail(wrong)
    async with opened(tmp_path, ollama) as services:
        for tool, limit in TOOLS.items():
            with within(LOADED * limit, tool.__name__):
                await tool(services)
        with within(0.5), pytest.raises(EmbeddingUnavailableError):
            await services.writer.settle()
        await asyncio.sleep(AWAY)

        ollama.heal()

        returned = now()
        await is_back(services)
        assert now() - returned <= WOKEN
        await require_exact(services)


async def test_what_is_late_at_a_slow_server_is_indexed_later(tmp_path: Path, ollama: OllamaStub) -> None:
    async with opened(tmp_path, ollama) as services:
        await is_back(services)
        ollama.pause = 1.2
        await index_one(services)
        assert services.writer.missing

        await until(lambda: not services.writer.missing, every=0.1)
        await require_exact(services)
