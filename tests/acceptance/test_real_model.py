"""The model that comes with the package: over stdio, and while it loads."""

import json
import os
import threading
from pathlib import Path

import pytest

from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.server.settings import load_settings
from tests.acceptance.hubs import ENTRY, learn, until
from tests.acceptance.wire import running
from tests.services import opened
from tests.support import MINUTES, keeping_up, numbered
from tests.tool_names import NAMES

pytestmark = pytest.mark.slow


def test_semantic_searches_follow_soon_after_the_start(tmp_path: Path) -> None:
    with running(tmp_path, embedding_backend="sentence-transformers") as wire:
        assert len(wire.request("tools/list")["tools"]) == len(NAMES)
        ghap_id = learn(wire)
        # Whether the model is ready by now depends on the machine; the search answers either way.
        early = wire.call("search_experiences", query="stale price cache")
        assert early["mode"] in {"lexical", "hybrid"}
        assert [found["id"] for found in early["results"]] == [ghap_id]

        wire.call("start_ghap", **ENTRY)
        until(lambda: wire.call("get_stats")["index"]["complete"], "the model was not loaded")

        later = wire.call("search_experiences", query="old amounts are shown because of outdated copies")
        assert (later["mode"], [found["id"] for found in later["results"]]) == ("hybrid", [ghap_id])
        assert 0.15 < later["results"][0]["score"] <= 1
        # Within the call, or after it on a busy machine.
        wire.call("resolve_ghap", status="abandoned", result="enough")
        until(lambda: wire.call("get_stats")["index"]["complete"], "the entry was not indexed")
    for line in wire.stderr().splitlines():
        assert "event" in json.loads(line), "stderr holds something that is not a log line"


async def test_nothing_waits_for_a_model_that_is_loading(tmp_path: Path) -> None:
    gate = threading.Event()

    def load() -> Embedder:
        gate.wait()
        return load_packaged()

    settings = load_settings({"LEARNING_MEMORY_STORAGE_PATH": str(tmp_path), "LEARNING_MEMORY_CONFIG": os.devnull})
    query = ExperienceQuery(text="mend machine7", limit=5)
    async with opened(settings, load=load) as services, keeping_up(services.writer):
        try:
            services.collector.add_resolved([numbered(7, goal="Mend machine7")])
            early = await services.searcher.search_experiences(query)
            assert (early.mode, [found.entry.id for found in early.found]) == (SearchMode.LEXICAL, [numbered(7).id])
        finally:
            gate.set()
        await services.writer.settle(MINUTES)
        later = await services.searcher.search_experiences(query)
        assert (later.mode, [found.entry.id for found in later.found]) == (SearchMode.HYBRID, [numbered(7).id])
