"""Retrospectives: clusters, their members, and the values drawn from them."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server.domain.caller import Caller
from learning_memory_server.server.services import open_services
from tests.server.agent import Agent, agent_of, indexing

if TYPE_CHECKING:
    from learning_memory_server.server.config import Settings
    from learning_memory_server.server.services import Services

TOPICS = {
    "cache": "the price cache returns stale totals after every deploy",
    "login": "session cookies vanish when users open a second browser window",
    "build": "compiler flags differ between laptop and continuous integration machine",
}
SIZES = {"cache": 10, "login": 8, "build": 6}
VALUE = "cache works again: the price cache returns stale totals after every deploy"


def apart(number: int) -> str:
    """Return words that no other number has: experiences of one topic are alike, not equal."""
    return " ".join(f"case{number}detail{part}" for part in range(8))


async def resolve_topic(agent: Agent, topic: str, count: int) -> list[str]:
    """Resolve entries that share the words of a topic, and return their ids."""
    belief = TOPICS[topic]
    return [
        await agent.resolve_new(
            entry={
                "domain": "debugging",
                "strategy": "root-cause-analysis",
                "goal": f"{topic} goal: {belief}",
                "hypothesis": belief,
                "action": f"look at it, {apart(number)}",
                "prediction": f"{topic} works again",
            },
            status="falsified",
            result=f"still broken, {apart(number)}",
            surprise=f"{topic} surprise: {belief}",
            root_cause={"category": "oversight", "description": f"{topic} cause: {belief}"},
        )
        for number in range(count)
    ]


@pytest.fixture
async def topics(indexed: Services) -> dict[str, list[str]]:
    """The ids of the entries of each topic."""
    async with agent_of(indexed) as agent:
        return {topic: await resolve_topic(agent, topic, count) for topic, count in SIZES.items()}


@pytest.mark.parametrize("axis", ["full", "strategy", "surprise", "root_cause"])
async def test_clusters_are_shown_largest_first_on_every_axis(
    indexed: Services, topics: dict[str, list[str]], axis: str
) -> None:
    async with agent_of(indexed) as agent:
        reply = await agent.call("get_clusters", axis=axis)
    assert reply.keys() == {"axis", "clusters", "count", "noise_count", "total", "fitted_at"}
    assert abs(datetime.now(UTC) - datetime.fromisoformat(reply["fitted_at"])) < timedelta(minutes=5)
    assert (reply["axis"], reply["count"], reply["noise_count"], reply["total"]) == (axis, 3, 0, 24)
    assert [cluster["size"] for cluster in reply["clusters"]] == [10, 8, 6]
    for topic, cluster in zip(topics, reply["clusters"], strict=True):
        assert cluster.keys() == {
            "cluster_id",
            "label",
            "size",
            "avg_weight",
            "exemplars",
            "outcomes",
            "root_causes",
            "first_seen",
            "last_seen",
            "last_30_days",
        }
        assert cluster["outcomes"] == {"falsified": cluster["size"]}
        assert cluster["root_causes"] == {"oversight": cluster["size"]}
        assert cluster["last_30_days"] == cluster["size"]
        assert date.fromisoformat(cluster["first_seen"]) <= date.fromisoformat(cluster["last_seen"])
        assert cluster["cluster_id"].startswith(f"{axis}_")
        assert cluster["label"]
        assert cluster["avg_weight"] == 0.8
        assert cluster["exemplars"]
        for exemplar in cluster["exemplars"]:
            assert exemplar.keys() == {"id", "goal"}
            assert exemplar["id"] in topics[topic]
            assert exemplar["goal"].startswith(f"{topic} goal")


async def test_members_are_whole_experiences(indexed: Services, topics: dict[str, list[str]]) -> None:
    async with agent_of(indexed) as agent:
        first = (await agent.call("get_clusters", axis="root_cause"))["clusters"][0]["cluster_id"]
        reply = await agent.call("get_cluster_members", cluster_id=first)
    assert reply.keys() == {"cluster_id", "axis", "members", "count"}
    assert (reply["cluster_id"], reply["axis"], reply["count"]) == (first, "root_cause", 10)
    assert {member["id"] for member in reply["members"]} == set(topics["cache"])
    for member in reply["members"]:
        assert member.keys() == {
            "id",
            "goal",
            "hypothesis",
            "action",
            "prediction",
            "outcome_status",
            "outcome_result",
            "surprise",
            "root_cause",
            "confidence_tier",
            "domain",
            "strategy",
            "project",
            "created_at",
        }
        assert member["root_cause"]["category"] == "oversight"
        assert member["confidence_tier"] == "silver"


async def test_members_come_in_pages_of_the_limit(indexed: Services, topics: dict[str, list[str]]) -> None:
    async with agent_of(indexed) as agent:
        first = (await agent.call("get_clusters", axis="full"))["clusters"][0]["cluster_id"]
        whole = await agent.call("get_cluster_members", cluster_id=first)
        page = await agent.call("get_cluster_members", cluster_id=first, limit=4)
        assert (page["count"], page["total"], page["offset"]) == (4, 10, 4)
        assert "truncated" not in page
        last = await agent.call("get_cluster_members", cluster_id=first, limit=100, offset=8)
    assert page["members"] == whole["members"][:4]
    assert last["members"] == whole["members"][8:]
    assert "offset" not in last
    assert len(topics["cache"]) == whole["count"]


@pytest.mark.parametrize("count", [0, 19])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_clusters", {"axis": "full"}),
        ("get_cluster_members", {"cluster_id": "full_0"}),
        ("validate_value", {"text": VALUE, "cluster_id": "full_0"}),
        ("store_value", {"text": VALUE, "cluster_id": "full_0", "axis": "full"}),
    ],
)
async def test_too_few_experiences_are_counted_and_the_needed_number_is_said(
    indexed: Services, tool: str, arguments: dict[str, str], count: int
) -> None:
    async with agent_of(indexed) as agent:
        await resolve_topic(agent, "cache", count)
        error = await agent.refused(tool, **arguments)
    assert error["type"] == "insufficient_data"
    assert re.search(rf"\b{count}\b.*\b20\b", error["message"])
    assert error["hint"]


async def test_twenty_experiences_are_enough(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        await resolve_topic(agent, "cache", 20)
        assert (await agent.call("get_clusters", axis="full"))["total"] == 20


async def test_an_axis_without_experiences_has_too_few(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        for _ in range(20):
            await agent.resolve_new()
        error = await agent.refused("get_clusters", axis="surprise")
    assert error["type"] == "insufficient_data"
    assert re.search(r"\b0\b.*\b20\b", error["message"])


async def test_no_cluster_is_explained(indexed: Services) -> None:
    async with agent_of(indexed) as agent:
        for number in range(20):
            words = " ".join(f"word{number}x{position}" for position in range(12))
            entry = dict.fromkeys(("goal", "hypothesis", "action", "prediction"), words)
            await agent.resolve_new(
                entry={"domain": "debugging", "strategy": "ask-user", **entry},
                status="confirmed",
                result=words,
            )
        reply = await agent.call("get_clusters", axis="full")
    assert (reply["clusters"], reply["count"], reply["noise_count"], reply["total"]) == ([], 0, 20, 20)
    assert "20" in reply["explanation"]
    assert "hdbscan_min_cluster_size" in reply["explanation"]


@pytest.mark.usefixtures("topics")
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("get_cluster_members", {"cluster_id": "full_99"}),
        ("validate_value", {"text": VALUE, "cluster_id": "full_99"}),
        ("store_value", {"text": VALUE, "cluster_id": "full_99", "axis": "full"}),
    ],
)
async def test_an_unknown_cluster_is_not_found_and_the_present_ones_are_named(
    indexed: Services, tool: str, arguments: dict[str, str]
) -> None:
    async with agent_of(indexed) as agent:
        error = await agent.refused(tool, **arguments)
    assert error["type"] == "not_found"
    assert "full_99" in error["message"]
    assert "full_0" in error["message"]
    assert "get_clusters" in error["hint"]


async def test_of_a_cluster_that_is_gone_every_tool_says_what_became_of_it(
    indexed: Services, topics: dict[str, list[str]]
) -> None:
    async with agent_of(indexed) as agent:
        before = (await agent.call("get_clusters", axis="surprise"))["clusters"]
        gone = before[2]["cluster_id"]
        # 18 experiences are left, fewer than clusters need, so others come.
        await resolve_topic(agent, "login", 3)
        indexed.collector.forget(topics["build"], indexed.clock())
        errors = [
            await agent.refused("get_cluster_members", cluster_id=gone),
            await agent.refused("validate_value", text=VALUE, cluster_id=gone),
            await agent.refused("store_value", text=VALUE, cluster_id=gone, axis="surprise"),
        ]
        left = await agent.call("get_clusters", axis="surprise")
    assert errors == 3 * [
        {
            "type": "not_found",
            "message": f"{gone} is gone: all its members were forgotten.",
            "hint": "Call get_clusters with axis surprise.",
        }
    ]
    assert {cluster["cluster_id"] for cluster in left["clusters"]} == {
        cluster["cluster_id"] for cluster in before[:2]
    }
    assert left["total"] == 21


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


async def test_clusters_keep_their_ids_and_values_stay_over_a_restart(settings: Settings) -> None:
    async with (
        open_services(settings, purpose="a test") as services,
        indexing(services),
        agent_of(services) as agent,
    ):
        for topic, count in SIZES.items():
            await resolve_topic(agent, topic, count)
        before = await agent.call("get_clusters", axis="full")
        first = before["clusters"][0]["cluster_id"]
        value = await agent.call("store_value", text=VALUE, cluster_id=first, axis="full")
    async with (
        open_services(settings, purpose="a test") as services,
        indexing(services),
        agent_of(services) as agent,
    ):
        assert await agent.call("get_clusters", axis="full") == before
        await resolve_topic(agent, "build", 7)
        after = await agent.call("get_clusters", axis="full")
        assert (await agent.call("list_values"))["results"] == [value]
    assert [cluster["size"] for cluster in after["clusters"]] == [13, 10, 8]
    assert after["clusters"][0]["cluster_id"] == before["clusters"][2]["cluster_id"]
    assert after["clusters"][1]["cluster_id"] == first
    assert (after["placed_since"], after["refitting"]) == (7, True)
    assert after["fitted_at"] == before["fitted_at"]
