"""Waits while a Qdrant server or Ollama fails, and the time until all is well again; for `benchmarks.server`."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchmarks.served import completed, opened, operations_of
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.owner import open_owner
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.embedding.ollama_stub import OllamaStub, Wrong as ModelWrong
from tests.index.engines.double import QdrantDouble, Wrong, serving
from tests.index.engines.double_engine import Answer, recorded

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
