"""Points of memories that have other chunks by now: what decides is the memory that a point names, not a count."""

from pathlib import Path

import pytest

from learning_memory_server.index.document import Collection
from learning_memory_server.index.memory_chunks import Chunk
from learning_memory_server.server.composition.services import Services
from tests.index.engines.double import QdrantDouble
from tests.services import opened
from tests.support import ALICE

TEXT = "The crimson lighthouse is open on Mondays."


async def index_chunk(services: Services, memory_id: str, number: int) -> None:
    """Index a chunk that the memory no longer has."""
    about = {"memory_id": memory_id, "project": ALICE.project}
    await services.index.write([Chunk("an earlier text", "", about, number, 0, 15)])


async def count(services: Services) -> int:
    return (await services.index.counts())[Collection.MEMORIES]


@pytest.mark.parametrize("on_server", [False, True])
async def test_a_chunk_beyond_the_count_of_its_memory_goes_and_an_unknown_memorys_stays(
    tmp_path: Path, double: QdrantDouble, *, on_server: bool
) -> None:
    async with opened(tmp_path, qdrant_url=double.url if on_server else None) as services:
        await services.writer.complete()
        forgotten = (await services.memories.add(ALICE, "To be forgotten.", {})).memory
        kept = (await services.memories.add(ALICE, TEXT, {})).memory
        for memory_id in (forgotten.id, kept.id, "5c1f8f0e-5d0a-5b0e-9a55-3f2c7e1d4b91"):
            await index_chunk(services, memory_id, 7)
        await services.memories.delete(forgotten.id)
        assert await count(services) == 4
        await services.writer.find_pending()
        assert services.writer.reconciler.superfluous == 1
        await services.writer.reconciler.catch_up()
        assert await count(services) == 2
