"""Measure what a Qdrant server costs: milliseconds and round trips of each operation, waits when it fails, and healing.

The waits are also measured over a stub of Ollama that fails, and what this process spends on searches, writes and a
start as entries grow, beside the embedded engine: processor time of this process, with the double in another one.

    python -m benchmarks.server [--url URL] [--entries N] [--quick] [--growth N ...]

Without a URL, this runs over the double of a server that the tests use (`tests/index/engines/double.py`), at a distance
of 0, 10 and 50 ms. Round trips are those that follow one another; what is asked at once counts once. The baseline is
one query of the vendor's client, in the same run, and the same query with a compressed answer over a connection that is
kept, which then waits for an acknowledgement. With a URL it measures the milliseconds of each operation there, under an
owner of its own, whose points it removes at the end.
"""

import argparse
import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import httpx  # what the vendor's client is made of
import numpy as np
import structlog
from qdrant_client import AsyncQdrantClient, models

from benchmarks.population import ScatteringEmbedder, make_entry, themes
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.document import Collection, documents_of
from learning_memory_server.index.engines.base import Filter
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.index.ranking.hybrid import Query
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.backends import open_server
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.operations import operate
from learning_memory_server.server.settings import Settings
from learning_memory_server.system import timeouts
from tests.embedding.ollama_stub import OllamaStub, Wrong as ModelWrong
from tests.index.engines.double import QdrantDouble, Wrong, serving, serving_apart
from tests.index.engines.double_engine import Answer, recorded
from tests.support import TOPICS, InProcessFitting, about, keeping_up

DISTANCES_MS = (0, 10, 50)
RUNS = 15
GROWTH_RUNS = 10
WRITTEN = 100
EXPERIENCES = tuple(each for each in Collection if each.startswith("experiences"))
HERE = Caller("benchmark", "benchmark")
VALUE = TOPICS["pool"]
FAULTS: dict[str, Answer | Wrong] = {
    "hangs": Wrong.HANGS,
    "resets": Wrong.RESETS,
    "half an answer": Wrong.HALF,
    **{
        situation: recorded(situation)
        for situation in (
            *("no key: upsert", "wrong key: upsert", "token expired: upsert", "read-only key: upsert"),
            *("token for another collection: upsert", "strict mode: read rate", "strict mode: write rate"),
            "cluster: one of three nodes dead, write consistency 2, try 1",
            *("cluster: two of three nodes dead, query", "disk full: upsert"),
        )
    },
}
REFUSES_WRITES = ("read-only", "write rate", "write consistency", "disk full")
"""What is in the names of refusals that leave reading alone."""

Operations = dict[str, Callable[[], Awaitable[Any]]]


@asynccontextmanager
async def opened(folder: Path, url: str, entries: int) -> AsyncIterator[Services]:
    """Open services whose index on a server is complete, with clusters and a value."""
    settings = Settings(storage_path=folder, embedding_backend="hashing", qdrant_url=url, redaction=False)
    async with completed(settings, entries) as services:
        await call(services, "get_clusters", axis="full")
        await call(services, "store_value", text=VALUE, cluster_id="full_0", axis="full")
        yield services


@asynccontextmanager
async def completed(settings: Settings, entries: int) -> AsyncIterator[Services]:
    """Open services whose index is complete."""
    topics = ("pool", "pool", "cache")
    async with open_services(settings, purpose="benchmarks.server", fitting=InProcessFitting()) as services:
        services.collector.add_resolved([about(topics[number % 3], number) for number in range(entries)])
        async with keeping_up(services.writer):
            await operate(services, lambda *_: None, "complete", {})
            await call(services, "add_memory", text="The pool is closed by the last worker.")
            yield services


async def call(services: Services, tool: str, **arguments: object) -> dict[str, Any]:
    """Call a tool as an agent does."""
    fields = {"tool": tool, "arguments": arguments, "project": HERE.project, "session": HERE.session}
    return await operate(services, lambda *_: None, "call", fields)


