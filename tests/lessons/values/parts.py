"""Shared parts of the value tests."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.lessons.clusters.clusterer import ExperienceClusterer
from learning_memory_server.lessons.values.store import ValueStore
from learning_memory_server.model.value import ClusterId, Evidence, Value
from learning_memory_server.model.vocabulary import Axis
from tests.support import NOON, TOPICS, InProcessFitting, Parts, about, open_parts

POOL = [about("pool", number) for number in range(10)]
CACHE = [about("cache", number) for number in range(10, 18)]
FULL_0, FULL_1 = ClusterId(Axis.FULL, 0), ClusterId(Axis.FULL, 1)
GOOD = TOPICS["pool"]
REWORDED = f"{GOOD} first"


@asynccontextmanager
async def open_values(
    path: Path, *, learn: bool = True, load: Callable[[], Embedder] = HashingEmbedder
) -> AsyncIterator[tuple[ValueStore, Parts]]:
    async with open_parts(path, load=load) as parts, parts.running():
        await parts.writer.settle()
        if learn:
            await parts.learn(*POOL, *CACHE)
        yield values_over(parts), parts


def values_over(parts: Parts) -> ValueStore:
    """A value store over these parts, wired as in the composition root."""
    clusterer = ExperienceClusterer(
        index=parts.index,
        writer=parts.writer,
        collector=parts.collector,
        fitting=InProcessFitting(),
        history=parts.journal.clusters,
        clock=parts.clock,
        min_experiences=12,
    )
    return ValueStore(parts.values, parts.verdicts, parts.collector, clusterer, parts.index, parts.writer, parts.clock)


def value(
    name: str, *, size: int = 3, minutes: int = 0, cluster: ClusterId = FULL_0, project: str = "p", **evidence: Any
) -> Value:
    members = evidence.pop("member_ids", tuple(map(str, range(size))))
    proof = Evidence(members, (1.0,), 0.9, 0.1, 0.4, "digest", **evidence)
    return Value(name, f"text {name}", cluster, project, NOON + timedelta(minutes=minutes), proof)
