"""Scores that are explained: what is shown adds up to the score that is shown.

Searches with a measured threshold, as an agent sees them.
"""

import re
from typing import Any

import pytest

from learning_memory_server.embedding.base import EmbeddingIdentity
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.server.agent import ENTRY, FALSIFIED, Agent, agent_of, at_work, open_index
from tests.server.memory_calls import add, said
from tests.server.topics import TOPICS, resolve_topics

ROUNDED = 1.1e-4
"""The most that rounding to four decimals can lose."""


def score_of(parts: dict[str, Any], mode: str) -> float:
    """Compute a score from its parts as the output schema says."""
    if mode == "lexical":
        return float(parts["lexical"])
    fused = float(parts["weight"]) * float(parts["cosine"]) + 0.55 * float(parts.get("lexical", 0))
    return 0.99 * float(parts.get("reranked", 0)) + 0.01 * fused if mode == "reranked" else fused


def lexical_of(parts: dict[str, Any], mode: str) -> float:
    bm25 = float(parts["bm25"])
    if mode == "lexical":
        return bm25 / (bm25 + 10)
    return float(parts["contrast"]) * bm25**2 / (bm25**2 + 400)


async def keep_entries(agent: Agent) -> None:
    for number in range(5):
        entry = {**ENTRY, "goal": f"make the checkout page load{' faster' * number}"}
        await agent.resolve_new(entry=entry, **(FALSIFIED if number % 2 else {}))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "mode"), [("stale price cache", "lexical"), ("stale price cache", "hybrid"), ("=> ?!", "semantic")]
)
@pytest.mark.parametrize("axis", ["full", "surprise"])
async def test_the_parts_of_a_score_add_up_to_it(
    services: Services, query: str, mode: str, axis: str, agent: Agent
) -> None:
    await keep_entries(agent)
    if mode != "lexical":
        await open_index(services)
    query = "the cache had been empty" if axis == "surprise" and mode != "semantic" else query
    reply = await agent.call("search_experiences", query=query, axis=axis, explain=True)

    assert reply["mode"] == mode
    assert reply["results"]
    for found in reply["results"]:
        parts = found["explanation"]
        assert score_of(parts, mode) == pytest.approx(found["score"], abs=ROUNDED)
        if mode != "semantic":
            assert lexical_of(parts, mode) == pytest.approx(parts["lexical"], abs=ROUNDED)
            assert "cach" in parts["terms"]
    known = {
        "lexical": {"lexical", "bm25", "terms"},
        "hybrid": {"cosine", "weight", "axis", "lexical", "bm25", "contrast", "terms"},
        "semantic": {"cosine", "weight", "axis"},
    }
    assert {name for found in reply["results"] for name in found["explanation"]} == known[mode]


async def test_the_axis_is_that_of_the_nearest_vector(services: Services, agent: Agent) -> None:
    query = "the cache had been empty all along"
    key = await agent.resolve_new(**FALSIFIED)
    await open_index(services)
    (found,) = (await agent.call("search_experiences", query=query, explain=True))["results"]

    cosines = {}
    for collection in Collection:
        if collection.startswith("experiences_"):
            (hit,) = await services.index.nearest(
                collection, HashingEmbedder().embed_queries([query])[0], limit=1, ids={point_id("ghap", key)}
            )
            cosines[collection.removeprefix("experiences_")] = hit.score
    parts = found["explanation"]
    assert parts["axis"] == max(cosines, key=lambda axis: cosines[axis]) == "surprise"
    assert parts["cosine"] == pytest.approx(cosines["surprise"], abs=ROUNDED)
    assert score_of(parts, "hybrid") == pytest.approx(found["score"], abs=ROUNDED)


@pytest.mark.slow
@pytest.mark.usefixtures("indexed")
async def test_nothing_is_explained_unless_requested(agent: Agent) -> None:
    await keep_entries(agent)
    reply = await agent.call("search_experiences", query="cache")
    assert not any("explanation" in found for found in reply["results"])
    assert "\nScore: " not in await said(agent, "search_memory", query="cache")