def operations_of(services: Services) -> Operations:
    """Return what is measured, by name."""
    numbers = iter(range(1, 1_000_000))

    def tool(name: str, **arguments: object) -> Callable[[], Awaitable[Any]]:
        return lambda: call(services, name, **arguments)

    async def resolve() -> None:
        entry = about("cache", 1_000_000 + next(numbers))
        fields = {"goal": entry.goal, "hypothesis": entry.hypothesis}
        fields |= {"action": entry.action, "prediction": entry.prediction}
        await call(services, "start_ghap", domain="debugging", strategy="read-the-error", **fields)
        await call(services, "resolve_ghap", status="confirmed", result="It did.")

    async def forget() -> None:
        ids = [services.collector.list_resolved()[-1].id]
        fields = {"ids": ids, "project": None, "purge": False, "preview": False}
        await operate(services, lambda *_: None, "forget", fields)

    async def store() -> None:
        text = f"{VALUE} {'.' * next(numbers)}"
        await call(services, "store_value", text=text, cluster_id="full_0", axis="full")

    async def cluster() -> None:
        # As after a start: no clusters are known yet.
        services.clusterer.reread_numbers()
        await call(services, "get_clusters", axis="full")

    return {
        "search_experiences, one axis": tool("search_experiences", query="worker 7", axis="strategy"),
        "search_experiences, axis full": tool("search_experiences", query="worker 7"),
        "search_memory": tool("search_memory", query="who closes the pool"),
        "list_values": tool("list_values", query="worker 7"),
        "start_ghap, resolve_ghap": resolve,
        "add_memory": lambda: call(services, "add_memory", text=f"Memory {next(numbers)}."),
        "forget": forget,
        "validate_value": lambda: call(
            services, "validate_value", text=f"{VALUE} {'.' * next(numbers)}", cluster_id="full_0"
        ),
        "store_value": store,
        "get_clusters": cluster,
    }


