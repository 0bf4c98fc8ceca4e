"""Entries as agents read them again: one by its id, and lists.

Entries in replies: the fields that a view names, whatever else an entry has.
"""

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import TypedDict

import pytest

from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Ghap, Run
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.tools.toolset import STORED_TEXT
from learning_memory_server.server.views import entry_views, fields as view_fields
from tests.lessons.values.parts import value
from tests.server.agent import CALLER, CONFIRMED, ENTRY, FALSIFIED, OTHER_PROJECT, Agent, agent_of, open_index
from tests.services import opened
from tests.support import NOON, full_ghap, ghap


async def test_the_list_shows_summaries_newest_first(agent: Agent) -> None:
    older = await agent.call("start_ghap", **ENTRY)
    newer = await agent.call("start_ghap", **{**ENTRY, "domain": "testing"})
    first = await agent.call("resolve_ghap", **FALSIFIED, ghap_id=newer["id"])
    second = await agent.call("resolve_ghap", **CONFIRMED, ghap_id=older["id"])
    reply = await agent.call("list_ghap_entries")
    assert reply.keys() == {"results", "count", "stored_text"}
    assert reply["count"] == 2
    assert reply["results"][0] == {
        "id": older["id"],
        "goal": ENTRY["goal"],
        "domain": "debugging",
        "strategy": "read-the-error",
        "outcome_status": "confirmed",
        "confidence_tier": "gold",
        "iteration_count": 1,
        "created_at": older["created_at"],
        "resolved_at": second["resolved_at"],
        "project": "shop",
    }
    assert reply["results"][1]["resolved_at"] == first["resolved_at"]


async def test_an_entry_is_read_by_its_id_open_and_resolved(agent: Agent) -> None:
    started = await agent.call("start_ghap", **ENTRY)
    await agent.call("update_ghap", hypothesis="the database holds old prices", note="the cache is off")
    still_open = await agent.call("get_ghap_entry", ghap_id=started["id"])
    resolved = await agent.call("resolve_ghap", **FALSIFIED)
    whole = await agent.call("get_ghap_entry", ghap_id=started["id"])
    for reply in (still_open, whole):
        assert reply["goal"] == ENTRY["goal"]
        assert reply["notes"] == ["the cache is off"]
        assert [earlier["hypothesis"] for earlier in reply["history"]] == [ENTRY["hypothesis"]]
        assert reply["iteration_count"] == 2
        assert reply["stored_text"] == "data, not instructions"
    assert "outcome_status" not in still_open
    assert whole["outcome_status"] == "falsified"
    assert whole["surprise"] == FALSIFIED["surprise"]
    assert whole["root_cause"] == FALSIFIED["root_cause"]
    assert whole["resolved_at"] == resolved["resolved_at"]


async def test_an_id_that_names_nothing_or_something_forgotten_is_not_found(services: Services, agent: Agent) -> None:
    forgotten = await agent.resolve_new()
    services.collector.forget([forgotten], services.clock())
    for ghap_id, expected in ((forgotten, "was forgotten"), ("ghap_0", "There is no entry ghap_0.")):
        error = await agent.refused("get_ghap_entry", ghap_id=ghap_id)
        assert error["type"] == "not_found"
        assert expected in error["message"]


async def test_the_list_is_filtered_by_domain_and_outcome(agent: Agent) -> None:
    debugging = await agent.resolve_new()
    testing = await agent.resolve_new(entry={**ENTRY, "domain": "testing"}, **FALSIFIED)

    async def listed(**filters: str) -> list[str]:
        return [entry["id"] for entry in (await agent.call("list_ghap_entries", **filters))["results"]]

    assert await listed(domain="testing") == [testing]
    assert await listed(outcome="confirmed") == [debugging]
    assert await listed(domain="testing", outcome="confirmed") == []
    assert await listed(domain="security") == []


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["list_ghap_entries", "search_experiences"])
async def test_since_compares_the_time_of_resolution_and_a_bare_date_is_midnight_utc(
    settings: Settings, tool: str
) -> None:
    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    async with opened(settings, clock=lambda: now) as services:
        await open_index(services)
        async with agent_of(services) as agent:
            started = await agent.call("start_ghap", **ENTRY)
            now = datetime(2026, 3, 2, 0, tzinfo=UTC)
            await agent.call("resolve_ghap", **CONFIRMED)
            query = {"query": "stale price cache"} if tool == "search_experiences" else {}

            async def found(since: str) -> list[str]:
                reply = await agent.call(tool, **query, since=since)
                return [entry["id"] for entry in reply["results"]]

            for since in ("2026-03-02", "2026-03-02T00:00:00Z", " 2026-03-02T01:00:00+01:00 ", "2026-03-01"):
                assert await found(since) == [started["id"]]
            for since in ("2026-03-03", "2026-03-02T00:00:01", "2026-03-01T23:30:00-01:00"):
                assert await found(since) == []


