"""Searches with a measured threshold, as an agent sees them."""

import pytest

from learning_memory_server.embedding.base import EmbeddingIdentity
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings
from tests.server.agent import agent_of, indexing
from tests.server.memory_calls import add, said
from tests.server.topics import SIZES, TOPICS, resolve_topic
from tests.support import InProcessFitting


class Measured(HashingEmbedder):
    """A model whose identity has a threshold."""

    def __init__(self) -> None:
        super().__init__()
        self.identity = EmbeddingIdentity("hashing", "all-MiniLM-L6-v2", "1", 384, 0)


@pytest.mark.slow
async def test_a_search_says_that_it_found_nothing_and_values_come_along(settings: Settings) -> None:
    opening = open_services(settings, purpose="a test", load=Measured, fitting=InProcessFitting())
    async with opening as services, indexing(services), agent_of(services) as agent:
        for topic, count in SIZES.items():
            await resolve_topic(agent, topic, count)
        clusters = (await agent.call("get_clusters", axis="full"))["clusters"]
        value = await agent.call("store_value", text=TOPICS["cache"], cluster_id=clusters[0]["cluster_id"], axis="full")
        nothing = await agent.call("search_experiences", query="lasagne")
        everything = await agent.call("search_experiences", query="lasagne", min_score=0)
        found = await agent.call("search_experiences", query=TOPICS["cache"], limit=2)
        second = await agent.call("search_experiences", query=TOPICS["cache"], limit=2, offset=2)

    assert nothing == {
        "results": [],
        "count": 0,
        "mode": "hybrid",
        "note": "10 weak matches were left out, with scores up to 0.000: min_score 0 shows them.",
    }
    assert everything["count"] == 10
    assert "note" not in everything
    assert found["values"] == [{"id": value["id"], "text": TOPICS["cache"], "standing": "unattested"}]
    assert "values" not in second


@pytest.mark.slow
async def test_a_memory_search_says_that_it_left_out_weak_matches(settings: Settings) -> None:
    opening = open_services(settings, purpose="a test", load=Measured)
    async with opening as services, indexing(services), agent_of(services) as agent:
        await add(agent, "we chose sqlite over postgres")
        nothing = await said(agent, "search_memory", query="lasagne")
        weak = await said(agent, "search_memory", query="lasagne", min_score=0)
        good = await said(agent, "search_memory", query="sqlite over postgres")

    assert nothing == (
        "No results found matching your query.\n"
        "Note: 1 weak match was left out, with scores up to 0.000: min_score 0 shows them.\nMode: hybrid"
    )
    assert weak.startswith("Found 1 results:")
    assert "weak" not in weak + good
