"""`export`, `backup`, `import` of an archive and `restore`: the same with a hub and without one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from learning_memory_server import rendezvous
from learning_memory_server.archive.reading import open_archive
from learning_memory_server.cli.hub_client import find_hub
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.journal.codec import ghap_to_data
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.lock import exclusive
from learning_memory_server.journal.record import JournalRecord
from learning_memory_server.observation.collector import ObservationCollector
from tests.acceptance.hubs import is_alive, until
from tests.archive.making import held, value_record
from tests.support import NOON, ghap, numbered, start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from typer.testing import Result

WITH_AND_WITHOUT = ["alone", pytest.param("hub", marks=pytest.mark.slow)]


def shown(result: Result) -> str:
    """Return what is shown in one line, without times and with single spaces."""
    return " ".join(re.sub(r"took .*", "", result.stdout).split())


@pytest.fixture
def full(filled: Result, storage: Path) -> Journal:
    """The imported entries, two open ones, a value, numbers, and a forgotten entry."""
    assert filled.exit_code == 0
    journal = Journal(storage / "journal")
    collector = ObservationCollector(journal, utc_now)
    start(collector)
    start(collector)
    collector.forget(["ghap_20260101_000003_abcdef"], utc_now())
    journal.values.append([value_record(1)])
    data = {"next_number": 1, "moved": {"ghap_20260101_000000_abcdef": 0}}
    journal.clusters.append([JournalRecord("clusters", "full", NOON, data)])
    return journal


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    return tmp_path / "elsewhere"


@pytest.fixture(params=WITH_AND_WITHOUT)
def run_there(
    request: pytest.FixtureRequest,
    run: Any,
    environment: dict[str, str],
    elsewhere: Path,
    runtime_directory: Path,
) -> Iterator[Callable[..., Result]]:
    """Run a command over another, empty memory, which has a hub or not."""
    there = {**environment, "LEARNING_MEMORY_STORAGE_PATH": str(elsewhere)}
    place = rendezvous.Place({**there, "XDG_RUNTIME_DIR": str(runtime_directory)})
    if request.param == "hub":
        subprocess.run(
            [sys.executable, "-m", "learning_memory_server"],
            input=HELLO,
            env={**there, "PATH": "/usr/bin:/bin"},
            check=True,
            capture_output=True,
        )
        hub = find_hub(place)
        assert hub
        assert hub.control("status")["pid"]
    yield lambda *arguments: run(*arguments, LEARNING_MEMORY_STORAGE_PATH=str(elsewhere))
    if request.param == "hub":
        run("hub", "stop", LEARNING_MEMORY_STORAGE_PATH=str(elsewhere))
        assert find_hub(place) is None


HELLO = (
    json.dumps(
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        }
    )
    + "\n"
).encode()


def exported(run: Any, path: Path, **variables: str) -> str:
    result = run("export", str(path), **variables)
    assert result.exit_code == 0, result.output
    return str(path)


def test_everything_moves_to_an_empty_memory_and_a_second_time_changes_nothing(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    path = exported(run, tmp_path / "a.tar.gz")
    foreseen = run_there("import", "--dry-run", path)
    assert foreseen.exit_code == 0
    assert "entry 23 new open entry 2 new value 1 new clusters' numbers taken over" in shown(foreseen)
    assert not list(elsewhere.rglob("*.jsonl"))
    first = run_there("import", path)
    assert first.exit_code == 0
    assert "imported 23 entries" in shown(first)
    assert "2 open entries" in shown(first)
    assert "complete: 47 vectors" in shown(first)
    ours, theirs = held(Journal(elsewhere / "journal")), held(full)
    assert ours.entries == theirs.entries
    assert ours.open.keys() == theirs.open.keys()
    assert all(entry.orphaned for entry in ours.open.values())
    assert (ours.records, ours.clusters, ours.forgotten) == (
        theirs.records,
        theirs.clusters,
        theirs.forgotten,
    )
    before = {file: file.read_bytes() for file in elsewhere.glob("journal/**/*.json*")}
    second = run_there("import", path)
    assert "entry 0 new, 23 already there" in shown(second)
    assert "clusters' numbers already there" in shown(second)
    assert {file: file.read_bytes() for file in elsewhere.glob("journal/**/*.json*")} == before


def test_what_was_forgotten_here_stays_so_and_ours_is_kept(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    there = Journal(elsewhere / "journal")
    gone, other = list(held(full).entries.values())[:2]
    there.entries.forget("ghap", [gone.id], NOON)
    changed = ghap_to_data(other) | {"goal": "another goal"}
    there.entries.append([JournalRecord("ghap", other.id, NOON, changed)])
    result = run_there("import", exported(run, tmp_path / "a.tar"))
    assert "entry 21 new, 1 differing (ours is kept), 1 forgotten here (stays so)" in shown(result)
    assert f"entry {other.id} differs; ours is kept" in result.stdout
    assert "skipped: what is here has numbers of its own" in shown(result)
    ours = held(Journal(elsewhere / "journal"))
    assert gone.id not in ours.entries
    assert ours.entries[other.id].goal == "another goal"
    assert len(ours.entries) == 22


def test_deletions_of_elsewhere_are_applied_only_when_that_is_asked_for(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    before = exported(run, tmp_path / "before.tar")
    run_there("import", before)
    gone = next(iter(held(full).entries))
    full.entries.forget("ghap", [gone], NOON)
    full.values.forget("value", [value_record(1).id], NOON)
    after = exported(run, tmp_path / "after.tar")
    reported = run_there("import", after)
    assert "forgotten there 2 things that are here: kept" in shown(reported)
    assert gone in held(Journal(elsewhere / "journal")).entries
    applied = run_there("import", after, "--apply-deletions")
    assert "forgotten 2 here, 0 noted" in shown(applied)
    assert "complete: 44 vectors" in shown(applied)
    ours = held(Journal(elsewhere / "journal"))
    assert gone not in ours.entries
    assert ours.records == {}
    again = run_there("import", before)
    assert "1 forgotten here (stays so)" in shown(again)
    assert gone not in held(Journal(elsewhere / "journal")).entries


def test_an_import_that_was_interrupted_is_completed_by_the_next(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    path = exported(run, tmp_path / "a.tar.gz")
    theirs = held(full)
    there = Journal(elsewhere / "journal")
    # What a process that died in the middle has left: numbers and some entries, and nothing else.
    there.clusters.append(theirs.clusters)
    ObservationCollector(there, utc_now).add_resolved(list(theirs.entries.values())[:10])
    result = run_there("import", path)
    assert "entry 13 new, 10 already there" in shown(result)
    assert "clusters' numbers already there" in shown(result)
    ours = held(Journal(elsewhere / "journal"))
    assert (ours.entries, ours.records, ours.clusters) == (theirs.entries, theirs.records, theirs.clusters)


@pytest.mark.slow
def test_an_export_beside_a_hub_that_writes_is_complete_up_to_its_moment(
    run: Any,
    full: Journal,
    environment: dict[str, str],
    start_hub: Callable[[], int],
    tmp_path: Path,
) -> None:
    start_hub()
    batches = [
        [ghap_to_data(numbered(number)) for number in range(start, start + 20)] for start in range(0, 400, 20)
    ]
    acknowledged: set[str] = set(held(full).entries)
    writing = subprocess.Popen(
        [sys.executable, "-c", WRITER],
        env={**environment, "PYTHONPATH": "."},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert writing.stdin
    assert writing.stdout
    writing.stdin.write(json.dumps(batches).encode())
    writing.stdin.close()
    for number in range(8):
        acknowledged.update(json.loads(writing.stdout.readline()))
        path = tmp_path / f"{number}.tar"
        assert run("export", str(path)).exit_code == 0
        with open_archive(path) as archive:
            lines = b"".join(line for _, segment in archive.segments() for line in segment)
            assert archive.manifest.damaged_lines == 0
        assert not [ghap_id for ghap_id in acknowledged if ghap_id.encode() not in lines]
    writing.stdout.read()
    writing.stdout.close()
    assert writing.wait(20) == 0


WRITER = """
import json, os, sys
from learning_memory_server import rendezvous
from learning_memory_server.cli.hub_client import find_hub
batches = json.load(sys.stdin)
for batch in batches:
    hub = find_hub(rendezvous.Place(os.environ))
    print(json.dumps(hub.control("add", entries=batch)["added"]), flush=True)