TEXTS = ("the price cache is stale", "a cache of prices, and prices again", "the tests are slow")


HYBRID_LINE = (
    r"Score: (?P<weight>\S+) x cosine (?P<cosine>\S+) \+ 0\.55 x lexical (?P<lexical>\S+) "
    r"\(bm25 (?P<bm25>\S+), contrast (?P<contrast>\S+)\); chunk 0; not re-ranked"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "mode", "line"),
    [
        ("stale prices", "lexical", r"Score: lexical (?P<lexical>\S+) \(bm25 (?P<bm25>\S+)\); chunk 0"),
        ("stale prices", "hybrid", HYBRID_LINE),
        ("=> ?!", "semantic", r"Score: (?P<weight>\S+) x cosine (?P<cosine>\S+); chunk 0; not re-ranked"),
    ],
)
async def test_the_score_of_a_memory_is_explained_in_a_line(
    services: Services, query: str, mode: str, line: str, agent: Agent
) -> None:
    for text in TEXTS:
        await add(agent, text)
    if mode != "lexical":
        await open_index(services)
    reply = await said(agent, "search_memory", query=query, explain=True)

    results = re.findall(r"^\d\. \[Score: (\S+)\].*\n(Score: .*)$", reply, re.MULTILINE)
    assert len(results) == reply.count("\nID: ") >= 2
    assert reply.endswith(f"Mode: {mode}")
    for score, explained in results:
        match = re.fullmatch(line, explained)
        assert match, explained
        parts = {name: float(value) for name, value in match.groupdict().items()}
        assert score_of(parts, mode) == pytest.approx(float(score), abs=0.005 + ROUNDED)
        if "bm25" in parts:
            assert lexical_of(parts, mode) == pytest.approx(parts["lexical"], abs=ROUNDED)


def similarities(reply: str) -> list[str]:
    return re.findall(r"^\d+\. \[Score: [^\]]+\](?: \[Tags: [^\]]+\])? \[Similarity: (\S+)\]", reply, re.MULTILINE)


async def test_similarities_are_shown_as_precisely_as_compared(services: Services, agent: Agent) -> None:
    for text in TEXTS:
        await add(agent, text, tags=["a"])
    lexical = await said(agent, "search_memory", query="the price cache")
    assert lexical.startswith("Found 2 results:")
    assert "Similarity" not in lexical
    await open_index(services)
    everything = await said(agent, "search_memory", query="the price cache")
    assert len(similarities(everything)) == 3
    assert all(re.fullmatch(r"[01]\.\d\d", shown) for shown in similarities(everything))
    for least in (0.3, 0.31, 0.316, 0.3162, 0.7, 0.77459):
        reply = await said(agent, "search_memory", query="the price cache", min_similarity=least)
        assert all(float(shown) >= least for shown in similarities(reply))
    digits = max(similarities(await said(agent, "search_memory", query="the price cache", min_similarity=0.77459)))
    assert re.fullmatch(r"0\.\d{5}", digits)


class Measured(HashingEmbedder):
    """A model whose identity has a threshold."""

    def __init__(self) -> None:
        super().__init__()
        self.identity = EmbeddingIdentity("hashing", "all-MiniLM-L6-v2", "1", 384, 0)


@pytest.mark.slow
async def test_a_search_says_that_it_found_nothing_and_values_come_along(settings: Settings) -> None:
    async with at_work(settings, load=Measured) as services, agent_of(services) as agent:
        await resolve_topics(agent)
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
    async with at_work(settings, load=Measured) as services, agent_of(services) as agent:
        await add(agent, "we chose sqlite over postgres")
        nothing = await said(agent, "search_memory", query="lasagne")
        weak = await said(agent, "search_memory", query="lasagne", min_score=0)
        good = await said(agent, "search_memory", query="sqlite over postgres")

    assert nothing == (
        "No results found matching your query.\n"
        "Note: 1 weak match was left out, with scores up to 0.000: min_similarity 0 shows them.\nMode: hybrid"
    )
    assert weak.startswith("Found 1 result:")
    assert "weak" not in weak + good
