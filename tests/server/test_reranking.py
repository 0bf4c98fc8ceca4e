"""A re-ranking model in the whole server, as an agent meets it."""

import re
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from learning_memory_server.embedding.extras.sentence import CrossEncoderReranker
from learning_memory_server.index.document import axis_texts
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from tests.server.agent import CONFIRMED, ENTRY, FALSIFIED, Agent, agent_of, at_work
from tests.server.memory_calls import add, said
from tests.services import run
from tests.support import in_one_task
from tests.tiny_reranker import FAVOURITE

QUERY = "stale price cache after a deploy"


@pytest.fixture
async def reranked(settings: Settings, reranker_folder: Path) -> AsyncIterator[Services]:
    """Services whose index is open and whose re-ranking model is loaded."""
    async with at_work(settings, reranker_model=str(reranker_folder)) as services:
        await services.reranking.loaded()
        yield services


@pytest.fixture
async def agent(reranked: Services) -> AsyncIterator[Agent]:
    async with in_one_task(agent_of(reranked)) as connected:
        yield connected


async def resolve_many(agent: Agent, count: int) -> list[str]:
    """Resolve entries less and less similar to the query; every seventh has the favourite word in its action."""
    ids = []
    for number in range(count):
        action = f"try {FAVOURITE} {FAVOURITE} {FAVOURITE}" if number % 7 == 6 else "clear the cache"
        entry = {**ENTRY, "action": action, "goal": f"{'other things ' * (number + 1)}{number}"}
        ids.append(await agent.resolve_new(entry=entry, **FALSIFIED))
    return ids


async def test_an_agent_gets_experiences_in_model_order(
    reranked: Services, reranker_folder: Path, agent: Agent
) -> None:
    ids = await resolve_many(agent, 14)
    reply = await agent.call("search_experiences", query=QUERY, limit=14)

    assert reply["mode"] == "reranked"
    texts = {entry.id: axis_texts(entry)[Axis.FULL] for entry in reranked.collector.list_resolved()}
    own = CrossEncoderReranker(str(reranker_folder)).scores(QUERY, [texts[key] for key in ids])
    scores = {found["id"]: found["score"] for found in reply["results"]}
    for key, score in zip(ids, own.tolist(), strict=True):
        assert scores[key] == pytest.approx(score, abs=0.011)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    assert all(0 <= score <= 1 for score in scores.values())
    assert {found["id"] for found in reply["results"][:2]} == {ids[6], ids[13]}


async def test_a_re_ranked_score_is_explained(agent: Agent) -> None:
    await resolve_many(agent, 22)
    reply = await agent.call("search_experiences", query=QUERY, limit=22, explain=True)
    await add(agent, f"the price cache is {FAVOURITE}")
    text = await said(agent, "search_memory", query="price cache", explain=True)

    for found in reply["results"]:
        parts = found["explanation"]
        rest = parts["weight"] * parts["cosine"] + 0.55 * parts["lexical"]
        assert found["score"] == pytest.approx(0.99 * parts.get("reranked", 0) + 0.01 * rest, abs=1.1e-4)
    assert ["reranked" in found["explanation"] for found in reply["results"]] == [True] * 20 + [False] * 2
    line = re.search(
        r"Score: 0\.99 x re-ranked (\S+) \+ 0\.01 x "
        r"\((\S+) x cosine (\S+) \+ 0\.55 x lexical (\S+) \(bm25 \S+, contrast \S+\)\); chunk 0\n",
        text,
    )
    score = re.search(r"\[Score: (\S+)\]", text)
    assert line
    assert score
    read, weight, cosine, lexical = map(float, line.groups())
    assert float(score[1]) == pytest.approx(0.99 * read + 0.01 * (weight * cosine + 0.55 * lexical), abs=0.0051)


async def test_pages_of_a_search_go_together(agent: Agent) -> None:
    await resolve_many(agent, 30)
    whole = await agent.call("search_experiences", query=QUERY, limit=30)
    again = await agent.call("search_experiences", query=QUERY, limit=30)
    pages = [await agent.call("search_experiences", query=QUERY, limit=7, offset=offset) for offset in range(0, 30, 7)]

    assert again == whole
    assert [found for page in pages for found in page["results"]] == whole["results"]
    assert {page["mode"] for page in pages} == {"reranked"}


@pytest.mark.parametrize("axis", Axis)
async def test_each_axis_is_read_as_indexed(
    reranked: Services, reranker_folder: Path, axis: Axis, agent: Agent
) -> None:
    await agent.resolve_new(**FALSIFIED, lesson=CONFIRMED["lesson"])
    reply = await agent.call("search_experiences", query=QUERY, axis=axis.value)

    (entry,) = reranked.collector.list_resolved()
    (own,) = CrossEncoderReranker(str(reranker_folder)).scores(QUERY, [axis_texts(entry)[axis]])
    assert reply["mode"] == "reranked"
    assert reply["results"][0]["score"] == pytest.approx(float(own), abs=0.011)


async def test_an_agent_gets_memories_in_the_model_s_order(agent: Agent) -> None:
    for number in range(30):
        await add(agent, f"the price cache goes stale {'x ' * number}")
    pages = "\n\n".join(f"# Page {page}\n\n{'All on deploys. ' * 30}" for page in range(9))
    long = await add(agent, f"{pages}\n\n# Prices\n\nprice {FAVOURITE} cache {FAVOURITE}")
    short = await add(agent, f"price cache {FAVOURITE} {FAVOURITE}", tags=["wanted"])
    found = await said(agent, "search_memory", query="price cache excellent", limit=3)
    one = await said(agent, "search_memory", query="price cache excellent", limit=1)
    few = await said(agent, "search_memory", query="price", limit=5, filters={"tags": ["wanted"]})

    assert found.endswith("Mode: reranked")
    assert re.findall("ID: (.*)", found)[:2] == [short, long]
    assert re.findall("ID: (.*)", one) == [short]
    assert re.findall("ID: (.*)", few) == [short]


async def test_what_is_not_similar_enough_stays_away(agent: Agent) -> None:
    await add(agent, f"{FAVOURITE} butterflies")
    near = await add(agent, "price cache")
    found = await said(agent, "search_memory", query="price cache", min_similarity=0.5)

    assert re.findall("ID: (.*)", found) == [near]
    assert found.endswith("Mode: reranked")


async def test_a_missing_model_leaves_searches_as_they_are(settings: Settings) -> None:
    missing = "/nowhere/to/be/found"
    async with at_work(settings, reranker_model=missing) as services, agent_of(services) as agent:
        cached = await agent.resolve_new()
        first = await agent.call("search_experiences", query=QUERY)
        reply = await run(services, "complete", to_search=True)
        after = await agent.call("search_experiences", query=QUERY)

    assert [found["id"] for found in first["results"]] == [cached]
    assert first == after
    assert after["mode"] == "hybrid"
    (notice,) = reply["notices"]
    assert notice.startswith(f"The re-ranking model {missing!r} is not on this machine.")


async def test_no_model_is_loaded_before_a_search_needs_it(settings: Settings, reranker_folder: Path) -> None:
    model = str(reranker_folder)
    async with at_work(settings, reranker_model=model) as services, agent_of(services) as agent:
        await agent.resolve_new()
        assert not [thread for thread in threading.enumerate() if thread.name == "reranker"]
        modes = [(await agent.call("search_experiences", query=QUERY))["mode"]]
        # Only the searches themselves cause it to be loaded.
        while modes[-1] == "hybrid":
            modes.append((await agent.call("search_experiences", query=QUERY))["mode"])

    assert (modes[0], modes[-1]) == ("hybrid", "reranked")
