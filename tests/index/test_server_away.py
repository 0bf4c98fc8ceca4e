"""A Qdrant server does not answer, or refuses: afterwards nothing is missing. `server/test_waits` has the waits."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from learning_memory_server.hub.connections import describe
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.index.engines.owner import open_owner, settle_owner
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.services import Services
from tests.fast_forward import fast_forward
from tests.index.engines.double import QdrantDouble, Request, Wrong
from tests.index.engines.double_engine import recorded
from tests.server.test_waits import SEARCH, add_memory, index_one, search_memory
from tests.services import opened as services_in, run as run_operation
from tests.support import ALICE, about, keeping_up, until, within

pytestmark = pytest.mark.slow

ENTRIES = [about("pool", number) for number in range(6)]
LOADED = 1.1
"""On a loaded machine, a tenth more than the limit."""


async def search(services: Services) -> None:
    assert (await services.searcher.search_experiences(SEARCH)).mode is SearchMode.LEXICAL


async def hint(services: Services) -> None:
    await services.values.by_relevance("pool", services.values.list_values())


async def forget(services: Services) -> None:
    await forgotten(services)


async def forgotten(services: Services) -> bool:
    """Forget the last entry. Return whether it is gone from the index."""
    doomed = services.collector.list_resolved()[-1].id
    done = await run_operation(services, "forget", ids=[doomed], project=None, purge=False, preview=False)
    return bool(done["indexed"])


LIMITS: dict[Callable[[Services], Awaitable[None]], float] = {
    search: 2.0,
    search_memory: 1.0,
    hint: 2.0,
    index_one: 1.0,
    add_memory: 1.0,
    forget: 1.0,
}


@asynccontextmanager
async def opened(path: Path, double: QdrantDouble) -> AsyncIterator[Services]:
    async with services_in(path, qdrant_url=double.url) as services, keeping_up(services.writer):
        yield services


@asynccontextmanager
async def complete(path: Path, double: QdrantDouble) -> AsyncIterator[Services]:
    async with opened(path, double) as services:
        services.collector.add_resolved(ENTRIES)
        await until(lambda: services.writer.is_complete)
        assert (await services.searcher.search_experiences(SEARCH)).mode is SearchMode.HYBRID
        yield services


def is_write(request: Request) -> bool:
    return request.path.endswith("/points/delete") or (request.method == "PUT" and request.path.endswith("/points"))


def is_read(request: Request) -> bool:
    return request.path.endswith(("/query", "/scroll", "/count"))


def is_any(_request: Request) -> bool:
    return True


FAULTS: dict[str, tuple[Wrong | str, Callable[[Request], bool]]] = {
    **{wrong.name: (wrong, is_any) for wrong in Wrong},
    "writes hang": (Wrong.HANGS, is_write),
    **{
        situation: (situation, is_write)
        for situation in (
            "strict mode: write rate",
            "read-only key: upsert",
            "disk full: upsert",
            "cluster: one of three nodes dead, write consistency 2, try 1",
            "cluster: two of three nodes dead, upsert",
        )
    },
    "strict mode: read rate": ("strict mode: read rate", is_read),
    "cluster: two of three nodes dead, query": ("cluster: two of three nodes dead, query", is_read),
    "wrong key: info": ("wrong key: info", is_any),
    "token expired: info": ("token expired: info", is_any),
}


@pytest.mark.parametrize("fault", FAULTS)
@fast_forward
async def test_whatever_goes_wrong_what_was_acknowledged_is_in_the_index_afterwards_and_nothing_forgotten(
    tmp_path: Path, double: QdrantDouble, fault: str
) -> None:
    wrong, which = FAULTS[fault]

    async with complete(tmp_path, double) as services:
        now = asyncio.get_running_loop().time
        double.refuse(recorded(wrong) if isinstance(wrong, str) else wrong, only=which)
        await forget(services)
        for number in range(4):
            entry = about("pool", 100 + number)
            services.collector.add_resolved([entry])
            await services.persister.persist(entry)
            await services.memories.add(ALICE, f"Number {number} closes the pool.", {})
            if which is is_write:
                assert await mode(services) is SearchMode.HYBRID
                assert not services.writer.is_complete
        await forget(services)
        for _ in range(10):
            await asyncio.sleep(6)
            if which is is_write:
                assert await mode(services) is SearchMode.HYBRID

        double.heal()
        returned = now()
        if isinstance(wrong, Wrong):
            await until(lambda: not is_away(services))
            assert now() - returned <= 5 * LOADED
        await until(lambda: services.writer.is_complete and holds(services, double))
        assert now() - returned <= (15 if isinstance(wrong, Wrong) else 95)

        await require_exact(services)
        assert await mode(services) is SearchMode.HYBRID


async def require_exact(services: Services) -> None:
    """Require that the index has all entries and memories, and nothing else."""
    ids = (await services.index.vectors(Collection.EXPERIENCES_FULL)).keys()
    assert ids == {point_id("ghap", each.id) for each in services.collector.list_resolved()}
    assert (await services.index.counts())[Collection.MEMORIES] == len(services.memory_log.all())


async def mode(services: Services) -> SearchMode:
    """Return the mode of a search, of the second one if the first is lexical: on a busy machine, one may be late."""
    first, second = [(await services.searcher.search_experiences(SEARCH)).mode for _ in range(2)]
    return second if first is SearchMode.LEXICAL else first


def is_away(services: Services) -> bool:
    assert services.availability
    return services.availability.is_open


def holds(services: Services, double: QdrantDouble) -> bool:
    """Return whether the server has as many points as it should."""
    entries, memories = len(services.collector.list_resolved()), len(services.memory_log.all())
    with double.turn:
        there = {name.rsplit("-", 2)[0]: double.engine.client.count(name).count for name in double.engine.created}
    return (there["experiences_full"], there["memories"]) == (entries, memories)


@fast_forward
async def test_after_a_restart_searches_are_hybrid_although_something_cannot_be_written(
    tmp_path: Path, double: QdrantDouble
) -> None:
    async with complete(tmp_path, double) as services:
        double.refuse(recorded("disk full: upsert"), only=is_write)
        services.collector.add_resolved([about("pool", 100)])
    async with opened(tmp_path, double) as services:
        await until(lambda: services.writer.missing == 2)
        assert await mode(services) is SearchMode.HYBRID
        assert (await services.statistics.collect())["index"]["complete"] is False
        assert (await describe(services))["complete"] is False
        double.heal()
        await until(lambda: services.writer.is_complete)


@fast_forward
async def test_in_a_moved_folder_only_removing_waits_for_people(tmp_path: Path, double: QdrantDouble) -> None:
    async with complete(tmp_path / "first", double) as services:
        assert services.writer.is_complete
    (tmp_path / "first").rename(tmp_path / "second")
    async with opened(tmp_path / "second", double) as services:
        await until(lambda: services.writer.is_complete)
        assert not await forgotten(services)
        services.collector.add_resolved([about("pool", 100)])
        await services.writer.find_pending()
        services.writer.postpone([])
        await until(lambda: services.writer.is_complete)
        assert await mode(services) is SearchMode.HYBRID
        assert not holds(services, double)
    async with opened(tmp_path / "second", double) as services:
        await until(lambda: services.writer.is_complete)
        assert await mode(services) is SearchMode.HYBRID
    settle_owner(tmp_path / "second" / "qdrant-owner.json")
    async with opened(tmp_path / "second", double) as services:
        await until(lambda: services.writer.is_complete and holds(services, double))


@fast_forward
async def test_what_is_forgotten_while_the_server_is_away_since_the_start_goes_later_and_the_reply_says_so(
    tmp_path: Path, double: QdrantDouble
) -> None:
    async with complete(tmp_path, double):
        pass
    double.refuse(Wrong.RESETS)
    async with opened(tmp_path, double) as services:
        assert not await forgotten(services)
        double.heal()
        await until(lambda: services.writer.is_complete and holds(services, double))


@fast_forward
async def test_a_write_that_arrives_after_its_entry_was_forgotten_is_taken_back(
    tmp_path: Path, double: QdrantDouble
) -> None:
    def writes_full(request: Request) -> bool:
        return is_write(request) and "_full-" in request.path

    async with complete(tmp_path, double) as services:
        double.asked.clear()
        double.refuse(Wrong.HANGS, only=writes_full)
        await index_one(services)
        (late,) = [request for request in double.asked if writes_full(request)][:1]
        double.heal()
        await until(lambda: services.writer.is_complete)
        assert await forgotten(services)

        name = late.path.split("/")[2]
        with double.turn:
            double.engine.answer(*late)
            # A point is lost at the same time, so that the count is right.
            first = open_owner(tmp_path / "qdrant-owner.json").outside(point_id("ghap", ENTRIES[0].id))
            double.engine.client.delete(name, [first])
        assert holds(services, double)
        await asyncio.sleep(120)

        await require_exact(services)


@fast_forward
async def test_status_is_soon_answered_while_the_server_hangs_and_calls_nothing_complete(
    tmp_path: Path, double: QdrantDouble
) -> None:
    async with complete(tmp_path, double) as services:
        double.refuse(Wrong.HANGS)
        with within(1.0 * LOADED):
            shown = await describe(services)
        assert (shown["points"], shown["pending"], shown["complete"]) == (None, None, False)
        double.heal()


@fast_forward
async def test_a_lost_collection_that_cannot_be_filled_again_is_not_searched_but_the_others_are(
    tmp_path: Path, double: QdrantDouble
) -> None:
    strategies = ExperienceQuery(text="pool", axis=Axis.STRATEGY, limit=3)

    async with complete(tmp_path, double) as services:
        double.refuse(recorded("disk full: upsert"), only=is_write)
        with double.turn:
            (name,) = [each for each in double.engine.created if each.startswith("experiences_strategy-")]
            double.engine.client.delete_collection(name)
        await asyncio.sleep(60)
        found = await services.searcher.search_experiences(strategies)
        assert (len(found.found), found.mode) == (3, SearchMode.LEXICAL)
        assert await mode(services) is SearchMode.HYBRID
        double.heal()
        await until(lambda: services.writer.is_complete)
        assert (await services.searcher.search_experiences(strategies)).mode is SearchMode.HYBRID