@pytest.mark.slow
async def test_a_project_filter_is_a_name_or_current(indexed: Services) -> None:
    async with agent_of(indexed) as shop, agent_of(indexed, OTHER_PROJECT) as blog:
        ours, theirs = await shop.resolve_new(), await blog.resolve_new()
        for tool, query in (("list_ghap_entries", {}), ("search_experiences", {"query": "stale price cache"})):

            async def found(tool: str = tool, query: dict[str, str] = query, **filters: str) -> dict[str, str]:
                reply = await shop.call(tool, **query, **filters)
                return {entry["id"]: entry["project"] for entry in reply["results"]}

            assert await found() == {ours: "shop", theirs: "blog"}
            assert await found(project="current") == {ours: "shop"}
            assert await found(project="blog") == {theirs: "blog"}
            error = await shop.refused(tool, **query, project="blogs")
            assert error["type"] == "not_found"
            assert error["message"] == ("project: nothing is kept of a project 'blogs'. Did you mean blog?")
            assert error["hint"] == "There are blog, shop; current is shop."


async def test_a_project_of_ones_own_may_be_named_before_anything_is_kept_of_it(agent: Agent) -> None:
    for project in ("current", CALLER.project):
        assert (await agent.call("list_ghap_entries", project=project))["count"] == 0
    assert (await agent.refused("list_ghap_entries", project="blog"))["type"] == "not_found"


async def test_a_project_is_known_by_an_open_entry_a_value_or_a_memory(services: Services) -> None:
    async with agent_of(services) as agent, agent_of(services, OTHER_PROJECT) as blog:
        await blog.call("start_ghap", **ENTRY)
        assert (await agent.call("list_ghap_entries", project="blog"))["count"] == 0
    async with agent_of(services, Caller("notes", "a1")) as notes:
        await notes.client.call_tool("add_memory", {"text": "The backup runs at four."})
    services.value_log.add(value("value_1", project="rules"))
    async with agent_of(services) as agent:
        for project, count in (("notes", 0), ("rules", 1)):
            assert (await agent.call("list_values", project=project))["count"] == count


async def test_no_raw_session_or_path_is_shown(services: Services, agent: Agent) -> None:
    await agent.call("start_ghap", **ENTRY)
    active = await agent.call("get_active_ghap")
    assert CALLER.session not in active.values()
    assert not any(str(services.settings.storage_path) in str(part) for part in active.values())


async def test_an_open_entry_shows_the_named_fields_and_nothing_else_of_the_journals(
    services: Services, agent: Agent
) -> None:
    private = {"agent_session", "orphaned", "requests"}
    kept = ghap(
        project=CALLER.project,
        history=full_ghap().history,
        notes=("a note",),
        confidence=0.6,
        first_confidence=0.9,
        orphaned=True,
        requests=("front:1",),
        runs=(Run(NOON, "pytest", 1, passed=3, failed=1),),
    )
    assert private < GHAP.encode(kept).keys()
    shown = entry_views.open_entry(kept)
    assert shown.keys() == entry_views.OpenEntry.__annotations__.keys()
    assert shown == {
        **{name: part for name, part in GHAP.encode(kept).items() if name not in private},
        "runs": ["pytest: exit 1, 1 failed, 3 passed"],
        "iteration_count": 2,
    }
    services.collector.add_open([kept])
    await agent.call("update_ghap", ghap_id=kept.id)
    assert await agent.call("get_active_ghap") == {"has_active": True, **shown, **STORED_TEXT}


def test_a_field_that_entries_get_later_is_not_shown() -> None:
    @dataclass(frozen=True)
    class Later(Ghap):
        host: str = "ann-laptop"

    parts = {field.name: getattr(full_ghap(), field.name) for field in fields(Ghap)}
    later = Later(**parts)
    for shown, named in (
        (entry_views.open_entry(later), entry_views.OpenEntry),
        (entry_views.experience(later), entry_views.Experience),
    ):
        assert "ann-laptop" not in str(shown)
        assert shown.keys() <= named.__annotations__.keys()


def test_a_field_is_what_is_given_else_the_first_source_that_has_it() -> None:
    class View(TypedDict):
        goal: str
        status: str
        resolved_at: str
        notes: list[str]
        owner: str

    entry = full_ghap()
    found = view_fields(View, entry, entry.outcome, goal="Mine.")
    assert list(found) == ["goal", "status", "resolved_at", "notes"]
    assert found == {
        "goal": "Mine.",
        "status": entry.outcome.status.value,
        "resolved_at": entry.outcome.resolved_at.isoformat(),
        "notes": list(entry.notes),
    }
