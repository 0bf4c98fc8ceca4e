"""What the tests of values share."""

from __future__ import annotations

from contextlib import asynccontextmanager
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from learning_memory_server.clustering.child import ChildFitting
from learning_memory_server.clustering.experiences import ExperienceClusterer
from learning_memory_server.clustering.kept_fits import KeptFits
from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.domain.value import Evidence, Value
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.values.store import ValueStore
from learning_memory_server.values.witness_log import WitnessLog
from learning_memory_server.values.witnesses import Witnesses
from tests.support import NOON, TOPICS, about, open_memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.support import Memory

POOL = [about("pool", number) for number in range(10)]
CACHE = [about("cache", number) for number in range(10, 18)]
FULL_0, FULL_1 = ClusterId(Axis.FULL, 0), ClusterId(Axis.FULL, 1)
GOOD = TOPICS["pool"]


@asynccontextmanager
async def open_values(path: Path, *, learn: bool = True) -> AsyncIterator[tuple[ValueStore, Memory]]:
    async with open_memory(path) as memory, memory.running():
        await memory.writer.settle()
        if learn:
            await memory.learn(*POOL, *CACHE)
        yield values_over(memory), memory


def values_over(memory: Memory) -> ValueStore:
    """The values over a memory, as the composition root puts them together."""
    clusterer = ExperienceClusterer(
        index=memory.index,
        writer=memory.writer,
        collector=memory.collector,
        fitting=ChildFitting(None, 3),
        history=memory.journal.clusters,
        kept=KeptFits(memory.journal.path.parent / "fits", "a test"),
        clock=memory.clock,
        min_experiences=12,
    )
    return ValueStore(
        memory.values,
        Witnesses(WitnessLog(memory.journal.evidence), memory.collector, memory.index, memory.clock),
        memory.collector,
        clusterer,
        memory.index,
        memory.writer,
        memory.clock,
    )


def value(
    name: str,
    *,
    size: int = 3,
    minutes: int = 0,
    cluster: ClusterId = FULL_0,
    project: str = "p",
    **evidence: Any,
) -> Value:
    members = evidence.pop("member_ids", tuple(map(str, range(size))))
    proof = Evidence(members, (1.0,), 0.9, 0.1, 0.4, "digest", **evidence)
    return Value(name, f"text {name}", cluster, project, NOON + timedelta(minutes=minutes), proof)
