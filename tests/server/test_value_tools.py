"""The tools that try, store and list values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.domain.caller import Caller
from learning_memory_server.server.services import open_services
from tests.server.agent import Agent, agent_of, indexing
from tests.server.topics import SIZES, TOPICS, VALUE, apart, resolve_topic

if TYPE_CHECKING:
    from learning_memory_server.server.config import Settings
    from learning_memory_server.server.services import Services


@pytest.mark.usefixtures("topics")
async def test_a_value_is_tried_stored_and_listed_with_its_evidence(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        cluster = (await agent.call("get_clusters", axis="surprise"))["clusters"][0]
        members = await agent.call("get_cluster_members", cluster_id=cluster["cluster_id"])
        verdict = await agent.call("validate_value", text=VALUE, cluster_id=cluster["cluster_id"])
        assert verdict["valid"] is True
        assert await agent.call("list_values") == {"results": [], "count": 0}
        stored = await agent.call(
            "store_value", text=f" {VALUE} ", cluster_id=cluster["cluster_id"], axis="surprise"
        )
        listed = await agent.call("list_values")
    assert listed == {"results": [stored], "count": 1}
    assert stored.keys() == {
        "id",
        "text",
        "axis",
        "cluster_id",
        "cluster_size",
        "project",
        "created_at",
        "evidence",
        "support",
    }
    assert stored["support"] == {
        "strength": 0.722,
        "supporting": 10,
        "contradicting": 0,
        "contested": False,
    }
    assert (
        stored["text"],
        stored["axis"],
        stored["cluster_id"],
        stored["cluster_size"],
        stored["project"],
    ) == (
        VALUE,
        "surprise",
        cluster["cluster_id"],
        10,
        "shop",
    )
    evidence = stored["evidence"]
    assert {key: evidence[key] for key in ("similarity", "centroid_distance", "threshold")} == {
        key: verdict[key] for key in ("similarity", "centroid_distance", "threshold")
    }
    assert set(evidence["member_ids"]) <= {member["id"] for member in members["members"]}


@pytest.mark.usefixtures("topics")
async def test_a_verdict_has_all_numbers_whether_valid_or_not(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        first = (await agent.call("get_clusters", axis="full"))["clusters"][0]["cluster_id"]
        verdicts = [
            await agent.call("validate_value", text=text, cluster_id=first)
            for text in (VALUE, TOPICS["login"], "nothing of the kind")
        ]
    for verdict in verdicts:
        assert verdict.keys() == {
            "valid",
            "similarity",
            "centroid_distance",
            "threshold",
            "strict_rule",
            "rival",
            "reason",
        }
        assert all(
            isinstance(verdict[key], float) for key in ("similarity", "centroid_distance", "threshold")
        )
        assert verdict["centroid_distance"] == pytest.approx(1 - verdict["similarity"], abs=2e-4)
        strict = verdict["strict_rule"]
        assert strict["k"] == 0.5
        assert strict["threshold"] == pytest.approx(strict["mean"] + 0.5 * strict["std"], abs=2e-4)
        assert verdict["rival"]["cluster_id"].startswith("full_")
        assert verdict["rival"]["margin_needed"] == 0.04
        assert verdict["reason"]
    assert verdicts[1]["rival"]["margin"] < 0 < verdicts[0]["rival"]["margin"]
    assert [verdict["valid"] for verdict in verdicts] == [True, False, False]
    assert "closer to cluster" in verdicts[1]["reason"]


@pytest.mark.usefixtures("topics")
async def test_an_invalid_value_is_refused_with_the_figures_and_not_stored(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        first = (await agent.call("get_clusters", axis="full"))["clusters"][0]["cluster_id"]
        error = await agent.refused("store_value", text="always be kind", cluster_id=first, axis="full")
        assert (await agent.call("list_values"))["count"] == 0
    assert error["type"] == "validation_error"
    assert error["message"].startswith("text: ")
    assert "distance" in error["message"]
    assert "get_cluster_members" in error["hint"]


@pytest.mark.usefixtures("topics")
async def test_a_value_names_the_axis_of_its_cluster(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        first = (await agent.call("get_clusters", axis="full"))["clusters"][0]["cluster_id"]
        error = await agent.refused("store_value", text=VALUE, cluster_id=first, axis="strategy")
    assert error["type"] == "validation_error"
    assert error["message"].startswith("axis: strategy ")
    assert "expected full" in error["message"]


@pytest.mark.usefixtures("topics")
async def test_values_are_listed_by_cluster_size_then_newest_and_filtered(indexed: Services) -> None:
    async with agent_of(indexed) as agent, agent_of(indexed, Caller("blog", "b2")) as other:
        stored: dict[str, str] = {}

        async def store(by: Agent, topic: str, axis: str, key: str) -> None:
            clusters = (await by.call("get_clusters", axis=axis))["clusters"]
            cluster = clusters[list(TOPICS).index(topic)]["cluster_id"]
            reply = await by.call(
                "store_value", text=f"{topic} works again: {TOPICS[topic]}", cluster_id=cluster, axis=axis
            )
            stored[key] = reply["id"]

        await store(agent, "login", "full", "login")
        await store(agent, "cache", "full", "older")
        await store(other, "cache", "surprise", "newer")

        async def listed(**arguments: Any) -> list[str]:
            return [value["id"] for value in (await agent.call("list_values", **arguments))["results"]]

        assert await listed() == [stored["newer"], stored["older"], stored["login"]]
        assert await listed(axis="full") == [stored["older"], stored["login"]]
        assert await listed(axis="strategy") == []
        assert await listed(project="current") == [stored["older"], stored["login"]]
        assert await listed(project="blog") == [stored["newer"]]
        page = await agent.call("list_values", limit=2)
        assert (page["count"], page["total"], page["offset"]) == (2, 3, 2)
        assert await listed(limit=2, offset=2) == [stored["login"]]


@pytest.mark.usefixtures("topics")
async def test_a_value_shows_what_contradicts_it_and_is_superseded_by_a_better_one(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        first = (await agent.call("get_clusters", axis="full"))["clusters"][0]["cluster_id"]
        arguments = {"text": VALUE, "cluster_id": first, "axis": "full"}
        old = await agent.call("store_value", **arguments)
        assert old["support"]["supporting"] == 10
        belief = TOPICS["cache"]
        # Cached totals that were expected to be stale, and this once were.
        against = [
            await agent.resolve_new(
                entry={
                    "domain": "debugging",
                    "strategy": "root-cause-analysis",
                    "goal": f"cache goal: {belief}",
                    "hypothesis": belief,
                    "action": f"look at it, {apart(number)}",
                    "prediction": "cache works again",
                },
                status="confirmed",
                result=f"cache surprise: {belief}, {apart(number)}",
            )
            for number in range(40, 51)
        ]
        (contested,) = (await agent.call("list_values"))["results"]
        support = contested["support"]
        assert (support["supporting"], support["contradicting"], support["contested"]) == (10, 11, True)
        assert support["contradicted_by"] == against[:5:-1]
        assert support["contested_since"].endswith("+00:00")
        assert support["strength"] < old["support"]["strength"]

        verdict = await agent.call("validate_value", text=VALUE, cluster_id=first)
        assert verdict["similar"] == [{"id": old["id"], "text": VALUE, "similarity": 1.0}]
        better = {**arguments, "text": f"{VALUE} again"}
        new = await agent.call("store_value", **better, supersedes=old["id"])
        assert new["supersedes"] == old["id"]
        assert "similar" not in new
        assert [value["id"] for value in (await agent.call("list_values"))["results"]] == [new["id"]]
        both = (await agent.call("list_values", include_superseded=True, sort="strength"))["results"]
        assert {value["id"]: value.get("superseded_by") for value in both} == {
            new["id"]: None,
            old["id"]: new["id"],
        }
        error = await agent.refused("store_value", **arguments, supersedes=old["id"])
        assert error["type"] == "validation_error"
        assert new["id"] in error["message"]
        error = await agent.refused("store_value", **arguments, supersedes="value_0")
        assert (error["type"], "list_values" in error["hint"]) == ("not_found", True)


@pytest.mark.usefixtures("topics")
async def test_a_value_that_is_stored_again_is_shown_as_existing(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        first = (await agent.call("get_clusters", axis="full"))["clusters"][0]["cluster_id"]
        arguments = {"cluster_id": first, "axis": "full"}
        stored = await agent.call("store_value", text=VALUE, **arguments)
        again = await agent.call("store_value", text=f" {VALUE} ", **arguments)
        kept = await agent.call("store_value", text=VALUE, **arguments, supersedes=stored["id"])
        listed = await agent.call("list_values")
    assert again == kept == {**stored, "existing": True}
    assert listed == {"results": [stored], "count": 1}


async def test_a_list_made_before_the_model_is_ready_says_what_is_not_judged_yet(settings: Settings) -> None:
    async with (
        open_services(settings, purpose="a test") as services,
        indexing(services),
        agent_of(services) as agent,
    ):
        for topic, count in SIZES.items():
            await resolve_topic(agent, topic, count)
        first = (await agent.call("get_clusters", axis="full"))["clusters"][0]["cluster_id"]
        await agent.call("store_value", text=VALUE, cluster_id=first, axis="full")
    async with open_services(settings, purpose="a test") as services, agent_of(services) as agent:
        before = await agent.call("list_values")
        assert before.keys() == {"results", "count"}
        await resolve_topic(agent, "cache", 1)
        one = await agent.call("list_values")
        await resolve_topic(agent, "cache", 2)
        early = await agent.call("list_values", axis="full")
        assert "unjudged" not in await agent.call("list_values", axis="strategy")
        async with indexing(services):
            late = await agent.call("list_values")
    assert one["note"].startswith("1 experience is not judged yet: ")
    assert early["unjudged"] == 3
    assert early["note"].startswith("3 experiences are not judged yet: ")
    assert early["results"] == before["results"]
    assert late.keys() == {"results", "count"}
    assert late["results"][0]["support"]["supporting"] == 13
