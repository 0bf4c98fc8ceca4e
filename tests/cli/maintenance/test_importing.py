"""`import` of JSONL files: idempotent, journal first, every line accounted for."""

import os
import random
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.cli.maintenance.importing import lines_of
from learning_memory_server.errors import InvalidInputError
from tests.cli.maintenance.archives import entries_in, exported
from tests.command_line import in_line, old_entry, printed, refusal
from tests.terminals import on_a_terminal, read_until
from tests.traces import files_with

TOKEN = "gh" + "p_" + drawn(random.Random(31), ALNUM, 36)
MARKED = "[redacted: github token]"


def facts(result: Result, status: int = 0) -> dict[str, str]:
    """Return the facts of a summary by name, of a command that ended with this status."""
    pairs = [line.split("  ", 1) for line in printed(result, status).splitlines() if "  " in line]
    return {name.strip(): value.strip() for name, value in pairs}


@pytest.mark.slow
def test_import_is_idempotent(run: Any, filled: Result, storage: Path, tmp_path: Path) -> None:
    complete = {"index": "complete: 48 vectors"}
    assert facts(filled).items() >= {"imported": "24 entries", **complete}.items()
    before = entries_in(storage)
    again = facts(run("import", str(tmp_path / "entries.jsonl")))
    assert again.items() >= {"imported": "0 entries", "already there": "24 entries", **complete}.items()
    assert entries_in(storage) == before


@pytest.mark.slow
@pytest.mark.usefixtures("filled")
def test_a_segment_of_a_journal_can_be_imported_elsewhere(run: Any, storage: Path, tmp_path: Path) -> None:
    segment = next((storage / "journal" / "entries").iterdir())
    elsewhere = tmp_path / "elsewhere"
    moved = run("import", str(segment), "--project", "ignored", LEARNING_MEMORY_STORAGE_PATH=str(elsewhere))
    assert moved.exit_code == 0
    assert entries_in(elsewhere) == entries_in(storage)


def test_dry_runs_write_and_lock_nothing(run: Any, write_lines: Any, storage: Path) -> None:
    assert (
        facts(run("import", "--dry-run", write_lines(old_entry(0), old_entry(1))))["would be imported"] == "2 entries"
    )
    assert not list(storage.iterdir())


def test_bad_lines_are_listed_with_their_reason_and_good_ones_imported(
    run: Any, write_lines: Any, storage: Path
) -> None:
    path = write_lines(old_entry(0), "{broken", old_entry(1, domain="gardening"), old_entry(2, goal="x" * 1001))
    result = run("import", path)
    assert facts(result, 1)["rejected"] == "3 lines"
    assert "entries.jsonl:2: the line is not JSON" in result.stdout
    assert "entries.jsonl:3: domain: 'gardening' is not one of debugging" in result.stdout
    assert "entries.jsonl:4: goal: 1001 characters, the limit is 1000." in result.stdout
    assert len(entries_in(storage)) == 1


def test_a_file_without_line_feeds_is_refused_before_it_is_in_ram() -> None:
    assert list(lines_of(BytesIO(b"12345\n\n1234"), "x.jsonl", 6)) == [b"12345\n", b"\n", b"1234"]
    endless = BytesIO(b"1" * 100)
    with pytest.raises(InvalidInputError, match=r"^x\.jsonl has a line of more than 6 bytes"):
        list(lines_of(endless, "x.jsonl", 6))
    assert endless.tell() == 7


def test_mapped_names_are_counted(run: Any, write_lines: Any) -> None:
    lines = [old_entry(number, strategy="Check_Assumptions") for number in range(2)]
    said = facts(run("import", write_lines(*lines)))
    assert said["changed"] == "strategy 'Check_Assumptions' is read as check-assumptions: 2 times"


@pytest.mark.slow
def test_without_an_engine_the_entries_are_safe_and_pending(run: Any, write_lines: Any, storage: Path) -> None:
    path = write_lines(old_entry())
    assert facts(run("import", path, LEARNING_MEMORY_QDRANT_URL="http://127.0.0.1:1"))["index"].startswith("pending")
    assert len(entries_in(storage)) == 1
    assert facts(run("import", path))["index"] == "complete: 2 vectors"


