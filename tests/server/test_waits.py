"""A Qdrant server does not answer, or refuses: no tool waits longer than the table of waits says."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.index.document import Collection
from learning_memory_server.index.queries import ExperienceQuery, MemoryQuery
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.services import Services
from tests.fast_forward import fast_forward
from tests.index.engines.double import QdrantDouble, Request, Wrong
from tests.index.engines.double_engine import Answer, recorded
from tests.lessons.values.parts import CACHE, GOOD, POOL
from tests.server.agent import ENTRY
from tests.services import opened, run
from tests.support import ALICE, about, keeping_up, until

LOADED = 1.3
"""What this process itself computes comes on top of the waits, and takes longer on a loaded machine."""
SEARCH = ExperienceQuery(text="pool", axis=Axis.FULL, limit=3)
NUMBERS = count(1)
REFUSALS = ("wrong key: upsert", "cluster: two of three nodes dead, query")


async def call(services: Services, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool as an agent does."""
    return await run(services, "call", tool=tool, arguments=arguments, project=ALICE.project, session=ALICE.session)


async def search(services: Services) -> None:
    assert (await call(services, "search_experiences", query="pool"))["mode"] == "lexical"


async def search_memory(services: Services) -> None:
    found = await services.memory_searcher.search(MemoryQuery("pool"))
    assert found.mode is SearchMode.LEXICAL


async def list_values(services: Services) -> None:
    listed = await call(services, "list_values", query="pool")
    assert listed["mode"] == "lexical"
    assert listed["count"] > 0


async def validate_value(services: Services) -> None:
    assert (await call(services, "validate_value", text=GOOD, cluster_id="full_0"))["valid"]


async def store_value(services: Services) -> None:
    text = f"{GOOD} {'.' * next(NUMBERS)}"
    await call(services, "store_value", text=text, cluster_id="full_0", axis="full")
    assert services.writer.pending


async def start_and_resolve(services: Services) -> None:
    await call(services, "start_ghap", **ENTRY)
    resolved = await call(services, "resolve_ghap", status="confirmed", result="It did.")
    assert not resolved["indexed"]


async def index_one(services: Services) -> None:
    entry = about("pool", 100 + next(NUMBERS))
    services.collector.add_resolved([entry])
    assert not await services.persister.persist(entry)


async def add_memory(services: Services) -> None:
    text = f"Number {next(NUMBERS)} closes the pool."
    assert not (await services.memories.add(ALICE, text, {})).is_indexed


async def forget(services: Services) -> None:
    doomed = services.collector.list_resolved()[-1].id
    await run(services, "forget", ids=[doomed], project=None, purge=False, preview=False)


async def get_clusters(services: Services) -> None:
    # As after a start: no clusters are known yet.
    services.clusterer.reread_numbers()
    with pytest.raises(StorageUnavailableError):
        await call(services, "get_clusters", axis="full")


LIMITS: dict[Callable[[Services], Awaitable[None]], float] = {
    search: 2.0,
    search_memory: 1.0,
    list_values: 2.0,
    validate_value: 2.0,
    store_value: 1.0,
    start_and_resolve: 1.0,
    index_one: 1.0,
    add_memory: 1.0,
    forget: 1.0,
    # The last, because it forgets the clusters.
    get_clusters: 8.0,
}


@asynccontextmanager
async def filled(path: Path, double: QdrantDouble) -> AsyncIterator[Services]:
    async with opened(path, qdrant_url=double.url, min_experiences=12) as services:
        services.collector.add_resolved([*POOL, *CACHE])
        async with keeping_up(services.writer):
            yield services


@asynccontextmanager
async def complete(path: Path, double: QdrantDouble) -> AsyncIterator[Services]:
    async with filled(path, double) as services:
        await until(lambda: services.writer.missing == 0)
        await call(services, "get_clusters", axis="full")
        await call(services, "store_value", text=GOOD, cluster_id="full_0", axis="full")
        assert (await services.searcher.search_experiences(SEARCH)).mode is SearchMode.HYBRID
        yield services


async def waits(services: Services, tool: Callable[[Services], Awaitable[None]]) -> list[float]:
    """Return how long each of three calls takes."""
    now = asyncio.get_running_loop().time
    taken = []
    for _ in range(3):
        began = now()
        await tool(services)
        taken.append(now() - began)
    return taken


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [Wrong.HANGS, Wrong.RESETS, *REFUSALS])
@fast_forward
async def test_nobody_waits_longer_than_the_table_says(
    tmp_path: Path, double: QdrantDouble, wrong: Wrong | str
) -> None:
    async with complete(tmp_path, double) as services:
        for tool, limit in LIMITS.items():
            double.refuse(wrong if isinstance(wrong, Wrong) else recorded(wrong))
            taken = await waits(services, tool)
            assert max(taken) <= LOADED * limit, tool
            # The circuit is open by now, or the pause has begun.
            assert max(taken[1:]) <= limit / 2, tool
            double.heal()
            await until(lambda: services.writer.missing == 0)


@pytest.mark.slow
@fast_forward
async def test_nobody_waits_longer_for_a_server_that_hangs_from_the_start(tmp_path: Path, double: QdrantDouble) -> None:
    double.refuse(Wrong.HANGS)
    async with filled(tmp_path, double) as services:
        now = asyncio.get_running_loop().time
        for tool in (search, search_memory, index_one, add_memory, forget):
            assert max(await waits(services, tool)) <= LOADED * LIMITS[tool]
        for tool in (validate_value, store_value, get_clusters):
            began = now()
            with suppress(StorageUnavailableError):
                await tool(services)
            assert now() - began <= LOADED * LIMITS[tool], tool
        double.heal()
        await until(lambda: services.writer.missing == 0)


async def assert_exact(services: Services) -> None:
    """Assert that the index has what the journal has, and nothing else."""
    there = await services.index.digests()
    documents = [each for source in services.sources for each in source.documents()]
    for collection in Collection:
        assert there[collection].keys() == {each.point_id for each in documents if each.collection == collection}
    assert (await services.searcher.search_experiences(SEARCH)).mode is SearchMode.HYBRID


@pytest.mark.slow
@fast_forward
async def test_whatever_goes_wrong_in_between_the_index_has_what_the_journal_has(
    tmp_path: Path, double: QdrantDouble
) -> None:
    draw = random.Random(19)
    wrongs: list[Answer | Wrong] = [Wrong.RESETS, Wrong.HALF, *map(recorded, REFUSALS)]
    # What writes: some of it is forgotten while it is still pending.
    operations = [index_one, index_one, add_memory, forget]

    def moody(_request: Request) -> Answer | Wrong | None:
        return draw.choice(wrongs) if draw.random() < 0.2 else None

    async with complete(tmp_path, double) as services:
        for _ in range(16):
            double.fault = moody
            # Some are written at once, others later.
            with suppress(AssertionError):
                await draw.choice(operations)(services)
            await asyncio.sleep(draw.choice([0, 0, 1, 10]))
        double.heal()
        await until(lambda: services.writer.missing == 0)
        # A removal that failed is tried again within half a minute.
        await asyncio.sleep(60)
        await assert_exact(services)
