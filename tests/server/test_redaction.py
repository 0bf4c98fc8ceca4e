"""No secret in an argument of a tool reaches the journal, the index or the log; replies say what was left out."""

import asyncio
import random
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.model import limits
from learning_memory_server.server.composition.services import Services
from tests.logs import log_to
from tests.server.agent import CALLER, CONFIRMED, ENTRY, FALSIFIED, Agent, agent_of, at_work, only_text
from tests.server.memory_calls import add, said
from tests.server.topics import VALUE
from tests.services import opened
from tests.traces import files_with

TOKEN = "gh" + "p_" + drawn(random.Random(21), ALNUM, 36)
PASSWORD = drawn(random.Random(22), ALNUM, 14)
MARKED = "[redacted: github token]"


def sown(value: Any) -> Any:
    """Return arguments with the token at the end of each text, but for those that name one of a few things."""
    if isinstance(value, str):
        return f"{value} {TOKEN}"
    if isinstance(value, list):
        return [sown(item) for item in value]
    kept = ("domain", "strategy", "status", "category", "timestamp")
    return {key: one if key in kept else sown(one) for key, one in value.items()}


async def test_a_text_that_its_markers_make_too_long_is_refused_with_the_reason(agent: Agent) -> None:
    goal = f"{TOKEN} {'x' * (limits.STATEMENT_MAX - len(MARKED) + 10)}"
    error = await agent.refused("start_ghap", **{**ENTRY, "goal": goal})
    plain = await agent.refused("start_ghap", **{**ENTRY, "goal": "x" * 1001})
    assert error["message"].startswith("Field 'goal' exceeds 1000 character limit (1011 chars).")
    assert error["hint"].endswith("the markers count.")
    assert "hint" not in plain


@pytest.mark.slow
async def test_no_secret_in_any_argument_of_any_tool_is_stored_or_logged(
    indexed: Services, topics: dict[str, list[str]], tmp_path: Path
) -> None:
    assert topics
    clustered = {"cluster_id": "", "axis": "full"}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("start_ghap", sown(ENTRY)),
        ("update_ghap", sown({"hypothesis": "h", "action": "a", "prediction": "p", "note": "n"})),
        ("resolve_ghap", sown({**FALSIFIED, "lesson": {"what_worked": "reading", "takeaway": "read"}})),
        ("store_value", {"text": f"{VALUE} {TOKEN}", **clustered}),
        ("validate_value", {"text": f"{VALUE} {TOKEN}", "cluster_id": ""}),
        ("list_ghap_entries", {"project": TOKEN}),
        ("search_experiences", {"query": f"price cache {TOKEN}"}),
        (
            "add_memory",
            {
                "text": f"The deploy uses {TOKEN}.\nAnd {TOKEN}",
                "metadata": sown(
                    {
                        "title": "t",
                        "source": "s",
                        "tags": ["one", "two"],
                        "language": "l",
                        "more": {"deep": ["x"]},
                        TOKEN: "a key",
                    }
                ),
            },
        ),
        ("search_memory", {"query": TOKEN, "filters": {"tags": [f"one {TOKEN}"], "source": f"s {TOKEN}"}}),
        ("delete_memory", {"memory_id": TOKEN}),
        ("start_ghap", sown({**ENTRY, "domain": "nothing", "unknown": "x", TOKEN: "y"})),
        ("get_stats", {TOKEN: TOKEN}),
    ]
    with log_to(tmp_path / "hub.log", "debug"):
        async with agent_of(indexed) as agent:
            clusters = await agent.call("get_clusters", axis="full")
            cluster_id = clusters["clusters"][0]["cluster_id"]
            for tool, arguments in calls:
                given = arguments | ({"cluster_id": cluster_id} if "cluster_id" in arguments else {})
                result = await agent.client.call_tool(tool, given)
                assert TOKEN not in only_text(result)
                if tool == "search_memory":
                    assert only_text(result).startswith("Found 1 result:")
        await indexed.writer.settle()
    assert files_with(tmp_path, TOKEN) == []
    journal = b"".join(path.read_bytes() for path in (tmp_path / "journal").rglob("*") if path.is_file())
    # Four in the entry, four in the update, five in the resolution, and the memory's.
    assert journal.count(MARKED.encode()) >= 4 + 4 + 5 + 2 + 8


async def test_a_reply_says_what_was_redacted_only_if_something_was(services: Services, agent: Agent) -> None:
    started = await agent.call("start_ghap", **{**ENTRY, "goal": f"use {TOKEN} and {TOKEN}"})
    assert (started["goal"], started["redacted"]) == (f"use {MARKED} and {MARKED}", {"github token": 2})
    updated = await agent.call("update_ghap", note=f"password={PASSWORD}")
    assert updated["redacted"] == {"password": 1}
    assert "redacted" not in await agent.call("update_ghap", note="nothing")
    assert "redacted" not in await agent.call("resolve_ghap", **CONFIRMED)
    added = await said(agent, "add_memory", text=f"a {TOKEN}", metadata={"db_password": PASSWORD, "n": 7})
    lines = added.split("\n")
    assert lines[-1] == "Redacted before storing: 1 github token, 1 password."
    assert lines[1].startswith("ID: ")
    assert "Redacted" not in await said(agent, "add_memory", text="no secret")
    # Nothing was stored, so there is nothing to say.
    assert "redacted" not in await agent.call("search_experiences", query=TOKEN)
    (entry,) = services.collector.list_resolved()
    assert entry.notes == ("password=[redacted: password]", "nothing")
    secret, _ = services.memory_log.all()
    assert secret.metadata == {"db_password": "[redacted: password]", "n": 7}


