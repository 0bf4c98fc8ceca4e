"""Replies that would be too long end after an item and say how to get the rest."""

from typing import Any

import pytest

from learning_memory_server.model.caller import Caller
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.tools.toolset import STORED_TEXT, page
from tests.server.agent import Agent, agent_of, open_index, pages

WORDS = "the price cache returns stale totals after every deploy "
ENTRIES = 30
STATEMENTS = ("goal", "hypothesis", "action", "prediction")
ESCAPED = "\x01"
"""Six characters of JSON."""


def filled(length: int, number: int) -> str:
    """Return `length` characters of the same words."""
    return f"{number:03} {WORDS * 60}"[: length - 1] + "."


def statements(number: int) -> dict[str, str]:
    return {part: filled(1_000, number) for part in STATEMENTS}


def entry_of(**texts: str) -> dict[str, str]:
    return {"domain": "testing", "strategy": "ask-user", **texts}


async def resolve_large(agent: Agent, number: int) -> str:
    return await agent.resolve_new(
        entry=entry_of(**statements(number)),
        status="falsified",
        result=filled(2_000, number),
        surprise=filled(2_000, number),
        root_cause={"category": "oversight", "description": filled(2_000, number)},
        lesson={"what_worked": filled(2_000, number), "takeaway": filled(2_000, number)},
    )


def assert_pages_add_up(found: list[dict[str, Any]], key: str, ids: list[str]) -> None:
    """Check that the pages hold every id once, and that each but the last says how to continue."""
    assert len(found) > 1
    assert sorted(item["id"] for reply in found for item in reply[key]) == sorted(ids)
    seen = 0
    for reply in found[:-1]:
        seen += reply["count"]
        assert reply["truncated"] is True
        assert reply["total"] == len(ids)
        assert reply["offset"] == seen
    assert not {"offset", "truncated"} & found[-1].keys()


@pytest.fixture
async def large(indexed: Services) -> list[str]:
    """The ids of entries of more than 14,000 characters each."""
    async with agent_of(indexed) as agent:
        return [await resolve_large(agent, number) for number in range(ENTRIES)]


@pytest.mark.slow
@pytest.mark.usefixtures("indexed")
async def test_large_members_come_in_pages_that_add_up(large: list[str], agent: Agent) -> None:
    (cluster,) = (await agent.call("get_clusters", axis="full"))["clusters"]
    found = await pages(agent, "get_cluster_members", "members", cluster_id=cluster["cluster_id"], limit=100)
    assert_pages_add_up(found, "members", large)


@pytest.mark.slow
@pytest.mark.usefixtures("indexed")
async def test_large_search_results_come_in_pages_that_add_up(large: list[str], agent: Agent) -> None:
    found = await pages(agent, "search_experiences", "results", query=WORDS, limit=50)
    assert_pages_add_up(found, "results", large)
    assert {reply["mode"] for reply in found} == {"hybrid"}


@pytest.mark.slow
async def test_large_lexical_results_come_in_pages_that_add_up(agent: Agent) -> None:
    ids = [await resolve_large(agent, number) for number in range(5)]
    found = await pages(agent, "search_experiences", "results", query=WORDS)
    assert_pages_add_up(found, "results", ids)


@pytest.mark.slow
@pytest.mark.usefixtures("indexed")
async def test_a_long_list_comes_in_pages_that_add_up(large: list[str], agent: Agent) -> None:
    found = await pages(agent, "list_ghap_entries", "results", limit=100)
    assert_pages_add_up(found, "results", large)
    by_limit = await pages(agent, "list_ghap_entries", "results", limit=7)
    assert [entry for reply in by_limit for entry in reply["results"]] == [
        entry for reply in found for entry in reply["results"]
    ]
    assert [reply["count"] for reply in by_limit] == [7, 7, 7, 7, 2]


@pytest.mark.slow
@pytest.mark.usefixtures("indexed")
async def test_many_clusters_come_in_pages_that_add_up(agent: Agent) -> None:
    for topic in range(14):
        text = " ".join(f"topic{topic}word{number}" for number in range(70))[:998]
        for number in range(4):
            entry = entry_of(**dict.fromkeys(STATEMENTS, f"{number} {text}"))
            await agent.resolve_new(entry=entry, status="confirmed", result=text)
    found = await pages(agent, "get_clusters", "clusters", axis="full")
    assert len(found) > 1
    ids = [cluster["cluster_id"] for reply in found for cluster in reply["clusters"]]
    assert len(ids) == len(set(ids)) == 14
    assert {reply["total"] for reply in found} == {56}
    assert all(reply["truncated"] for reply in found[:-1])


@pytest.mark.slow
async def test_a_single_item_that_is_too_long_is_shown_without_its_largest_parts(
    services: Services, agent: Agent
) -> None:
    ids = [
        await agent.resolve_new(
            entry=entry_of(**dict.fromkeys(STATEMENTS, ESCAPED * 1_000)),
            status="falsified",
            result=ESCAPED * 2_000,
            surprise="the cache had been empty",
            root_cause={"category": "oversight", "description": ESCAPED * 2_000},
        )
        for _ in range(3)
    ]
    await open_index(services)
    found = await pages(agent, "search_experiences", "results", query="empty cache", axis="surprise")
    assert_pages_add_up(found, "results", ids)
    for reply in found:
        for item in reply["results"]:
            assert item["left_out"]
            assert not item["left_out"].keys() & item.keys()
            assert item["surprise"] == "the cache had been empty"


async def test_a_long_history_shows_its_newest_revisions(agent: Agent) -> None:
    def changed(number: int) -> dict[str, str]:
        return {part: text for part, text in statements(number).items() if part != "goal"}

    await agent.call("start_ghap", **entry_of(**statements(0)))
    for number in range(1, 41):
        await agent.call("update_ghap", **changed(number))
    active = await agent.call("get_active_ghap")
    assert {**active, **changed(40), "iteration_count": 41} == active
    shown = [revision["hypothesis"] for revision in active["history"]]
    assert shown == [statements(number)["hypothesis"] for number in range(40 - len(shown), 40)]
    assert 0 < len(shown) < 40
    assert active["left_out"] == {"history": f"the newest {len(shown)} of 40 are shown"}


@pytest.mark.slow
async def test_many_orphans_are_shown_newest_first_and_the_rest_is_counted(services: Services) -> None:
    async with agent_of(services, Caller("shop", "gone")) as gone:
        ids = [(await gone.call("start_ghap", **entry_of(**statements(n))))["id"] for n in range(60)]
    async with agent_of(services) as agent:
        active = await agent.call("get_active_ghap")
    shown = [entry["id"] for entry in active["orphaned"]]
    assert shown == list(reversed(ids))[: len(shown)]
    assert 0 < len(shown) < 60
    assert active["left_out"] == {"orphaned": f"the newest {len(shown)} of 60 are shown"}


def test_the_last_page_says_neither_total_nor_offset() -> None:
    assert page("results", [{"id": "a"}], of=1) == {"results": [{"id": "a"}], "count": 1, **STORED_TEXT}
    assert page("results", [], of=0) == {"results": [], "count": 0}


def test_a_page_that_ends_at_the_limit_says_how_to_continue() -> None:
    assert page("results", [{"id": "b"}], offset=1, of=3) == {
        "total": 3,
        "results": [{"id": "b"}],
        "count": 1,
        "offset": 2,
        **STORED_TEXT,
    }


def test_absent_parts_are_left_out_of_a_page() -> None:
    assert page("results", [], mode="lexical", explanation=None) == {"mode": "lexical", "results": [], "count": 0}
