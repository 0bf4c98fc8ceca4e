"""`import`: idempotent, complete in what it says, and journal first."""

from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from learning_memory_server.domain.moment import utc_now
from learning_memory_server.journal.journal import Journal
from learning_memory_server.observation.collector import ObservationCollector


def entries_in(storage: Path) -> dict[str, Any]:
    resolved = ObservationCollector(Journal(storage / "journal"), utc_now).list_resolved()
    return {entry.id: entry for entry in resolved}


def facts(result: Result) -> dict[str, str]:
    """Return what a summary says, by name."""
    pairs = [line.split("  ", 1) for line in result.stdout.splitlines() if "  " in line]
    return {name.strip(): value.strip() for name, value in pairs}


def test_import_is_idempotent(run: Any, filled: Result, storage: Path, tmp_path: Path) -> None:
    assert filled.exit_code == 0
    assert facts(filled)["imported"] == "24 entries"
    assert facts(filled)["index"] == "complete: 48 vectors"
    before = entries_in(storage)
    again = run("import", str(tmp_path / "entries.jsonl"))
    assert again.exit_code == 0
    assert facts(again)["imported"] == "0 entries"
    assert facts(again)["already there"] == "24 entries"
    assert facts(again)["index"] == "complete: 48 vectors"
    assert entries_in(storage) == before


def test_a_journal_of_ours_can_be_imported_elsewhere(
    run: Any, filled: Result, storage: Path, tmp_path: Path
) -> None:
    assert filled.exit_code == 0
    segment = next((storage / "journal" / "entries").iterdir())
    elsewhere = tmp_path / "elsewhere"
    moved = run("import", str(segment), "--project", "ignored", LEARNING_MEMORY_STORAGE_PATH=str(elsewhere))
    assert moved.exit_code == 0
    assert entries_in(elsewhere) == entries_in(storage)


def test_a_dry_run_writes_and_holds_nothing(
    run: Any, old_entry: Any, write_lines: Any, storage: Path
) -> None:
    result = run("import", "--dry-run", str(write_lines(old_entry(0), old_entry(1))))
    assert result.exit_code == 0
    assert facts(result)["would be imported"] == "2 entries"
    assert not list(storage.iterdir())


def test_bad_lines_are_named_with_their_reason_and_the_good_ones_are_taken(
    run: Any, old_entry: Any, write_lines: Any, storage: Path
) -> None:
    path = write_lines(
        old_entry(0), "{broken", old_entry(1, domain="gardening"), old_entry(2, goal="x" * 1001)
    )
    result = run("import", str(path))
    assert result.exit_code == 1
    assert "entries.jsonl:2: the line is not JSON" in result.stdout
    assert "entries.jsonl:3: domain: 'gardening' is none of debugging" in result.stdout
    assert "entries.jsonl:4: goal: 1001 characters, the limit is 1000." in result.stdout
    assert facts(result)["rejected"] == "3 lines"
    assert len(entries_in(storage)) == 1


def test_mapped_names_are_counted(run: Any, old_entry: Any, write_lines: Any) -> None:
    lines = [old_entry(number, strategy="Check_Assumptions") for number in range(2)]
    result = run("import", str(write_lines(*lines)))
    assert result.exit_code == 0
    assert facts(result)["changed"] == "strategy 'Check_Assumptions' is taken as check-assumptions (2x)"


def test_without_an_engine_the_entries_are_safe_and_pending(
    run: Any, old_entry: Any, write_lines: Any, storage: Path
) -> None:
    path = str(write_lines(old_entry()))
    result = run("import", path, LEARNING_MEMORY_QDRANT_URL="http://127.0.0.1:1")
    assert result.exit_code == 0
    assert facts(result)["index"].startswith("pending")
    assert len(entries_in(storage)) == 1
    assert facts(run("import", path))["index"] == "complete: 2 vectors"


def test_entries_go_to_the_project_that_is_named_and_keep_no_raw_session(
    run: Any, old_entry: Any, write_lines: Any, storage: Path
) -> None:
    run("import", str(write_lines(old_entry())), "--project", "orchard")
    (entry,) = entries_in(storage).values()
    assert entry.project == "orchard"
    written = next((storage / "journal" / "entries").iterdir()).read_text("utf-8")
    assert "session_20260101" not in written


@pytest.mark.parametrize("name", ["empty.tar.gz", "other.zip"])
def test_what_promises_an_archive_and_is_none_is_refused(run: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"" if name.startswith("empty") else b"PK")
    result = run("import", str(path))
    assert result.exit_code == 1
    assert f"{name} is no archive of this program" in result.stderr
