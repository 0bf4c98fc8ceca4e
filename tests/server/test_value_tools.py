from typing import Any

import pytest

from learning_memory_server.embedding.scale import DEFAULT_SCALE
from learning_memory_server.model.caller import Caller
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.tools.toolset import STORED_TEXT
from tests.server.agent import ENTRY, Agent, agent_of, require
from tests.server.topics import TOPICS, VALUE

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("topics")]


async def test_a_value_is_tested_stored_and_listed_with_its_evidence(agent: Agent) -> None:
    cluster = (await agent.call("get_clusters", axis="surprise"))["clusters"][0]
    members = await agent.call("get_cluster_members", cluster_id=cluster["cluster_id"])
    verdict = await agent.call("validate_value", text=VALUE, cluster_id=cluster["cluster_id"])
    assert verdict["valid"] is True
    assert await agent.call("list_values") == {"results": [], "count": 0}
    read = [member["id"] for member in members["members"]]
    stored = await agent.call(
        "store_value",
        text=f" {VALUE} ",
        cluster_id=cluster["cluster_id"],
        axis="surprise",
        supported_by=read[:8],
        contradicted_by=read[8:9],
    )
    listed = await agent.call("list_values")
    full = await agent.call("list_values", full=True)
    concise = {"id": stored["id"], "text": VALUE, "standing": "supported"}
    counts = {"supporting": 8, "contradicting": 1}
    assert listed == {"results": [concise | counts], "count": 1, **STORED_TEXT}
    assert full == {"results": [stored], "count": 1, **STORED_TEXT}
    evidence = stored["evidence"]
    assert stored == {
        **concise,
        "axis": "surprise",
        "cluster_id": cluster["cluster_id"],
        "cluster_size": 10,
        "project": "shop",
        "created_at": stored["created_at"],
        "evidence": evidence,
        "support": {**counts, "interval": [0.565, 0.98], "supported_by": read[7:2:-1], "contradicted_by": [read[8]]},
    }
    shared = ("similarity", "centroid_distance", "threshold")
    assert [evidence[key] for key in shared] == [verdict[key] for key in shared]
    assert set(evidence["member_ids"]) <= set(read)


async def test_a_verdict_has_all_metrics_whether_valid_or_not(agent: Agent) -> None:
    first = await agent.largest_cluster()
    verdicts = [
        await agent.call("validate_value", text=text, cluster_id=first)
        for text in (VALUE, TOPICS["login"], "nothing of the kind")
    ]
    for verdict in verdicts:
        assert "topic only" in verdict["checked"]
        assert len(verdict["nearest_falsified"]) == 3
        assert verdict["nearest_falsified"][0].keys() == {"id", "hypothesis", "root_cause"}
        assert verdict.keys() == {
            "valid",
            "checked",
            "nearest_falsified",
            "nearest_lessons",
            "stored_text",
            "similarity",
            "centroid_distance",
            "threshold",
            "rival",
            "reason",
        }
        assert all(isinstance(verdict[key], float) for key in ("similarity", "centroid_distance", "threshold"))
        assert verdict["centroid_distance"] == pytest.approx(1 - verdict["similarity"], abs=2e-4)
        assert verdict["threshold"] == 0.6
        assert verdict["rival"]["cluster_id"].startswith("full_")
        assert verdict["rival"]["margin_needed"] == 0.04
        assert verdict["reason"]
    assert verdicts[1]["rival"]["margin"] < 0 < verdicts[0]["rival"]["margin"]
    assert [verdict["valid"] for verdict in verdicts] == [True, False, False]
    assert "closer to cluster" in verdicts[1]["reason"]


async def test_an_invalid_value_is_refused_with_its_metrics_and_not_stored(agent: Agent) -> None:
    first = await agent.largest_cluster()
    error = await agent.refused("store_value", text="always be kind", cluster_id=first, axis="full")
    assert (await agent.call("list_values"))["count"] == 0
    require(error, "validation_error", "^text: .*: off topic: .*distance", hint="get_cluster_members")


async def test_the_axis_of_a_value_is_that_of_its_cluster_and_checked_if_it_is_given(agent: Agent) -> None:
    first = await agent.largest_cluster()
    error = await agent.refused("store_value", text=VALUE, cluster_id=first, axis="strategy")
    require(error, "validation_error", "^axis: strategy .*expected full")
    assert (await agent.call("store_value", text=VALUE, cluster_id=first))["axis"] == "full"


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