def test_entries_go_to_the_named_or_the_current_project_and_keep_no_raw_session(
    run: Any, write_lines: Any, storage: Path
) -> None:
    for number, (given, project) in enumerate([("orchard", "orchard"), ("current", "garden")]):
        run("import", write_lines(old_entry(number)), "--project", given)
        assert entries_in(storage)[old_entry(number)["id"]].project == project
    written = next((storage / "journal" / "entries").iterdir()).read_text("utf-8")
    assert "session_20260101" not in written


def test_the_summary_says_under_which_project_entries_without_one_go(
    run: Any, write_lines: Any, storage: Path, tmp_path: Path
) -> None:
    path = write_lines(old_entry(0), old_entry(1))
    assert facts(run("import", path, "--dry-run"))["project"] == "garden, for 2 entries without one"
    assert facts(run("import", path, "--project", "orchard"))["project"] == "orchard, for 2 entries without one"
    # A journal's own lines name their project.
    segment = next((storage / "journal" / "entries").iterdir())
    assert "project" not in facts(run("import", str(segment), LEARNING_MEMORY_STORAGE_PATH=str(tmp_path / "elsewhere")))


@pytest.mark.slow
def test_on_a_terminal_the_project_is_asked_for(environment: dict[str, str], write_lines: Any, storage: Path) -> None:
    with on_a_terminal(environment, "import", write_lines(old_entry()), output=True) as (process, terminal):
        assert b"1 entry without a project. Import under [garden]:" in read_until(terminal, b"]:")
        os.write(terminal, b"orchard\n")
        asked = b" ".join(read_until(terminal, b"[y/N]").split())
        assert b"your own (1 entry and 0 other records, from 2026-01-01" in asked
        os.write(terminal, b"\n")
        read_until(terminal, b"\0 never written")
        assert process.wait() == 0
    assert [entry.project for entry in entries_in(storage).values()] == ["orchard"]


@pytest.mark.parametrize("name", ["empty.tar.gz", "other.zip"])
def test_a_file_named_like_an_archive_that_is_not_one_is_refused(run: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"" if name.startswith("empty") else b"PK")
    assert f"{name} is not an archive made by `backup`" in refusal(run("import", str(path)))


@pytest.mark.slow
def test_secrets_are_not_imported_and_the_summary_says_how_many(run: Any, write_lines: Any, storage: Path) -> None:
    lines = [
        old_entry(0, goal=f"use {TOKEN}", notes=[f"a {TOKEN}", "plain"]),
        old_entry(1, lesson={"what_worked": f"revoking {TOKEN}"}),
    ]
    path = write_lines(*lines)
    said = facts(run("import", path))
    assert (said["imported"], said["redacted"]) == ("2 entries", "3 github tokens")
    assert "redacted" not in facts(run("import", path))
    assert files_with(storage, TOKEN) == []
    entry = entries_in(storage)["ghap_20260101_000000_abcdef"]
    assert (entry.goal, entry.notes) == (f"use {MARKED}", (f"a {MARKED}", "plain"))


@pytest.mark.slow
def test_an_entry_that_its_markers_make_longer_than_the_limit_is_imported_and_does_not_stop_the_others(
    run: Any, write_lines: Any, storage: Path
) -> None:
    goal = f"password=correcthorse9 {'x' * 1000}"[:1000]
    path = write_lines(old_entry(0, goal=goal), old_entry(1))
    assert facts(run("import", path))["imported"] == "2 entries"
    assert len(entries_in(storage)["ghap_20260101_000000_abcdef"].goal) > 1000
    # What is stored can be imported again, elsewhere.
    path = exported(run, storage / "all.tar.gz")
    there = run("import", path, LEARNING_MEMORY_STORAGE_PATH=str(storage / "elsewhere"))
    assert facts(there)["imported"] == "2 entries"


def test_with_redaction_off_texts_are_imported_as_they_are(run: Any, write_lines: Any, storage: Path) -> None:
    path = write_lines(old_entry(0, goal=f"use {TOKEN}"))
    assert "redacted" not in facts(run("import", path, LEARNING_MEMORY_REDACTION="false"))
    assert entries_in(storage)["ghap_20260101_000000_abcdef"].goal == f"use {TOKEN}"


def test_a_wrong_pattern_stops_the_command_with_a_sentence(run: Any, write_lines: Any, storage: Path) -> None:
    result = refusal(run("import", write_lines(old_entry(0)), LEARNING_MEMORY_REDACTION_PATTERNS='["a(b"]'))
    assert "LEARNING_MEMORY_REDACTION_PATTERNS" in result
    assert "is not a regular expression" in in_line(result)
    assert not (storage / "journal" / "entries").exists()