async def median_ms(operation: Callable[[], Awaitable[Any]], runs: int = RUNS) -> float:
    """Return the median time of an operation."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        await operation()
        times.append(time.perf_counter() - began)
    return 1000 * statistics.median(times)


async def distances(services: Services, double: QdrantDouble, operations: Operations) -> None:
    """Print milliseconds and round trips at each distance."""
    print(f"{'':32}" + "".join(f"{f'{ms} ms away':>12}" for ms in DISTANCES_MS) + "  round trips")
    place = next(name for name in double.engine.created if name.startswith("experiences_strategy"))
    store = await services.index.vectors(Collection.EXPERIENCES_STRATEGY)
    vector = next(iter(store.values())).tolist()
    # All of them, so that there are no ties at the cut, which would take another round trip.
    many = 2 * len(store)
    vendor = AsyncQdrantClient(url=double.url, check_compatibility=False)
    kept = AsyncQdrantClient(
        url=double.url, check_compatibility=False, limits=httpx.Limits(max_keepalive_connections=1)
    )
    adapter = open_server(services.settings, double.url, None)
    await adapter.find((await services.index.specs())[list(Collection).index(Collection.EXPERIENCES_STRATEGY)])
    await adapter.search(Collection.EXPERIENCES_STRATEGY, vector, limit=many)
    # What the adapter has asked: its filter, too, takes the double time.
    asked = [each.body for each in double.asked if each.path.endswith("/query")][-1]

    def query(client: AsyncQdrantClient) -> Callable[[], Awaitable[Any]]:
        return lambda: client.query_points(
            place,
            vector,
            using="dense",
            limit=asked["limit"],
            query_filter=models.Filter(**asked["filter"]),
            search_params=models.SearchParams(**asked["params"]),
        )

    vendors: Operations = {
        "baseline: the vendor's query": query(vendor),
        "the same, kept and compressed": query(kept),
        "the same by the adapter": lambda: adapter.search(Collection.EXPERIENCES_STRATEGY, vector, limit=many),
    }
    before: int | None = None
    for name, operation in (vendors | operations).items():
        if before is None and name in operations:
            # The vendor's client keeps none to this machine.
            before = double.connections
        times = []
        for distance in DISTANCES_MS:
            double.delay = distance / 1000
            times.append(await median_ms(operation))
        double.round_trips()
        await operation()
        print(f"{name:32}" + "".join(f"{each:12.1f}" for each in times) + f"{double.round_trips():13}")
    double.delay = 0.0
    await vendor.close()
    await kept.close()
    await adapter.close()
    print(f"{double.connections - (before or 0)} connections were opened for all operations.\n")


async def faults(folder: Path, entries: int) -> None:
    """Print the longest of three calls of each tool while the server fails in each way, and seconds until caught up."""
    with serving() as double:
        async with opened(folder / "faults", double.url, entries) as services:
            operations = operations_of(services)
            print(
                f"{'longest wait in seconds':36}" + "".join(f"{name[:12]:>13}" for name in operations) + "  caught up"
            )
            for name, fault in FAULTS.items():
                is_write = any(each in name for each in REFUSES_WRITES)
                waits = []
                for operation in operations.values():
                    if isinstance(fault, Wrong):
                        # Each tool meets it as the first one. A refusal is met at once, whoever was there before.
                        double.heal()
                        await recovered(services)
                    double.refuse(fault, only=(lambda request: request.method == "PUT") if is_write else lambda _: True)
                    waits.append(max([await seconds_of(operation) for _ in range(3)]))
                double.heal()
                caught_up = await seconds_of(lambda: recovered(services))
                print(f"{name[:36]:36}" + "".join(f"{each:13.2f}" for each in waits) + f"{caught_up:11.1f}")
    print()


async def seconds_of(operation: Callable[[], Awaitable[Any]]) -> float:
    """Return how long an operation takes, whether it succeeds or not."""
    began = time.perf_counter()
    with suppress(LearningMemoryError):
        await operation()
    return time.perf_counter() - began


async def recovered(services: Services) -> None:
    """Wait until the server is known to be well, and has everything."""
    assert services.availability
    while services.availability.is_open or not services.writer.is_complete:
        await asyncio.sleep(0.05)


async def one_of_three_hangs(folder: Path, entries: int) -> None:
    """Print the longest wait of each tool while one node of a cluster hangs."""
    with serving() as first, serving() as second, serving() as third:
        nodes = (first, second, third)
        for node in (second, third):
            node.engine, node.turn = first.engine, first.turn
        async with opened(folder / "nodes", ",".join(each.url for each in nodes), entries) as services:
            waits = {}
            operations = operations_of(services)
            for name, operation in operations.items():
                await recovered(services)
                counts = [len(node.asked) for node in nodes]
                await operations["list_values"]()
                # The one that is asked first.
                preferred = next(node for node, count in zip(nodes, counts, strict=True) if len(node.asked) > count)
                preferred.refuse(Wrong.HANGS)
                waits[name] = max([await seconds_of(operation) for _ in range(3)])
                preferred.heal()
            print("one of three nodes hangs: " + ", ".join(f"{name} {wait:.2f} s" for name, wait in waits.items()))


async def model_faults(folder: Path, entries: int) -> None:
    """Print the longest wait of each operation while Ollama fails in each way, and how long it takes to catch up."""
    kinds = ("search_experiences, axis full", "search_memory", "start_ghap, resolve_ghap", "add_memory")
    print(f"{'Ollama: longest wait in seconds':32}" + "".join(f"{name[:18]:>20}" for name in (*kinds, "all is back")))
    for wrong in ModelWrong:
        waits = dict.fromkeys(kinds, 0.0)
        back = 0.0
        with OllamaStub(dimension=64) as ollama:
            settings = Settings(
                storage_path=folder / f"ollama-{wrong.name}",
                embedding_backend="ollama",
                embedding_model="nomic-embed-text",
                ollama_url=ollama.url,
                redaction=False,
            )
            async with completed(settings, entries) as services:
                operations = operations_of(services)
                for kind in kinds:
                    ollama.fail(wrong)
                    waits[kind] = max([await seconds_of(operations[kind]) for _ in range(2)])
                    ollama.heal()
                    began = time.perf_counter()
                    query = ExperienceQuery(f"worker number 8 {kind}", Axis.FULL)
                    while (
                        services.writer.missing
                        or (await services.searcher.search_experiences(query)).mode is not SearchMode.HYBRID
                    ):
                        await asyncio.sleep(0.05)
                    back = max(back, time.perf_counter() - began)
        print(f"{wrong.name.lower():32}" + "".join(f"{each:20.2f}" for each in (*waits.values(), back)))
    print()


async def healing(services: Services, double: QdrantDouble) -> None:
    """Print how long it takes until lost points are there again: lost at the worst moment, just after a count."""

    def counts() -> int:
        return sum(request.path.endswith("/points/count") for request in double.asked)

    before = counts()
    while counts() == before:
        await asyncio.sleep(0.2)
    owner = open_owner(services.settings.owner_file)
    place = next(name for name in double.engine.created if name.startswith("experiences_full"))
    lost = list(await services.index.vectors(Collection.EXPERIENCES_FULL))[:20]
    with double.turn:
        double.engine.client.delete(place, [owner.outside(each) for each in lost])
    began = time.monotonic()
    while not await services.index.is_intact():
        await asyncio.sleep(0.2)
    query = ExperienceQuery("worker number 7", Axis.FULL)
    mode = (await services.searcher.search_experiences(query)).mode
    assert mode is SearchMode.HYBRID
    print(f"{len(lost)} points removed behind its back: there again after {time.monotonic() - began:.0f} s")


async def growth(folder: Path, sizes: Sequence[int]) -> None:
    """Print processor time of a start until the index is complete, of searches where many scores tie, and of writes."""
    print(f"{'entries':>8}{'engine':>10}{'start s':>9}{'search ms':>11}{'of an axis ms':>15}{'write of 100 ms':>17}")
    embedder = ScatteringEmbedder(load_packaged())
    # Among 10,000 points the double takes seconds.
    timeouts.QDRANT_READ = timeouts.QDRANT  # type: ignore[misc]
    for size in sizes:
        with serving_apart() as address:
            for name, url in (("embedded", None), ("server", address)):
                settings = Settings(storage_path=folder / f"{name}-{size}", qdrant_url=url, redaction=False)
                generator, opened = random.Random(size), partial(open_services, settings, purpose="benchmarks.server")
                async with opened(load=lambda: embedder) as services:
                    services.collector.add_resolved([make_entry(number, generator) for number in range(size)])
                    await services.writer.complete()
                began = time.process_time()
                async with opened(load=lambda: embedder) as services:
                    await services.writer.complete()
                    started = time.process_time() - began
                    per_search = []
                    for axes in (EXPERIENCES, EXPERIENCES[:1]):
                        began = time.process_time()
                        for number in range(GROWTH_RUNS):
                            query = Query(axes[0], f"{themes()[number]} {number}", 10, Filter(), axes[1:])
                            assert await services.index.search_hybrid(query)
                        per_search.append(1000 * (time.process_time() - began) / GROWTH_RUNS)
                    made = [documents_of(make_entry(size + number, generator))[0] for number in range(WRITTEN)]
                    vectors = np.random.default_rng(size).normal(size=(WRITTEN, 384)).astype(np.float32)
                    began = time.process_time()
                    for _ in range(GROWTH_RUNS):
                        await services.index.write(made, vectors)
                    writing = 1000 * (time.process_time() - began) / GROWTH_RUNS
                one, other = per_search
                print(f"{size:8,}{name:>10}{started:9.2f}{one:11.1f}{other:15.1f}{writing:17.1f}")
    print()


async def run(url: str | None, entries: int, sizes: Sequence[int], *, quick: bool) -> None:
    """Run the benchmark."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        if url:
            async with opened(folder / "one", url, entries) as services:
                for operation, call in operations_of(services).items():
                    print(f"{operation:32}{await median_ms(call):10.1f} ms")
                print(
                    f"{await open_server(services.settings, url, None).leave(tuple(Collection))} points removed at the end"
                )
            return
        double = stack.enter_context(serving())
        async with opened(folder / "one", double.url, entries) as services:
            await distances(services, double, operations_of(services))
            if not quick:
                await healing(services, double)
        await growth(folder, sizes)
        if not quick:
            await faults(folder, min(entries, 60))
            await one_of_three_hangs(folder, min(entries, 60))
            await model_faults(folder, min(entries, 60))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url")
    parser.add_argument("--entries", type=int, default=300)
    parser.add_argument("--quick", action="store_true", help="leave out healing, and the waits when it fails")
    parser.add_argument("--growth", type=int, nargs="*", default=(1_000, 10_000), help="numbers of entries")
    options = parser.parse_args()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    asyncio.run(run(options.url, options.entries, options.growth, quick=options.quick))


if __name__ == "__main__":
    main()
