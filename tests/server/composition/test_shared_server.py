"""Services on a Qdrant server that others use too."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.errors import InvalidSettingsError
from learning_memory_server.index.document import Collection
from learning_memory_server.index.queries import ExperienceQuery, MemoryQuery
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.operations import operate
from learning_memory_server.server.settings import Settings
from tests.index.engines.double import QdrantDouble, serving
from tests.support import ALICE, about

pytestmark = pytest.mark.slow

ENTRIES = [about("pool", number) for number in range(3)]
NOTE = "Zebras graze beyond the crimson lighthouse"


@pytest.fixture
def double() -> Iterator[QdrantDouble]:
    with serving() as server:
        yield server


def settings_in(path: Path, url: str, **changes: Any) -> Settings:
    return Settings(storage_path=path, embedding_backend="hashing", qdrant_url=url, **changes)


async def test_several_hubs_that_start_at_once_on_an_empty_server_share_its_collections(
    tmp_path: Path, double: QdrantDouble
) -> None:
    double.delay = 0.02
    async with AsyncExitStack() as opened:
        hubs = [
            await opened.enter_async_context(open_services(settings_in(tmp_path / name, double.url), purpose="a test"))
            for name in ("ann", "bob", "eve")
        ]
        for each in hubs:
            each.collector.add_resolved(ENTRIES)
        await asyncio.gather(*(operate(each, lambda *_: None, "complete", {}) for each in hubs))
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
    async with open_services(settings_in(tmp_path, double.url), purpose="a test") as services:
        services.collector.add_resolved(ENTRIES)
        await operate(services, lambda *_: None, "complete", {})
        memory = (await services.memories.add(ALICE, NOTE, {})).memory
        assert (await services.memory_searcher.search(MemoryQuery(NOTE))).mode is SearchMode.HYBRID
        query = ExperienceQuery(text=ENTRIES[0].goal, axis=Axis.FULL, limit=3)
        assert (await services.searcher.search_experiences(query)).mode is SearchMode.HYBRID
        await services.memories.delete(memory.id)
        await operate(services, lambda *_: None, "reindex", {"axis": None})
    texts = f"{NOTE} {ENTRIES[0].goal} {ENTRIES[0].hypothesis} {ENTRIES[0].prediction}"
    words = {word.lower() for word in re.findall(r"\w{4,}", texts)}
    sent = " ".join(json.dumps([each.path, each.body]) for each in double.asked).lower()
    assert memory.id in sent
    assert len(words) > 10
    assert not [word for word in words if word in sent]


async def test_a_key_that_would_be_sent_in_plain_text_keeps_nobody_from_writing_and_searching(tmp_path: Path) -> None:
    settings = settings_in(tmp_path, "http://10.0.0.7:6333", qdrant_api_key="k")
    async with open_services(settings, purpose="a test") as services:
        background = asyncio.create_task(services.writer.run())
        assert not (await services.memories.add(ALICE, NOTE, {})).is_indexed
        (found,) = (await services.memory_searcher.search(MemoryQuery(NOTE))).found
        assert found.memory.text == NOTE
        services.collector.add_resolved(ENTRIES)
        fields = {"tool": "get_clusters", "arguments": {"axis": "full"}, "project": "p", "session": "s" * 16}
        with pytest.raises(InvalidSettingsError, match="in plain text") as caught:
            await operate(services, lambda *_: None, "call", fields)
        assert "qdrant_allow_plaintext_key" in str(caught.value.hint)
        background.cancel()
