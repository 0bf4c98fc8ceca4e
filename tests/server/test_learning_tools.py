"""Retrospectives: clusters, their members, and the values they teach."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

from learning_memory_server.server.composition.services import Services
from tests.server.agent import ENTRY, Agent, agent_of, at_work, require
from tests.server.topics import TOPICS, VALUE, resolve_topic, resolve_topics
from tests.services import settings_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("indexed")]

WRONG = {"category": "wrong-assumption", "description": "marzipan"}


@pytest.mark.parametrize("axis", ["full", "strategy", "surprise", "root_cause"])
async def test_clusters_are_shown_largest_first_on_every_axis(
    topics: dict[str, list[str]], axis: str, agent: Agent
) -> None:
    reply = await agent.call("get_clusters", axis=axis)
    assert reply.keys() == {"axis", "clusters", "count", "noise_count", "total", "fitted_at", "stored_text"}
    assert abs(datetime.now(UTC) - datetime.fromisoformat(reply["fitted_at"])) < timedelta(minutes=5)
    assert (reply["axis"], reply["count"], reply["noise_count"], reply["total"]) == (axis, 3, 0, 24)
    assert [cluster["size"] for cluster in reply["clusters"]] == [10, 8, 6]
    for topic, cluster in zip(topics, reply["clusters"], strict=True):
        assert cluster == {
            "cluster_id": cluster["cluster_id"],
            "label": cluster["label"],
            "size": cluster["size"],
            "avg_weight": 0.8,
            "exemplars": cluster["exemplars"],
            "outcomes": {"falsified": cluster["size"]},
            "root_causes": {"oversight": cluster["size"]},
            "first_seen": cluster["first_seen"],
            "last_seen": cluster["last_seen"],
            "last_30_days": cluster["size"],
        }
        assert date.fromisoformat(cluster["first_seen"]) <= date.fromisoformat(cluster["last_seen"])
        assert cluster["cluster_id"].startswith(f"{axis}_")
        assert cluster["label"]
        assert cluster["exemplars"]
        for exemplar in cluster["exemplars"]:
            assert exemplar.keys() == {"id", "goal"}
            assert exemplar["id"] in topics[topic]
            assert exemplar["goal"].startswith(f"{topic} goal")


async def test_a_cluster_shows_a_takeaway_cut_to_300_characters(agent: Agent) -> None:
    entry = {**ENTRY, "goal": f"cache goal: {TOPICS['cache']}", "hypothesis": TOPICS["cache"]}
    await resolve_topic(agent, "cache", 20)
    (before,) = (await agent.call("get_clusters", axis="strategy"))["clusters"]
    takeaway = "Ask what deploys change. " * 20
    await agent.resolve_new(
        entry={**entry, "strategy": "root-cause-analysis"},
        status="falsified",
        result="r",
        surprise="s",
        root_cause=WRONG,
        lesson={"what_worked": TOPICS["cache"], "takeaway": takeaway},
    )
    (after,) = (await agent.call("get_clusters", axis="strategy"))["clusters"]
    assert "takeaway" not in before
    assert after["size"] == 21
    assert after["takeaway"] == takeaway[:299].rstrip() + "…"


async def test_members_are_whole_experiences(topics: dict[str, list[str]], agent: Agent) -> None:
    first = await agent.largest_cluster("root_cause")
    reply = await agent.call("get_cluster_members", cluster_id=first)
    assert reply.keys() == {"cluster_id", "axis", "members", "count", "stored_text"}
    assert (reply["cluster_id"], reply["axis"], reply["count"]) == (first, "root_cause", 10)
    assert {member["id"] for member in reply["members"]} == set(topics["cache"])
    for member in reply["members"]:
        assert member["ghap_id"] == member["id"]
        assert member.keys() == {
            "id",
            "ghap_id",
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


async def test_members_come_in_pages_of_the_limit(topics: dict[str, list[str]], agent: Agent) -> None:
    first = await agent.largest_cluster()
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
async def test_an_axis_with_too_few_experiences_says_how_many_are_needed(
    tool: str, arguments: dict[str, str], count: int, agent: Agent
) -> None:
    await resolve_topic(agent, "cache", count)
    error = await agent.refused(tool, **arguments)
    require(error, "insufficient_data", rf"\b{count}\b.*\b20\b", hint=".")


async def test_twenty_experiences_are_enough(agent: Agent) -> None:
    await resolve_topic(agent, "cache", 20)
    assert (await agent.call("get_clusters", axis="full"))["total"] == 20


async def test_an_axis_without_experiences_has_too_few(agent: Agent) -> None:
    for _ in range(20):
        await agent.resolve_new()
    error = await agent.refused("get_clusters", axis="surprise")
    require(error, "insufficient_data", r"\b0\b.*\b8\b")


async def test_a_reply_without_clusters_explains_why(agent: Agent) -> None:
    for number in range(20):
        words = " ".join(f"word{number}x{position}" for position in range(12))
        entry = dict.fromkeys(("goal", "hypothesis", "action", "prediction"), words)
        await agent.resolve_new(
            entry={"domain": "debugging", "strategy": "ask-user", **entry}, status="confirmed", result=words
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
async def test_an_unknown_cluster_is_not_found_and_the_existing_ones_are_named(
    tool: str, arguments: dict[str, str], agent: Agent
) -> None:
    error = await agent.refused(tool, **arguments)
    require(error, "not_found", "full_99", "full_0", hint="get_clusters")


async def test_every_tool_says_what_became_of_a_cluster_that_is_gone(
    indexed: Services, topics: dict[str, list[str]], agent: Agent
) -> None:
    before = (await agent.call("get_clusters", axis="surprise"))["clusters"]
    gone = before[2]["cluster_id"]
    # 18 experiences are left, too few for clusters, so more follow.
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
            "message": f"{gone} no longer exists. Its members are now: {before[2]['size']} forgotten.",
            "hint": "Call get_clusters with axis surprise.",
        }
    ]
    assert {cluster["cluster_id"] for cluster in left["clusters"]} == {cluster["cluster_id"] for cluster in before[:2]}
    assert left["total"] == 21


async def test_cluster_ids_and_values_survive_a_restart(tmp_path: Path) -> None:
    settings = settings_in(tmp_path / "restarted")
    async with at_work(settings) as services, agent_of(services) as agent:
        await resolve_topics(agent)
        before = await agent.call("get_clusters", axis="full")
        first = before["clusters"][0]["cluster_id"]
        value = await agent.call("store_value", text=VALUE, cluster_id=first, axis="full")
    async with at_work(settings) as services, agent_of(services) as agent:
        again = await agent.call("get_clusters", axis="full")
        assert again == {**before, "fitted_at": again["fitted_at"]}
        await resolve_topic(agent, "build", 7)
        after = await agent.call("get_clusters", axis="full")
        (listed,) = (await agent.call("list_values", full=True))["results"]
        assert {**listed, "note": value["note"]} == value
    assert [cluster["size"] for cluster in after["clusters"]] == [13, 10, 8]
    assert after["clusters"][0]["cluster_id"] == before["clusters"][2]["cluster_id"]
    assert after["clusters"][1]["cluster_id"] == first
    assert after["fitted_at"] >= before["fitted_at"]


async def test_clusters_of_a_project_and_the_noise_are_shown_on_request(agent: Agent) -> None:
    await resolve_topics(agent)
    unlike = dict.fromkeys(("goal", "hypothesis", "action", "prediction"), "quokka zither marzipan")
    await agent.call("start_ghap", **{**ENTRY, **unlike})
    lone = await agent.call("resolve_ghap", status="falsified", result="quokka", surprise="zither", root_cause=WRONG)
    everywhere = await agent.call("get_clusters", axis="full", include_noise=True)
    here = await agent.call("get_clusters", axis="full", project="current")
    first = here["clusters"][0]["cluster_id"]
    members = await agent.call("get_cluster_members", cluster_id=first)
    value = await agent.call("store_value", text=VALUE, cluster_id=first, axis="full")
    error = await agent.refused("get_clusters", axis="full", project="elsewhere")
    assert everywhere["noise"] == [{"id": lone["id"], "goal": unlike["goal"]}]
    assert "noise" not in here
    assert {each["cluster_id"] for each in everywhere["clusters"]}.isdisjoint(
        each["cluster_id"] for each in here["clusters"]
    )
    assert [each["size"] for each in here["clusters"]] == [each["size"] for each in everywhere["clusters"]]
    assert members["cluster_id"] == value["cluster_id"] == first
    assert len(members["members"]) == here["clusters"][0]["size"]
    assert error["type"] == "not_found"
