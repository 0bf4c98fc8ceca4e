"""Measure what a Qdrant server costs: milliseconds and round trips of each operation, waits when it fails, and healing.

The waits are also measured over a stub of Ollama that fails.

    python -m benchmarks.server [--url URL] [--entries N] [--quick]

Without a URL, this runs over the double of a server that the tests use (`tests/storage/double.py`), at a distance of 0,
10 and 50 ms. Round trips are those that follow one another; what is asked at once counts once. The baseline is one
query of the vendor's client, in the same run. With a URL it measures the milliseconds of each operation there, under an
owner of its own, whose points it removes at the end.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import structlog

from learning_memory_server.composition.backends import open_server
from learning_memory_server.composition.services import Services, open_services
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.vocabulary import Axis, SearchMode
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.indexing.document import Collection
from learning_memory_server.memories.query import MemoryQuery
from learning_memory_server.observation.query import ExperienceQuery
from learning_memory_server.operations import operate
from learning_memory_server.owner import open_owner
from learning_memory_server.settings import Settings
from learning_memory_server.storage.qdrant_errors import Kind
from tests.embedding.ollama_stub import OllamaStub
from tests.embedding.ollama_stub import Wrong as ModelWrong
from tests.storage.double import QdrantDouble, Wrong, serving
from tests.storage.double_engine import recorded
from tests.support import keeping_up, numbered

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.storage.double_engine import Answer

DISTANCES_MS = (0, 10, 50)
RUNS = 15
HERE = Caller("benchmark", "benchmark")
FAULTS: dict[str, Answer | Wrong] = {
    "hangs": Wrong.HANGS,
    "resets": Wrong.RESETS,
    "half an answer": Wrong.HALF,
    **{
        situation: recorded(situation)
        for situation in (
            "wrong key: upsert",
            "token expired: upsert",
            "read-only key: upsert",
            "strict mode: write rate",
            "cluster: two of three nodes dead, upsert",
            "disk full: upsert",
        )
    },
}

Operations = dict[str, Callable[[], Awaitable[Any]]]


@asynccontextmanager
async def opened(folder: Path, url: str, entries: int) -> AsyncIterator[Services]:
    """Open services whose index on a server is complete."""
    settings = Settings(storage_path=folder, embedding_backend="hashing", qdrant_url=url, redaction=False)
    async with completed(settings, entries) as services:
        yield services


@asynccontextmanager
async def completed(settings: Settings, entries: int) -> AsyncIterator[Services]:
    """Open services whose index is complete."""
    async with open_services(settings, purpose="benchmarks.server") as services:
        services.collector.add_resolved([numbered(number) for number in range(entries)])
        async with keeping_up(services.writer):
            await operate(services, lambda *_: None, "complete", {})
            await services.memories.add(HERE, "The pool is closed by the last worker.", {})
            yield services


def operations_of(services: Services) -> Operations:
    """Return what is measured, by name."""
    numbers = iter(range(1_000_000, 2_000_000))

    async def search(axis: Axis) -> None:
        await services.searcher.search_experiences(ExperienceQuery("worker number 7", axis))

    async def resolve() -> None:
        entry = numbered(next(numbers))
        services.collector.add_resolved([entry])
        await services.persister.persist(entry)

    async def forget() -> None:
        fields = {
            "ids": [services.collector.list_resolved()[-1].id],
            "project": None,
            "purge": False,
            "preview": False,
        }
        await operate(services, lambda *_: None, "forget", fields)

    return {
        "search_experiences, one axis": lambda: search(Axis.STRATEGY),
        "search_experiences, axis full": lambda: search(Axis.FULL),
        "search_memory": lambda: services.memory_searcher.search(MemoryQuery("who closes the pool")),
        "resolve_ghap": resolve,
        "add_memory": lambda: services.memories.add(HERE, f"Memory {next(numbers)}.", {}),
        "forget": forget,
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
    before = double.connections
    place = next(name for name in double.engine.created if name.startswith("experiences_strategy"))
    store = await services.index.vectors(Collection.EXPERIENCES_STRATEGY)
    vector = next(iter(store.values())).tolist()
    baseline = open_server(services.settings, double.url, None)
    vendors: Operations = {
        "baseline: the vendor's query": lambda: baseline.requests.ask(
            "", Kind.READ, lambda client: client.query_points(place, query=vector, using="dense", limit=10)
        )
    }
    for name, operation in (vendors | operations).items():
        times = []
        for distance in DISTANCES_MS:
            double.delay = distance / 1000
            times.append(await median_ms(operation))
        double.round_trips()
        await operation()
        print(f"{name:32}" + "".join(f"{each:12.1f}" for each in times) + f"{double.round_trips():13}")
    double.delay = 0.0
    await baseline.close()
    print(f"{double.connections - before} connections were opened for all of it.\n")


async def faults(folder: Path, entries: int) -> None:
    """Print the longest wait of each operation while the server fails in each way."""
    print(
        f"{'longest wait in seconds':42}"
        + "".join(f"{name[:14]:>16}" for name in ("search", "resolve", "memory"))
    )
    for name, fault in FAULTS.items():
        waits: dict[str, float] = {}
        with serving() as double:
            async with opened(
                folder / name.replace(" ", "-").replace(":", ""), double.url, entries
            ) as services:
                operations = operations_of(services)
                # A refusal of writes leaves reads alone.
                writes = ("upsert" in name or "write" in name) and "key" not in name.split(":")[0]
                double.refuse(
                    fault,
                    only=lambda request, writes=writes: not writes or request.path.endswith("/points"),  # type: ignore[misc]
                )
                for kind in ("search_experiences, axis full", "resolve_ghap", "search_memory"):
                    waits[kind] = 0.0
                    for _ in range(2):
                        began = time.perf_counter()
                        with suppress(LearningMemoryError):
                            await operations[kind]()
                        waits[kind] = max(waits[kind], time.perf_counter() - began)
                double.heal()
        print(f"{name:42}" + "".join(f"{each:16.2f}" for each in waits.values()))
    print()


async def model_faults(folder: Path, entries: int) -> None:
    """Print the longest wait of each operation while Ollama fails in each way, and how long it takes to catch up."""
    kinds = ("search_experiences, axis full", "search_memory", "resolve_ghap", "add_memory")
    print(
        f"{'Ollama: longest wait in seconds':32}"
        + "".join(f"{name[:18]:>20}" for name in (*kinds, "all is back"))
    )
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
                    for _ in range(2):
                        began = time.perf_counter()
                        await operations[kind]()
                        waits[kind] = max(waits[kind], time.perf_counter() - began)
                    ollama.heal()
                    began = time.perf_counter()
                    query = ExperienceQuery(f"worker number 8 {kind}", Axis.FULL)
                    while (  # noqa: ASYNC110 - the server is in another thread
                        services.writer.missing
                        or (await services.searcher.search_experiences(query)).mode is not SearchMode.HYBRID
                    ):
                        await asyncio.sleep(0.05)
                    back = max(back, time.perf_counter() - began)
        print(f"{wrong.name.lower():32}" + "".join(f"{each:20.2f}" for each in (*waits.values(), back)))
    print()


async def healing(services: Services, double: QdrantDouble) -> None:
    """Print how long it takes until lost points are there again, without anybody's doing."""
    owner = open_owner(services.settings.owner_file)
    place = next(name for name in double.engine.created if name.startswith("experiences_full"))
    lost = list(await services.index.vectors(Collection.EXPERIENCES_FULL))[:20]
    with double.turn:
        double.engine.client.delete(place, [*owner.all_outside(lost)])
    began = time.monotonic()
    expected = await services.index.size(Collection.EXPERIENCES_FULL)
    while await services.index.count(Collection.EXPERIENCES_FULL) < expected:  # noqa: ASYNC110 - another process
        await asyncio.sleep(0.2)
    query = ExperienceQuery("worker number 7", Axis.FULL)
    mode = (await services.searcher.search_experiences(query)).mode
    assert mode is SearchMode.HYBRID  # noqa: S101 - else the figure says nothing
    print(f"{len(lost)} points removed behind its back: there again after {time.monotonic() - began:.0f} s")


async def run(url: str | None, entries: int, *, quick: bool) -> None:
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
        if not quick:
            await faults(folder, min(entries, 50))
            await model_faults(folder, min(entries, 50))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--url")
    parser.add_argument("--entries", type=int, default=300)
    parser.add_argument("--quick", action="store_true", help="leave out healing, and the waits when it fails")
    options = parser.parse_args()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    asyncio.run(run(options.url, options.entries, quick=options.quick))


if __name__ == "__main__":
    main()
