"""Services on a Qdrant server that others use too."""

import asyncio
import json
import re
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.index.document import Collection
from learning_memory_server.index.queries import ExperienceQuery, MemoryQuery
from learning_memory_server.model.vocabulary import Axis, SearchMode
from tests.index.engines.double import QdrantDouble
from tests.services import opened, run
from tests.support import ALICE, about

pytestmark = pytest.mark.slow

ENTRIES = [about("pool", number) for number in range(3)]
NOTE = "Zebras graze beyond the crimson lighthouse"


async def test_several_hubs_that_start_at_once_on_an_empty_server_share_its_collections(
    tmp_path: Path, double: QdrantDouble
) -> None:
    double.delay = 0.02
    async with AsyncExitStack() as stack:
        hubs = [
            await stack.enter_async_context(opened(tmp_path / name, qdrant_url=double.url))
            for name in ("ann", "bob", "eve")
        ]
        for each in hubs:
            each.collector.add_resolved(ENTRIES)
        await asyncio.gather(*(run(each, "complete") for each in hubs))
        double.delay = 0.0
        asked = [each.path for each in double.asked if each.method == "PUT"]
        created = Counter(path for path in asked if re.fullmatch("/collections/[^/]+", path))
        # Otherwise they did not start at once.
        assert max(created.values()) > 1
        assert len(double.engine.created) == len(Collection)
        for each in hubs:
            assert each.writer.missing == 0
            assert (await each.index.counts())[Collection.EXPERIENCES_FULL] == len(ENTRIES)


async def test_no_request_has_a_word_of_what_is_kept_or_sought(tmp_path: Path, double: QdrantDouble) -> None:
    async with opened(tmp_path, qdrant_url=double.url) as services:
        services.collector.add_resolved(ENTRIES)
        await run(services, "complete")
        memory = (await services.memories.add(ALICE, NOTE, {})).memory
        assert (await services.memory_searcher.search(MemoryQuery(NOTE))).mode is SearchMode.HYBRID
        query = ExperienceQuery(text=ENTRIES[0].goal, axis=Axis.FULL, limit=3)
        assert (await services.searcher.search_experiences(query)).mode is SearchMode.HYBRID
        await services.memories.delete(memory.id)
        await run(services, "reindex", axis=None)
    texts = f"{NOTE} {ENTRIES[0].goal} {ENTRIES[0].hypothesis} {ENTRIES[0].prediction}"
    words = {word.lower() for word in re.findall(r"\w{4,}", texts)}
    sent = " ".join(json.dumps([each.path, each.body]) for each in double.asked).lower()
    assert memory.id in sent
    assert len(words) > 10
    assert not [word for word in words if word in sent]


async def test_a_key_that_would_be_sent_in_plain_text_keeps_nobody_from_writing_and_searching(tmp_path: Path) -> None:
    async with opened(tmp_path, qdrant_url="http://10.0.0.7:6333", qdrant_api_key="k") as services:
        background = asyncio.create_task(services.writer.run())
        assert not (await services.memories.add(ALICE, NOTE, {})).is_indexed
        (found,) = (await services.memory_searcher.search(MemoryQuery(NOTE))).found
        assert found.memory.text == NOTE
        services.collector.add_resolved(ENTRIES)
        fields = {"tool": "get_clusters", "arguments": {"axis": "full"}, "project": "p", "session": "s" * 16}
        with pytest.raises(InvalidSettingsError, match="in plain text") as caught:
            await run(services, "call", **fields)
        assert "qdrant_allow_plaintext_key" in str(caught.value.hint)
        background.cancel()
