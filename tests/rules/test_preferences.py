"""Memories that earlier versions made of refused calls stay memories, and nobody is shown them unasked."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.index.queries import MemoryQuery
from learning_memory_server.journal.archive.writing import take_snapshot
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.kinds import MEMORY
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.memory import Memory, Refusal
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.rules.suggesting.preferences import preferences_of
from learning_memory_server.server.composition.services import Services
from tests.server.agent import CALLER, at_work
from tests.services import run
from tests.support import NOON

TEXT = 'On 5 Jan 2026 the user refused `git push`: "pull rebase first"'
KEPT = Memory(
    "00000000-0000-4000-8000-000000000001",
    TEXT,
    {"source": "refusal"},
    NOON,
    CALLER.project,
    NOON,
    refusal=Refusal("Bash", "git push", "pull rebase first", NOON),
)
NOTE = Memory("00000000-0000-4000-8000-000000000002", "Two cores.", {}, NOON, CALLER.project, NOON)


@pytest.fixture
async def services(tmp_path: Path) -> AsyncIterator[Services]:
    async with at_work(tmp_path) as services:
        yield services


async def take(services: Services, *memories: Memory, **changes: Any) -> None:
    """Import memories, with changes of their data, as the archive of this store has them."""
    records = [JournalRecord.of(MEMORY, each).to_fields() for each in memories]
    await run(services, "add_records", records=[{**each, "data": {**each["data"], **changes}} for each in records])


def test_those_of_a_project_are_found_oldest_first() -> None:
    older = replace(KEPT, id="older", created_at=NOON - timedelta(days=1))
    assert preferences_of([KEPT, replace(KEPT, project="blog"), NOTE, older], CALLER.project) == [older, KEPT]


async def test_they_are_found_by_a_search_and_shown_to_nobody_unasked(services: Services) -> None:
    await take(services, KEPT, NOTE)
    assert [each.refusal for each in services.memory_log.all()] == [KEPT.refusal, None]
    await run(services, "complete")
    found = await services.memory_searcher.search(MemoryQuery("pull rebase first"))
    assert found.found[0].memory.text == TEXT
    for kind in (TriggerKind.SESSION_START, TriggerKind.PROMPT, TriggerKind.COMMAND):
        trigger = Trigger(kind, context="later", text="git push", command="git push")
        assert (await services.advisor.at(trigger, CALLER)).text == ""


async def test_they_are_exported_with_everything_and_not_with_their_project(services: Services) -> None:
    await take(services, KEPT, NOTE)
    assert take_snapshot(services.journal.path).records["memory"] == 2
    assert take_snapshot(services.journal.path, CALLER.project).records["memory"] == 1


@pytest.mark.parametrize(
    ("refusal", "data"),
    [({}, {"imported": True}), ({"words": "no\nnever"}, {}), ({"when": "\x1b[2J"}, {}), ({"call": "x" * 401}, {})],
)
async def test_the_archive_of_another_or_a_hidden_text_brings_a_plain_memory(
    services: Services, refusal: dict[str, str], data: dict[str, Any]
) -> None:
    said = MEMORY.encode(KEPT)["refusal"]
    await take(services, KEPT, refusal={**said, **refusal}, **data)
    (found,) = services.memory_log.all()
    assert (found.text, found.refusal, found.source) == (TEXT, None, None)
