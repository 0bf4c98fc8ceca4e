"""`show`: one thing by its id or the beginning of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.entry import Outcome
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.cli.kept import ERROR, MEMORIES, VALUE
from tests.command_line import in_line, printed, refusal
from tests.support import ALICE, confirm, start

ENTRY = "ghap_20260101_000007_abcdef"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (ENTRY, ["gold", "garden", "The flaky test comes from shared state in worker 7", "[red]noted[/red]"]),
        ("ghap_20260101_000007", ["worker 7"]),
        (VALUE, ["supported", "0.65 to 1.00", "full_0", "ghap_20260101_000021_abcdef"]),
        ("value_", ["Isolate the worker before you blame it"]),
        (MEMORIES[0], ["Database", "decision, storage", "docs/db.md", "The backup copies that file."]),
        (ERROR, ["ModuleNotFoundError", "python3 -m pytest tests/beds.py", "2026-01-03 14:00"]),
        ("3f2b", ["玫瑰在四月修剪", "project     orchard"]),
    ],
)
@pytest.mark.usefixtures("kept")
@pytest.mark.slow
def test_an_id_or_its_beginning_shows_everything(name: str, expected: list[str], run: Any) -> None:
    shown = printed(run("show", name))
    for part in expected:
        assert part in shown


@pytest.mark.usefixtures("kept")
@pytest.mark.slow
def test_json_has_everything_under_its_kind(run: Any) -> None:
    entry = json.loads(run("show", ENTRY, "--json").stdout)
    assert (entry["kind"], entry["entry"]["notes"]) == ("entry", ["[red]noted[/red]"])
    value = json.loads(run("show", VALUE, "--json").stdout)["value"]
    assert (len(value["evidence"]["member_ids"]), len(value["supported_by"])) == (8, 7)
    assert (value["standing"], value["contradicted_by"]) == ("supported", [])
    error = json.loads(run("show", ERROR, "--json").stdout)["error"]
    assert (error["times"], error["followed"], len(error["failures"])) == (3, "python3 -m pytest tests/beds.py", 3)
    memory = json.loads(run("show", MEMORIES[1], "--json").stdout)["memory"]
    assert memory["text"] == "玫瑰在四月修剪 🌹 " * 12


@pytest.mark.usefixtures("kept")
@pytest.mark.slow
def test_a_beginning_that_several_ids_have_lists_them(run: Any) -> None:
    several = run("show", "3f2")
    assert several.exit_code == 1
    assert several.stdout == ""
    assert "2 ids begin with '3f2':" in several.stderr
    for name, text in zip(MEMORIES, ("memory: Database", "memory: 玫瑰"), strict=True):
        assert f"{name}  {text}" in several.stderr
    many = run("show", "ghap_2026")
    assert "24 ids begin with" in many.stderr
    assert "... and 4 more" in many.stderr


def test_an_unknown_id_says_where_it_was_looked_for(run: Any, storage: Path) -> None:
    start(ObservationCollector(Journal(storage / "journal"), utc_now))
    failed = refusal(run("show", "x\x1b[31m"))
    said = in_line(failed)
    assert "Looked among 0 entries, 1 open entry, 0 values, 0 memories, 0 errors in" in said
    assert str(storage / "journal") in failed.replace("\n", "")
    assert "\x1b" not in failed
    assert "empty" in run("show", " ").stderr


def test_an_open_entry_is_shown_and_a_forgotten_one_is_named_as_such(run: Any, storage: Path) -> None:
    collector = ObservationCollector(Journal(storage / "journal"), utc_now)
    entry = start(collector)
    shown = run("show", entry.id)
    assert "open" in shown.stdout
    assert entry.goal in shown.stdout
    collector.forget([entry.id], utc_now())
    assert f"{entry.id} was forgotten." in run("show", entry.id).stderr


@pytest.mark.usefixtures("kept")
def test_an_entry_is_shown_with_the_command_that_marks_it_as_wrong(run: Any, storage: Path) -> None:
    marking = f"learning-memory-server review {ENTRY}"
    assert f"If it is wrong or outdated:\n  {marking} --never\n" in run("show", ENTRY).stdout
    Answers(Journal(storage / "journal").answers).add(Answer(ENTRY, "garden", Said.NEVER, utc_now()))
    assert f"No agent is told of it, as you said; to answer anew:\n  {marking}\n" in run("show", ENTRY).stdout


def test_an_open_entry_is_resolved_by_a_person_as_by_an_agent(run: Any, storage: Path) -> None:
    first, second = (start(ObservationCollector(Journal(storage / "journal"), utc_now)) for _ in range(2))
    refused = refusal(run("resolve", second.id, "falsified", "It was the disk."))
    assert "A falsified entry needs --surprise, --category, --cause" in refused
    assert run("resolve", first.id, "abandoned").stdout == f"{first.id} is abandoned.\n"
    reason = ("--surprise", "No pool ran dry.", "--category", "wrong-assumption", "--cause", "The disk was full.")
    run("resolve", second.id, "falsified", "It was the disk.", *reason, "--takeaway", "Look at the disk.")
    shown = json.loads(run("show", second.id, "--json").stdout)["entry"]
    assert (shown["outcome_status"], shown["lesson"]["takeaway"]) == ("falsified", "Look at the disk.")
    assert f"{first.id} is abandoned already." in refusal(run("resolve", first.id, "confirmed"))


def test_a_person_splits_an_entry_from_the_one_that_its_agent_called_the_same(run: Any, storage: Path) -> None:
    collector = ObservationCollector(Journal(storage / "journal"), utc_now)
    first = start(collector)
    confirm(collector)
    ended: Outcome = {"status": OutcomeStatus.CONFIRMED, "result": "It was.", "words": "no, again"}
    again = collector.record(ALICE, collector.believed_again(first.id), **ended)
    shown = printed(run("show", again.id))
    assert f"{first.id}, says its agent; `split` takes that back" in shown
    assert "afterwards: it counts in no calibration" in shown
    assert "no, again" in shown
    assert "afterwards" in printed(run("list"))

    said = run("split", again.id).stdout

    assert said == f"{again.id} stands for itself. Its agent had called it the same as {first.id}.\n"
    assert first.id not in printed(run("show", again.id))
    assert "is not the same as another entry" in refusal(run("split", again.id))
