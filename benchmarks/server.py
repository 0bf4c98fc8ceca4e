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
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx  # what the vendor's client is made of
import numpy as np
import structlog
from qdrant_client import AsyncQdrantClient, models

from benchmarks.population import ScatteringEmbedder, make_entry, themes
from benchmarks.served import Operations, median_ms, opened, operations_of
from benchmarks.server_faults import faults, healing, model_faults, one_of_three_hangs
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.index.document import Collection, documents_of
from learning_memory_server.index.engines.base import Filter
from learning_memory_server.index.ranking.hybrid import Query
from learning_memory_server.server.composition.backends import open_server
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.settings import Settings
from learning_memory_server.system import timeouts
from tests.index.engines.double import QdrantDouble, serving, serving_apart

DISTANCES_MS = (0, 10, 50)
GROWTH_RUNS = 10
WRITTEN = 100
EXPERIENCES = tuple(each for each in Collection if each.startswith("experiences"))


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
