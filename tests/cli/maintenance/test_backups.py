"""Backups, those made before a change included, and importing them."""

from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.moment import utc_now
from tests.cli.maintenance.archives import exported
from tests.command_line import in_line, old_entry, printed, refusal
from tests.journal.archive.making import held, read_back
from tests.support import ghap, numbered

pytestmark = pytest.mark.slow


def test_backups_are_dated_and_private_and_the_newest_kept(run: Any, full: Journal, storage: Path) -> None:
    assert full.open_entries()
    for _ in range(3):
        result = printed(run("backup", "--keep", "2"))
    folder = storage / "backups"
    assert "Removed: 1 older backup. Kept: the newest 2." in result
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list(folder.iterdir())) == 2


def test_an_import_asks_first_if_the_journal_is_not_empty(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, storage: Path
) -> None:
    run("backup")
    (path,) = (storage / "backups").iterdir()
    there = Journal(elsewhere / "journal")
    there.save_open(ghap(id="ghap_20260301_120000_dddddd"))
    refused = run_there("import", str(path))
    assert "23 new" in refused.stdout
    assert "Nothing was changed: the journal is not empty" in refused.stderr
    assert refused.exit_code == 1
    assert held(there).entries == {}
    assert run_there("import", str(path), "--yes").exit_code == 0
    ours = held(Journal(elsewhere / "journal"))
    assert (ours.entries, len(ours.open)) == (held(full).entries, 3)
    # There is nothing to ask about any more.
    assert run_there("import", str(path)).exit_code == 0


def test_an_import_into_an_empty_store_asks_nothing(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    run("backup", str(tmp_path / "folder"))
    (path,) = (tmp_path / "folder").iterdir()
    assert run_there("import", str(path)).exit_code == 0
    assert held(Journal(elsewhere / "journal")).entries == held(full).entries


def backups_in(storage: Path) -> list[Path]:
    return sorted((storage / "backups").glob("*.tar.gz"))


def test_whatever_an_import_changes_is_backed_up_first(
    run: Any, full: Journal, storage: Path, elsewhere: Path, tmp_path: Path, write_lines: Any
) -> None:
    there = {"LEARNING_MEMORY_STORAGE_PATH": str(elsewhere)}
    # The first import went to an empty journal.
    assert backups_in(storage) == []
    other = Journal(elsewhere / "journal")
    ObservationCollector(other, utc_now).add_resolved([numbered(1), numbered(2)])
    path = exported(run, tmp_path / "a.tar.gz", **there)
    before = held(full).entries
    assert run("import", "--dry-run", path).exit_code == 0
    assert backups_in(storage) == []
    assert "Backed up first: " in refusal(run("import", path, "--yes"), 0)
    made = backups_in(storage)
    (new,) = made
    assert read_back(new).entries == before
    assert "Backed up first" not in run("import", path).stderr
    assert "Backed up first" not in run("import", write_lines(old_entry(1))).stderr
    lines = write_lines(old_entry(50))
    assert run("import", "--dry-run", lines).exit_code == 0
    assert backups_in(storage) == made
    assert "Backed up first" in run("import", lines).stderr
    assert len(backups_in(storage)) == len(made) + 1


def test_nothing_is_imported_if_the_backup_cannot_be_written(
    run: Any, full: Journal, storage: Path, write_lines: Any
) -> None:
    before = held(full).entries
    (storage / "backups").touch()
    refused = refusal(run("import", write_lines(old_entry(50))))
    assert "Nothing was changed, because the journal could not be backed up first." in in_line(refused)
    assert held(full).entries == before