"""


def test_export_says_what_is_in_it_and_holds_nothing(
    run: Any, full: Journal, storage: Path, tmp_path: Path
) -> None:
    with exclusive(full.path, "a server"), exclusive(storage, "a server"):
        result = run("export", str(tmp_path / "a.tar.gz"))
    assert result.exit_code == 0
    for fact in ("23 resolved, 2 open", "clusters 1", "value 1", "1 tombstone kept, 1 record left out"):
        assert fact in shown(result)
    refused = run("export", str(tmp_path / "a.tar.gz"))
    assert refused.exit_code == 1
    assert "exists already" in refused.stderr
    assert run("export", str(tmp_path / "a.tar.gz"), "--force").exit_code == 0
    one = run("export", str(tmp_path / "b.tar"), "--project", "current")
    assert "23 resolved, 0 open" in shown(one)
    none = run("export", str(tmp_path / "c.tar"), "--project", "nowhere")
    assert "Nothing in the journal is of the project nowhere." in none.stderr


def test_without_a_journal_there_is_nothing_to_export(run: Any, tmp_path: Path) -> None:
    result = run("export", str(tmp_path / "a.tar"))
    assert result.exit_code == 1
    assert "There is no journal in" in result.stderr
    assert not list(tmp_path.glob("*.tar"))


def test_backups_are_dated_private_and_the_newest_are_kept(run: Any, full: Journal, storage: Path) -> None:
    assert full.open_entries()
    for _ in range(3):
        result = run("backup", "--keep", "2")
        assert result.exit_code == 0
    folder = storage / "backups"
    assert "Removed: 1 older backup; the newest 2 are kept." in result.stdout
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(list(folder.iterdir())) == 2


def test_a_backup_is_restored_after_a_question_where_something_is_kept(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, storage: Path
) -> None:
    run("backup")
    (path,) = (storage / "backups").iterdir()
    there = Journal(elsewhere / "journal")
    there.save_open(ghap(id="ghap_20260301_120000_dddddd"))
    refused = run_there("restore", str(path))
    assert refused.exit_code == 1
    assert "The journal is not empty. Add what is new, and keep what is here?" in refused.stderr
    assert held(there).entries == {}
    restored = run_there("restore", str(path), "--yes")
    assert restored.exit_code == 0
    assert held(Journal(elsewhere / "journal")).entries == held(full).entries
    assert len(held(Journal(elsewhere / "journal")).open) == 3
    again = run_there("restore", str(path))
    assert again.exit_code == 0


def test_into_an_empty_memory_a_backup_is_restored_without_a_question(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    run("backup", str(tmp_path / "folder"))
    (path,) = (tmp_path / "folder").iterdir()
    assert run_there("restore", str(path)).exit_code == 0
    assert held(Journal(elsewhere / "journal")).entries == held(full).entries


def test_what_is_no_archive_is_not_restored_and_what_is_damaged_not_imported(
    run: Any, full: Journal, storage: Path, elsewhere: Path, tmp_path: Path
) -> None:
    refused = run("restore", str(next((full.path / "entries").iterdir())))
    assert refused.exit_code == 1
    assert "is no archive." in refused.stderr
    path = Path(exported(run, tmp_path / "a.tar.gz"))
    path.write_bytes(path.read_bytes()[:-500])
    for command in ("import", "restore"):
        cut = run(command, str(path), LEARNING_MEMORY_STORAGE_PATH=str(elsewhere))
        assert cut.exit_code == 1
        assert "cannot be read" in cut.stderr
    assert not elsewhere.exists()
    assert storage.exists()


def test_a_raw_segment_with_an_entry_and_its_tombstone_does_not_bring_it_back(
    full: Journal, run_there: Any, elsewhere: Path
) -> None:
    segment = next((full.path / "entries").iterdir())
    result = run_there("import", str(segment))
    assert result.exit_code == 0
    assert "forgotten there 1 entry" in shown(result)
    ours = held(Journal(elsewhere / "journal"))
    assert len(ours.entries) == 23
    assert ours.forgotten == {("ghap", "ghap_20260101_000003_abcdef")}


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["command", "hub"])
def test_an_import_that_is_killed_half_way_can_be_repeated(  # noqa: PLR0913 - fixtures
    run: Any,
    environment: dict[str, str],
    start_hub: Callable[[], int],
    storage: Path,
    tmp_path: Path,
    victim: str,
) -> None:
    elsewhere = Journal(tmp_path / "elsewhere" / "journal")
    entries = [numbered(number) for number in range(2000)]
    ObservationCollector(elsewhere, utc_now).add_resolved(entries)
    path = exported(run, tmp_path / "a.tar.gz", LEARNING_MEMORY_STORAGE_PATH=str(elsewhere.path.parent))
    hub = start_hub()
    command = [sys.executable, "-m", "learning_memory_server", "import", path]
    with subprocess.Popen(command, env={**os.environ, **environment}, stderr=subprocess.DEVNULL) as importing:
        until(lambda: list((storage / "journal" / "entries").glob("*.jsonl")), "nothing was imported")
        os.kill(importing.pid if victim == "command" else hub, signal.SIGKILL)
        assert importing.wait(20) != 0
    until(lambda: victim == "command" or not is_alive(hub), "the hub does not end")
    taken = len(held(Journal(storage / "journal")).entries)
    assert 0 < taken < len(entries)
    again = run("import", path)
    assert again.exit_code == 0, again.output
    assert len(held(Journal(storage / "journal")).entries) == len(entries)
