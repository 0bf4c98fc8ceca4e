"""Completing the index for a search: what is not ready in time is not waited for."""

from pathlib import Path

import pytest

from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import GHAP
from tests.embedding.ollama_stub import OllamaStub
from tests.index.engines.double import QdrantDouble
from tests.services import opened, run
from tests.support import SilentModel, about

ENTRIES = [about(topic, number) for number, topic in enumerate(["pool", "cache", "types"])]


@pytest.mark.slow
async def test_a_search_waits_a_limited_time_for_the_index(tmp_path: Path) -> None:
    model = SilentModel()
    async with opened(tmp_path, load=lambda: model) as services:
        await run(services, "complete")
        model.released.clear()
        records = [JournalRecord.of(GHAP, entry).to_fields() for entry in ENTRIES]
        await run(services, "add_records", records=records)

        hurried = await run(services, "complete", to_search=True, within=0.0)
        missing = services.writer.pending
        model.released.set()
        complete = await run(services, "complete", to_search=True)

    assert missing > 0
    assert hurried["notices"] == [f"The index is not complete yet; {missing} of its vectors are missing."]
    assert hurried["points"] == 0
    assert complete["notices"] == []
    assert complete["points"] == missing


@pytest.mark.slow
async def test_how_much_an_index_lacks_is_not_said_before_it_is_known(tmp_path: Path, double: QdrantDouble) -> None:
    async with opened(tmp_path, qdrant_url=double.url) as services:
        await services.index.open()
        double.delay = 0.3
        hurried = await run(services, "complete", to_search=True, within=0.0)
    assert hurried["notices"] == ["The index is not complete yet."]


async def test_a_comparison_says_that_the_model_has_changed(tmp_path: Path) -> None:
    with OllamaStub() as ollama:
        model = {"embedding_backend": "ollama", "embedding_model": "nomic-embed-text", "ollama_url": ollama.url}
        async with opened(tmp_path, **model) as services:
            before = await run(services, "compare")
            ollama.digest = "f" * 64
            after = await run(services, "compare")
    assert before["model"] is None
    assert "has changed since this server started. Run `learning-memory-server hub stop`" in after["model"]
