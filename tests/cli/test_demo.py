from __future__ import annotations

import io
import json
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from learning_memory_server.cli.demo import run_demo
from learning_memory_server.cli.demo_client import connect
from learning_memory_server.cli.demo_experiences import ENOUGH, example_entries, gather, telling
from learning_memory_server.cli.demo_views import page, server_command, show_entry, show_failure
from learning_memory_server.domain.limits import NARRATIVE_MAX, STATEMENT_MAX, checked_text
from learning_memory_server.domain.vocabulary import Axis, OutcomeStatus, Tier
from learning_memory_server.errors import LearningMemoryError
from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.journal.log import Log
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.documents import axis_texts

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap

WIDTH = 80


def written_console() -> tuple[Console, io.StringIO]:
    output = io.StringIO()
    return Console(file=output, width=WIDTH), output


def journal_of(folder: Path, entries: tuple[Ghap, ...]) -> Path:
    records = [JournalRecord("ghap", e.id, e.created_at, ghap_to_data(e)) for e in entries]
    Log(folder, monthly=True).append(records)
    return folder


def test_every_example_says_in_the_file_that_it_was_written_for_the_demo() -> None:
    text = resources.files("learning_memory_server.cli").joinpath("examples.jsonl").read_text("utf-8")
    examples = [json.loads(line) for line in text.splitlines()]
    assert all(next(iter(example.items())) == ("written_for", "demo") for example in examples)
    assert {entry.project for entry in example_entries()} == {"demo"}


def test_the_examples_keep_to_the_limits_and_explain_what_was_falsified() -> None:
    for entry in example_entries():
        for step in (*entry.history, entry):
            for part in ("hypothesis", "action", "prediction"):
                text = getattr(step, part)
                assert checked_text(part, text, STATEMENT_MAX) == text
        assert checked_text("goal", entry.goal, STATEMENT_MAX) == entry.goal
        end = entry.outcome
        end.require_explanation()
        narratives = [end.result, end.surprise, end.root_cause and end.root_cause.description]
        if end.lesson:
            narratives += [end.lesson.what_worked, end.lesson.takeaway]
        for text in narratives:
            assert text is None or checked_text("narrative", text, NARRATIVE_MAX) == text


def test_the_examples_are_enough_for_clusters_and_varied() -> None:
    entries = example_entries()
    outcomes = Counter(entry.outcome.status for entry in entries)
    assert len(entries) >= ENOUGH
    assert sum(Axis.ROOT_CAUSE in axis_texts(entry) for entry in entries) >= 20
    assert min(outcomes[status] for status in OutcomeStatus) >= 3
    assert sum(entry.iteration_count > 1 for entry in entries) >= 2
    assert len({entry.goal for entry in entries}) == len(entries)
    assert Tier.BRONZE not in {entry.tier for entry in entries}


def test_without_a_journal_the_examples_are_replayed(tmp_path: Path) -> None:
    found = gather(tmp_path / "nothing")
    assert (found.own, found.examples) == ((), example_entries())


def test_a_few_own_entries_are_replayed_with_the_examples(tmp_path: Path) -> None:
    few = example_entries()[:3]
    found = gather(journal_of(tmp_path, few))
    assert (found.own, found.examples) == (few, example_entries())
    assert found.all == few + example_entries()


def test_enough_own_entries_are_replayed_alone(tmp_path: Path) -> None:
    found = gather(journal_of(tmp_path, example_entries()))
    assert (found.own, found.examples) == (example_entries(), ())


def test_own_entries_with_too_few_root_causes_are_replayed_with_the_examples(tmp_path: Path) -> None:
    without = tuple(e for e in example_entries() if Axis.ROOT_CAUSE not in axis_texts(e))
    more = [
        JournalRecord("ghap", f"{e.id}_{n}", e.created_at, {**ghap_to_data(e), "id": f"{e.id}_{n}"})
        for e in without
        for n in range(3)
    ]
    Log(tmp_path, monthly=True).append(more)
    found = gather(tmp_path)
    assert len(found.own) >= ENOUGH
    assert found.examples == example_entries()


def test_a_shown_entry_has_its_surprise_and_its_lesson() -> None:
    console, output = written_console()
    entry = telling(example_entries())
    show_entry(console, entry)
    shown = " ".join(output.getvalue().replace("│", " ").split())
    assert entry.outcome.surprise is not None
    assert entry.outcome.surprise in shown
    assert "Lesson" in shown


def test_output_that_is_piped_is_no_wider_than_a_page() -> None:
    output = io.StringIO()
    show_entry(page(Console(file=output, width=100_000, markup=False)), example_entries()[0])
    assert max(map(len, output.getvalue().splitlines())) <= 100
    assert "[bold" not in output.getvalue()


def test_a_failure_is_a_sentence_with_the_end_of_the_servers_log(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("\n".join(f"line {n}" for n in range(20)))
    console, output = written_console()
    show_failure(console, "It did not work.", "Try [this].", log)
    shown = output.getvalue()
    assert "It did not work." in shown
    assert "Try [this]." in shown
    assert "line 19" in shown
    assert "line 11" not in shown


@pytest.mark.slow
async def test_a_server_that_does_not_start_is_an_error_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    log = tmp_path / "server.log"
    with pytest.raises(LearningMemoryError, match=r"^The server is not there: .*\.$"):
        async with connect(tmp_path / "file", log):
            pass
    assert "learning-memory-server" in log.read_text("utf-8")


@pytest.mark.slow
async def test_a_refusal_by_the_server_reaches_the_caller_in_the_servers_words(tmp_path: Path) -> None:
    with pytest.raises(LearningMemoryError, match="no open GHAP entry") as refused:
        async with connect(tmp_path / "data", tmp_path / "server.log") as server:
            await server.call("update_ghap", note="nothing is open")
    assert refused.value.hint == "Call start_ghap first."


@pytest.mark.slow
async def test_the_demo_works_from_nothing_to_the_line_for_claude_code() -> None:
    console, output = written_console()
    assert await run_demo(console)
    lines = output.getvalue().splitlines()
    to_copy = f"  claude mcp add learning-memory -- {server_command()}"
    assert to_copy in lines
    assert Path(server_command().split()[0].strip("'")).is_absolute()
    shown = " ".join(output.getvalue().split())
    assert f"{len(gather().examples)} examples written for this demo" in shown
    assert "mode lexical" in shown
    assert "mode hybrid" in shown
    assert "✓ holds" in shown
    assert "✗ rejected" in shown
    assert "✗ different" not in shown
    paths_aside = [line for line in lines if line != to_copy and not line.startswith("By default your data")]
    assert max(map(len, paths_aside)) <= WIDTH