async def test_limits_count_what_is_stored(agent: Agent) -> None:
    goal = "x" * (limits.STATEMENT_MAX - len(MARKED) - 1)
    assert len(goal) + 1 + len(TOKEN) > limits.STATEMENT_MAX
    started = await agent.call("start_ghap", **{**ENTRY, "goal": f"{goal} {TOKEN}"})
    assert len(started["goal"]) == limits.STATEMENT_MAX
    error = await agent.refused("start_ghap", **{**ENTRY, "goal": f"{goal}x {TOKEN}"})
    assert "1001 char" in error["message"]


async def test_the_same_text_is_kept_once_and_a_repeated_call_finds_its_memory(services: Services) -> None:
    async with agent_of(services) as agent:
        for _ in range(2):
            await add(agent, f"a {TOKEN}")
    repeated = replace(CALLER, request="0" * 24)
    for caller in (repeated, replace(repeated, again=True)):
        async with agent_of(services, caller) as agent:
            await add(agent, f"b {TOKEN}")
    assert [memory.text for memory in services.memory_log.all()] == [f"a {MARKED}", f"b {MARKED}"]


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({}, f"{MARKED} and acme-123456"),
        ({"redaction": False}, f"{TOKEN} and acme-123456"),
        ({"redaction_allow": [r"gh\w_.*"]}, f"{TOKEN} and acme-123456"),
        ({"redaction_patterns": [r"acme-\d{6}"]}, f"{MARKED} and [redacted: own pattern]"),
        ({"redaction_patterns": {"acme id": r"acme-(?P<secret>\d{6})"}}, f"{MARKED} and acme-[redacted: acme id]"),
    ],
    ids=["default", "off", "allowed", "pattern", "kind"],
)
async def test_settings_decide_what_is_a_secret(changes: dict[str, Any], kept: str, tmp_path: Path) -> None:
    async with at_work(tmp_path, **changes) as services, agent_of(services) as agent:
        await add(agent, f"{TOKEN} and acme-123456")
        assert [memory.text for memory in services.memory_log.all()] == [kept]
        found = await said(agent, "search_memory", query=TOKEN)
        assert kept in found
        state = (await agent.call("get_stats"))["redaction"]
        assert (state == "off") is (changes == {"redaction": False})
        assert state.startswith(("off", "own patterns"))


@pytest.mark.slow
async def test_a_text_on_which_a_users_pattern_is_late_is_refused_and_other_calls_run(tmp_path: Path) -> None:
    slow = {"badge": r"(a|aa)+$"}
    async with opened(tmp_path, redaction_patterns=slow) as services, agent_of(services) as agent:
        late = asyncio.create_task(agent.refused("start_ghap", **{**ENTRY, "goal": "a" * 80 + "!"}))
        quick = 0
        while not late.done():
            await agent.call("get_active_ghap")
            quick += 1
        error = late.result()
        assert quick > 3
        assert error["message"].startswith("The pattern `badge` of redaction_patterns took longer than")
        assert (await agent.call("get_active_ghap"))["has_active"] is False
        await agent.call("start_ghap", **ENTRY)


async def test_a_pattern_that_matches_ids_and_dates_leaves_the_loop_working(tmp_path: Path) -> None:
    patterns = {"number": r"\d{6}", "birth date": r"\d{4}-\d{2}-\d{2}"}
    async with at_work(tmp_path, redaction_patterns=patterns) as services, agent_of(services) as agent:
        ghap_id = (await agent.call("start_ghap", **ENTRY))["id"]
        await agent.call("resolve_ghap", ghap_id=ghap_id, **CONFIRMED)
        assert (await agent.call("get_ghap_entry", ghap_id=ghap_id))["outcome_status"] == "confirmed"
        assert (await agent.call("list_ghap_entries", since="2020-01-01"))["count"] == 1
        await add(agent, "born 1999-02-03", timestamp="2026-01-01")
        (memory,) = services.memory_log.all()
        assert (memory.text, memory.metadata) == ("born [redacted: birth date]", {"timestamp": "2026-01-01"})


@pytest.mark.slow
async def test_a_long_text_is_redacted_while_other_calls_go_on(services: Services, agent: Agent) -> None:
    text = f"The log line number five says nothing new.\n{TOKEN}\n" * 4_000
    assert len(text) > 200_000
    began = time.process_time()
    result = await said(agent, "add_memory", text=text)
    assert time.process_time() - began < 60
    assert "Redacted before storing: 4,000 github tokens." in result
    (memory,) = services.memory_log.all()
    assert memory.text == text.replace(TOKEN, MARKED).strip()
