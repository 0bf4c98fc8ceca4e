"""A store on a Qdrant server, and the operations that `benchmarks.server` measures."""

import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from learning_memory_server.model.caller import Caller
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.operations import operate
from learning_memory_server.server.settings import Settings
from tests.support import TOPICS, InProcessFitting, about, keeping_up

RUNS = 15
HERE = Caller("benchmark", "benchmark")
VALUE = TOPICS["pool"]

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
