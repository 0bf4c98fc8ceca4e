"""Entries in replies: the fields that a view names, whatever else an entry has."""

from dataclasses import dataclass, fields
from typing import TypedDict

from learning_memory_server.journal.codec import GHAP
from learning_memory_server.model.entry import Ghap, Run
from learning_memory_server.server.composition.services import Services
from learning_memory_server.server.views import entry_views
from learning_memory_server.server.views import fields as view_fields
from learning_memory_server.server.wire import STORED_TEXT
from tests.server.agent import CALLER, Agent
from tests.support import NOON, full_ghap, ghap


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
