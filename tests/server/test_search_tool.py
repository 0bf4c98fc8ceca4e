from typing import Any

import pytest

from learning_memory_server.model import limits
from learning_memory_server.server.composition.services import Services
from tests.server.agent import CONFIRMED, ENTRY, FALSIFIED, Agent
from tests.support import numbered

OTHER: dict[str, Any] = {
    "domain": "testing",
    "strategy": "divide-and-conquer",
    "goal": "make the suite pass",
    "hypothesis": "a fixture leaks its socket into the next test",
    "action": "bisect the suite",
    "prediction": "one half passes alone",
}


async def test_a_result_is_the_experience_and_its_score(mode: str, agent: Agent) -> None:
    started = await agent.call("start_ghap", **ENTRY)
    await agent.call("resolve_ghap", **FALSIFIED, lesson=CONFIRMED["lesson"])
    reply = await agent.call("search_experiences", query="stale price cache after a deploy")
    assert reply.keys() == {"results", "count", "mode", "stored_text"}
    assert (reply["count"], reply["mode"]) == (1, mode)
    (found,) = reply["results"]
    assert 0 < found.pop("score") <= 1
    assert found == {
        **ENTRY,
        "id": started["id"],
        "outcome_status": "falsified",
        "outcome_result": FALSIFIED["result"],
        "surprise": FALSIFIED["surprise"],
        "root_cause": FALSIFIED["root_cause"],
        "lesson": CONFIRMED["lesson"],
        "confidence_tier": "gold",
        "project": "shop",
        "created_at": started["created_at"],
    }


@pytest.mark.usefixtures("indexed")
async def test_three_results_are_whole_and_the_others_short(agent: Agent) -> None:
    lesson = {"what_worked": "w" * 300, "takeaway": "t" * 300}
    for number in range(5):
        entry = {**ENTRY, "goal": f"{number} {ENTRY['goal']} {'and so on ' * 30}"}
        await agent.resolve_new(entry=entry, status="confirmed", result="it did", lesson=lesson)
    found = (await agent.call("search_experiences", query="stale price cache"))["results"]
    second_page = (await agent.call("search_experiences", query="stale price cache", offset=2))["results"]
    full = (await agent.call("search_experiences", query="stale price cache", full=True))["results"]

    assert [each.get("lesson") for each in found] == [lesson] * 3 + [None] * 2
    assert second_page == found[2:]
    assert [each["lesson"] for each in full] == [lesson] * 5
    for short, whole in zip(found[3:], full[3:], strict=True):
        shared = short.keys() & whole.keys() - {"goal"}
        assert {key: short[key] for key in shared} == {key: whole[key] for key in shared}
        assert short["goal"] == f"{whole['goal'][:160]}..."
        assert short["learned"] == "t" * 160 + "..."
        assert not {"hypothesis", "action", "prediction", "outcome_result"} & short.keys()


@pytest.mark.usefixtures("indexed")
async def test_a_result_leaves_out_absent_fields(agent: Agent) -> None:
    await agent.resolve_new(status="confirmed", result="totals match")
    (found,) = (await agent.call("search_experiences", query="cache"))["results"]
    assert not {"surprise", "root_cause", "lesson", "left_out"} & found.keys()


@pytest.mark.slow
async def test_the_best_match_is_first_and_scores_fall(mode: str, agent: Agent) -> None:
    cache, fixture = await agent.resolve_new(), await agent.resolve_new(entry=OTHER)
    for query, best in (("stale price cache", cache), ("fixture leaks its socket", fixture)):
        reply = await agent.call("search_experiences", query=query)
        assert reply["mode"] == mode
        assert reply["results"][0]["id"] == best
        scores = [found["score"] for found in reply["results"]]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)


@pytest.mark.slow
async def test_filters_apply_before_the_limit(mode: str, agent: Agent) -> None:
    for _ in range(5):
        await agent.resolve_new()
    wanted = await agent.resolve_new(entry=OTHER, **FALSIFIED)
    filters: list[dict[str, Any]] = [
        {"domain": "testing"},
        {"outcome": "falsified"},
        {"strategy": "divide-and-conquer"},
        {"domain": "testing", "outcome": "falsified", "strategy": "divide-and-conquer"},
    ]
    for chosen in filters:
        reply = await agent.call("search_experiences", query="the price cache or a test", limit=1, **chosen)
        assert reply["mode"] == mode
        assert [found["id"] for found in reply["results"]] == [wanted]
    nothing = await agent.call("search_experiences", query="cache", domain="testing", outcome="confirmed")
    assert nothing == {"mode": mode, "results": [], "count": 0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("axis", "query"), [("surprise", "the cache had been empty"), ("root_cause", "database held old prices")]
)
async def test_an_axis_has_only_the_entries_that_are_on_it(axis: str, query: str, mode: str, agent: Agent) -> None:
    await agent.resolve_new()
    wanted = await agent.resolve_new(**FALSIFIED)
    reply = await agent.call("search_experiences", query=query, axis=axis)
    assert (reply["mode"], [found["id"] for found in reply["results"]]) == (mode, [wanted])


@pytest.mark.usefixtures("indexed")
async def test_an_empty_store_has_no_results_and_no_error(agent: Agent) -> None:
    for axis in ("full", "strategy", "surprise", "root_cause"):
        reply = await agent.call("search_experiences", query="anything", axis=axis)
        assert reply == {"mode": "hybrid", "results": [], "count": 0}


async def test_an_open_entry_is_not_found(agent: Agent) -> None:
    await agent.call("start_ghap", **ENTRY)
    assert (await agent.call("search_experiences", query="stale price cache"))["count"] == 0


@pytest.mark.parametrize(
    ("query", "indexed_mode"),
    [
        ('"quoted" (a|b) [c]* \\', "hybrid"),
        ("\U0001f600", "semantic"),
        ("-", "semantic"),
        ("null", "hybrid"),
        ("a" * 1_000, "hybrid"),
    ],
)
async def test_any_text_is_a_query(query: str, indexed_mode: str, mode: str, agent: Agent) -> None:
    await agent.resolve_new()
    found = await agent.call("search_experiences", query=query)
    assert found["mode"] == (indexed_mode if mode == "hybrid" else "lexical")


@pytest.mark.slow
@pytest.mark.parametrize("offset", [100, 10**12, 10**30])
@pytest.mark.usefixtures("indexed")
async def test_an_offset_beyond_the_end_is_an_empty_page_of_the_same_mode(offset: int, agent: Agent) -> None:
    await agent.resolve_new()
    reply = await agent.call("search_experiences", query="cache", offset=offset)
    assert reply == {"mode": "hybrid", "results": [], "count": 0}


@pytest.mark.slow
async def test_the_end_of_the_ranking_is_noted_and_is_not_the_end_of_the_store(
    services: Services, agent: Agent
) -> None:
    depth = limits.SEARCH_DEPTH_MAX
    services.collector.add_resolved([numbered(number) for number in range(depth + 1)])
    last = await agent.call("search_experiences", query="database", limit=5, offset=depth - 5)
    across = await agent.call("search_experiences", query="database", limit=5, offset=depth - 3)
    beyond = await agent.call("search_experiences", query="database", offset=depth)
    assert (last["count"], across["count"], beyond["count"]) == (5, 3, 0)
    assert "note" not in last
    assert across["note"] == beyond["note"]
    assert "the best 10,000" in beyond["note"]
