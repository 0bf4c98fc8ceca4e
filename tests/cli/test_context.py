"""`context` in a project with entries, and in one without."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.records import Records
from learning_memory_server.model.advice import Advice, AdviceKind, Effect, Item, TriggerKind
from learning_memory_server.model.entry import Lesson
from learning_memory_server.model.moment import utc_now
from tests.command_line import Run, printed
from tests.support import CONFIRMED, ghap, numbered


def test_the_projects_open_entries_and_lessons_are_shown_within_the_budget(run: Any, storage: Path) -> None:
    assert run("context").stdout == ""
    collector = ObservationCollector(Journal(storage / "journal"), utc_now)
    lesson = Lesson("counting", "Count twice 🌹")
    collector.add_resolved([numbered(1, project="garden", resolution=replace(CONFIRMED, lesson=lesson))])
    items = (Item(numbered(1).id, AdviceKind.EXPERIENCE, effect=Effect.HELPED),)
    log = Records[Advice](Journal(storage / "journal").advice)
    log.add(Advice(TriggerKind.ENTRY_START, items, "garden", utc_now(), ghap_id="ghap_gone", revision=1))
    collector.add_open([ghap(project="garden"), ghap(id="ghap_20260301_120000_eeeeee", project="orchard")])
    shown = run("context").stdout
    assert shown.splitlines()[1:] == [
        "Open entries (get_active_ghap):",
        "- ghap_20260301_120000_ffffff: Stop the checkout from timing out",
        "Lessons:",
        "- Count twice 🌹 (goal: Stop the checkout from timing out)",
    ]
    assert run("context", LEARNING_MEMORY_PROJECT="elsewhere").stdout == ""


BEGIN = "To begin, run `learning-memory-server start`"
GOES_ON = "Agents fill this memory as they work."


@pytest.mark.parametrize("command", ["context", "list", "memories", "search roses --lexical"])
def test_how_to_begin_is_said_until_a_client_has_this_server(
    run: Run, environment: dict[str, str], command: str
) -> None:
    before = run(*command.split())
    assert BEGIN in before.stdout + before.stderr
    codex = Path(environment["HOME"], ".codex", "config.toml")
    codex.parent.mkdir()
    codex.write_text('[mcp_servers.learning-memory]\ncommand = "learning-memory-server"\n', "utf-8")

    after = run(*command.split())

    said = after.stdout + after.stderr
    assert GOES_ON in said
    assert BEGIN not in said


@pytest.mark.usefixtures("kept")
def test_how_to_begin_is_not_said_in_a_new_project_where_something_is_stored(run: Run) -> None:
    said = run("context", LEARNING_MEMORY_PROJECT="elsewhere").stderr
    nothing = "no entry is open, and no lesson is about its branch or files"
    assert said.strip() == f"A new session of elsewhere gets no context: {nothing}. {GOES_ON}"


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize("command", ["list", "failures", "memories", "calibration"])
def test_a_named_project_is_looked_for_in_what_the_command_reads_anyway(run: Run, command: str) -> None:
    read: list[str] = []
    is_watching = [True]

    def note(event: str, arguments: Any) -> None:
        if is_watching and event == "open" and str(arguments[0]).endswith(".jsonl"):
            read.append(str(arguments[0]))

    sys.addaudithook(note)
    try:
        printed(run(command, "--project", "garden"))
    finally:
        is_watching.clear()
    assert read
    assert len(read) == len(set(read))