async def test_a_contradicted_value_is_contested_and_superseded_by_a_better_one(
    topics: dict[str, list[str]], agent: Agent
) -> None:
    first = await agent.largest_cluster()
    arguments = {"text": VALUE, "cluster_id": first, "axis": "full"}
    old = await agent.call("store_value", **arguments)
    assert (old["standing"], old["support"]["interval"]) == ("unattested", [0.0, 1.0])
    assert old["note"].startswith("Unattested: ")
    judging = {"value_id": old["id"], "ghap_id": topics["cache"][0]}
    judged = await agent.call("judge_value", **judging, verdict="contradicts")
    assert judged == {
        **judging,
        "verdict": "contradicts",
        "standing": "contested",
        "support": {
            "supporting": 0,
            "contradicting": 1,
            "interval": [0.0, 0.793],
            "contradicted_by": [topics["cache"][0]],
        },
    }
    assert await agent.call("judge_value", **judging, verdict="contradicts") == judged
    (contested,) = (await agent.call("list_values"))["results"]
    assert (contested["standing"], contested["contradicting"]) == ("contested", 1)

    tested = await agent.call("validate_value", text=VALUE, cluster_id=first)
    assert tested["similar"] == [{"id": old["id"], "text": VALUE, "similarity": 1.0}]
    better = {**arguments, "text": f"{VALUE} again"}
    new = await agent.call("store_value", **better, supersedes=old["id"])
    assert new["supersedes"] == old["id"]
    assert "similar" not in new
    assert [value["id"] for value in (await agent.call("list_values"))["results"]] == [new["id"]]
    both = (await agent.call("list_values", include_superseded=True, sort="support"))["results"]
    assert {value["id"]: value.get("superseded_by") for value in both} == {new["id"]: None, old["id"]: new["id"]}
    error = await agent.refused("store_value", **arguments, supersedes=old["id"])
    require(error, "validation_error", new["id"])
    error = await agent.refused("store_value", **arguments, supersedes="value_0")
    require(error, "not_found", hint="list_values")


async def test_a_verdict_needs_a_value_a_resolved_entry_and_a_known_word(
    topics: dict[str, list[str]], agent: Agent
) -> None:
    first = await agent.largest_cluster()
    arguments = {"text": VALUE, "cluster_id": first, "axis": "full"}
    error = await agent.refused("store_value", **arguments, supported_by=["ghap_unknown"])
    assert (error["type"], error["message"]) == ("not_found", "supported_by: there is no entry ghap_unknown.")
    stored = await agent.call("store_value", **arguments)
    judging = {"value_id": stored["id"], "ghap_id": topics["cache"][0], "verdict": "supports"}
    started = await agent.call("start_ghap", **ENTRY)
    for wrong, kind in (
        ({"ghap_id": started["id"]}, "validation_error"),
        ({"ghap_id": "ghap_unknown"}, "not_found"),
        ({"value_id": "value_unknown"}, "not_found"),
        ({"verdict": "likes"}, "validation_error"),
    ):
        assert (await agent.refused("judge_value", **(judging | wrong)))["type"] == kind
    near = await agent.refused("judge_value", **(judging | {"verdict": "support"}))
    require(near, "validation_error", r"Did you mean supports\?$")
    (value,) = (await agent.call("list_values"))["results"]
    assert value["standing"] == "unattested"


async def test_a_resolved_entry_names_the_value_that_it_is_near(agent: Agent, services: Services) -> None:
    services.index.scale.known = DEFAULT_SCALE
    first = await agent.largest_cluster()
    stored = await agent.call("store_value", text=VALUE, cluster_id=first, axis="full")
    replies = []
    for belief in (TOPICS["cache"], TOPICS["build"]):
        await agent.call("start_ghap", **(ENTRY | {"goal": belief, "hypothesis": belief}))
        replies.append(await agent.call("resolve_ghap", status="confirmed", result="it did"))
    near, far = replies
    assert (near["value"]["id"], near["value"]["text"]) == (stored["id"], VALUE)
    call = f"call judge_value with value_id {stored['id']}, ghap_id {near['id']} and your verdict."
    assert near["value"]["next"].endswith(call)
    assert near["stored_text"] == STORED_TEXT["stored_text"]
    assert "value" not in far


async def test_values_are_found_by_task(agent: Agent) -> None:
    clusters = (await agent.call("get_clusters", axis="full"))["clusters"]
    stored = [
        await agent.call("store_value", text=TOPICS[topic], cluster_id=cluster["cluster_id"], axis="full")
        for topic, cluster in zip(TOPICS, clusters, strict=True)
    ]
    for topic, value in zip(TOPICS, stored, strict=True):
        found = await agent.call("list_values", query=TOPICS[topic], limit=1)
        assert found["results"] == [{"id": value["id"], "text": TOPICS[topic], "standing": "unattested"}]
        assert found["mode"] == "hybrid"


async def test_a_value_that_is_stored_again_is_shown_as_existing(agent: Agent) -> None:
    first = await agent.largest_cluster()
    arguments = {"cluster_id": first, "axis": "full"}
    stored = await agent.call("store_value", text=VALUE, **arguments)
    again = await agent.call("store_value", text=f" {VALUE} ", **arguments)
    kept = await agent.call("store_value", text=VALUE, **arguments, supersedes=stored["id"])
    listed = await agent.call("list_values", full=True)
    clusters = (await agent.call("get_clusters", axis="full"))["clusters"]
    other = next(each["cluster_id"] for each in clusters if each["cluster_id"] != first)
    elsewhere = await agent.call("store_value", text=VALUE, cluster_id=other, axis="full")
    assert again == kept == {**stored, "existing": True}
    said = f"This text is stored as a value of {first} already, and stays there. {stored['note']}"
    assert elsewhere == {**stored, "existing": True, "note": said}
    del stored["note"]
    assert listed == {"results": [stored], "count": 1, **STORED_TEXT}
