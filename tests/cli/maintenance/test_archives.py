"""`backup` to a file, and `import` of it, with and without a hub."""

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.secrets_made import ALNUM, drawn
from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.embedding.tokens import EstimatedTokens
from learning_memory_server.index.memory_chunks import Chunker
from learning_memory_server.journal.archive.reading import open_archive
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.model.moment import utc_now
from learning_memory_server.system.locking import exclusive
from tests.acceptance.hubs import hub_for, is_alive, state_of, until
from tests.capture.memories.shelf import reloaded
from tests.cli.maintenance.archives import exported, shown
from tests.command_line import in_line, printed, refusal
from tests.forked_otherwise import StoppingHub
from tests.journal.archive.making import held, memory_record, value_record
from tests.support import NOON, forget, numbered, start
from tests.traces import files_with


@pytest.mark.slow
def test_an_archive_moves_everything_to_an_empty_store_and_a_second_import_changes_nothing(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    path = exported(run, tmp_path / "a.tar.gz")
    foreseen = shown(run_there("import", "--dry-run", path))
    assert "entry 23 new open entry 2 new value 1 new cluster numbers new" in foreseen
    assert not list(elsewhere.rglob("*.jsonl"))
    first = shown(run_there("import", path))
    for fact in ("imported 23 entries", "2 open entries", "complete: 47 vectors"):
        assert fact in first
    ours, theirs = held(Journal(elsewhere / "journal")), held(full)
    assert ours.entries == theirs.entries
    assert ours.open.keys() == theirs.open.keys()
    assert all(entry.orphaned for entry in ours.open.values())
    assert (ours.records, ours.clusters, ours.forgotten) == (theirs.records, theirs.clusters, theirs.forgotten)
    before = {file: file.read_bytes() for file in elsewhere.glob("journal/**/*.json*")}
    second = shown(run_there("import", path))
    assert "entry 0 new, 23 already there" in second
    assert "cluster numbers already there" in second
    assert {file: file.read_bytes() for file in elsewhere.glob("journal/**/*.json*")} == before


@pytest.mark.slow
def test_an_import_keeps_what_differs_here_and_what_was_forgotten_here(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    there = Journal(elsewhere / "journal")
    gone, other = list(held(full).entries.values())[:2]
    forget(there.entries, "ghap", gone.id)
    changed = GHAP.encode(other) | {"goal": "another goal"}
    there.entries.append([JournalRecord("ghap", other.id, NOON, changed)])
    result = run_there("import", exported(run, tmp_path / "a.tar"), "--yes")
    assert "entry 21 new, 1 differing (ours is kept), 1 forgotten here (not imported)" in shown(result)
    assert f"entry {other.id} differs; ours is kept" in result.stdout
    assert "skipped: clusters here are numbered already" in shown(result)
    ours = held(Journal(elsewhere / "journal"))
    assert gone.id not in ours.entries
    assert ours.entries[other.id].goal == "another goal"
    assert len(ours.entries) == 22


@pytest.mark.slow
def test_deletions_from_elsewhere_are_applied_only_on_request(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    before = exported(run, tmp_path / "before.tar")
    run_there("import", before)
    gone = next(iter(held(full).entries))
    forget(full.entries, "ghap", gone)
    forget(full.values, "value", value_record(1).id)
    after = exported(run, tmp_path / "after.tar")
    assert "forgotten there 2 items present here: kept" in shown(run_there("import", after))
    assert gone in held(Journal(elsewhere / "journal")).entries
    refused = run_there("import", after, "--apply-deletions")
    assert "Nothing was changed: the journal is not empty" in refusal(refused)
    applied = shown(run_there("import", after, "--apply-deletions", "--yes"))
    assert "forgotten 2 here; 0 unknown ids recorded" in applied
    assert "complete: 44 vectors" in applied
    ours = held(Journal(elsewhere / "journal"))
    assert gone not in ours.entries
    assert ours.records == {}
    assert "1 forgotten here (not imported)" in shown(run_there("import", before))
    assert gone not in held(Journal(elsewhere / "journal")).entries


@pytest.mark.slow
def test_the_next_import_completes_an_interrupted_one(
    run: Any, full: Journal, run_there: Any, elsewhere: Path, tmp_path: Path
) -> None:
    path = exported(run, tmp_path / "a.tar.gz")
    theirs = held(full)
    there = Journal(elsewhere / "journal")
    # A process that died halfway left cluster numbers and some entries, and nothing else.
    there.clusters.append(theirs.clusters)
    ObservationCollector(there, utc_now).add_resolved(list(theirs.entries.values())[:10])
    result = shown(run_there("import", path, "--yes"))
    assert "entry 13 new, 10 already there" in result
    assert "cluster numbers already there" in result
    ours = held(Journal(elsewhere / "journal"))
    assert (ours.entries, ours.records, ours.clusters) == (theirs.entries, theirs.records, theirs.clusters)


@pytest.mark.slow
def test_an_export_while_a_hub_writes_holds_everything_acknowledged_before_it(
    run: Any, full: Journal, environment: dict[str, str], start_hub: Callable[[], int], tmp_path: Path
) -> None:
    start_hub()
    batches = [
        [JournalRecord.of(GHAP, numbered(number)).to_fields() for number in range(start, start + 20)]
        for start in range(0, 400, 20)
    ]
    acknowledged: set[str] = set(held(full).entries)
    writer, env = [sys.executable, "-c", WRITER], {**environment, "PYTHONPATH": "."}
    with subprocess.Popen(writer, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as writing:
        assert writing.stdin
        assert writing.stdout
        writing.stdin.write(json.dumps(batches).encode())
        writing.stdin.close()
        for number in range(8):
            acknowledged.update(json.loads(writing.stdout.readline()))
            with open_archive(Path(exported(run, tmp_path / f"{number}.tar"))) as archive:
                lines = b"".join(line for _, segment in archive.files() for line in segment)
                assert archive.manifest.damaged_lines == 0
            assert not [ghap_id for ghap_id in acknowledged if ghap_id.encode() not in lines]
        writing.stdout.read()
    assert writing.returncode == 0


WRITER = """
import json, os, sys
from learning_memory_server.system.ipc import discovery
from learning_memory_server.cli.access import find_hub
batches = json.load(sys.stdin)
for batch in batches:
    hub = find_hub(discovery.HubPaths(os.environ))
    print(json.dumps(hub.control("add_records", records=batch)["added"]), flush=True)
"""


@pytest.mark.slow
def test_a_backup_reports_its_contents_and_takes_no_lock(
    run: Any, full: Journal, storage: Path, tmp_path: Path
) -> None:
    with exclusive(full.path, "a server"), exclusive(storage, "a server"):
        result = shown(run("backup", str(tmp_path / "a.tar.gz")))
    for fact in ("23 resolved, 2 open", "clusters 1", "value 1", "1 tombstone kept, 1 record left out"):
        assert fact in result
    assert "already exists" in refusal(run("backup", str(tmp_path / "a.tar.gz")))
    assert run("backup", str(tmp_path / "a.tar.gz"), "--force").exit_code == 0
    assert "23 resolved, 0 open" in shown(run("backup", str(tmp_path / "b.tar"), "--project", "current"))
    none = run("backup", str(tmp_path / "c.tar"), "--project", "current", LEARNING_MEMORY_PROJECT="nowhere")
    assert "The journal has no entries of project nowhere." in none.stderr


@pytest.mark.usefixtures("full")
def test_a_backup_refuses_options_that_its_kind_does_not_have(run: Any, tmp_path: Path) -> None:
    archive, folder = str(tmp_path / "a.tar"), str(tmp_path)
    assert "--keep is for a folder" in refusal(run("backup", archive, "--keep", "3"))
    for options in (["--force"], ["--project", "current"], [folder, "--force"]):
        assert "need the name of an archive" in refusal(run("backup", *options))
    assert "must end with .tar.gz" in refusal(run("backup", str(tmp_path / "a.zip")))
    assert not list(tmp_path.rglob("*.tar*"))


def test_without_a_journal_there_is_nothing_to_back_up(run: Any, tmp_path: Path) -> None:
    assert "There is no journal in" in refusal(run("backup", str(tmp_path / "a.tar")))
    assert not list(tmp_path.glob("*.tar"))


@pytest.mark.slow
@pytest.mark.usefixtures("full")
def test_a_damaged_archive_is_not_imported(run: Any, storage: Path, elsewhere: Path, tmp_path: Path) -> None:
    path = Path(exported(run, tmp_path / "a.tar.gz"))
    path.write_bytes(path.read_bytes()[:-500])
    assert "cannot be read" in refusal(run("import", str(path), LEARNING_MEMORY_STORAGE_PATH=str(elsewhere)))
    assert not elsewhere.exists()
    assert storage.exists()


@pytest.mark.slow
def test_importing_a_raw_segment_does_not_restore_an_entry_that_it_forgets(
    full: Journal, run_there: Any, elsewhere: Path
) -> None:
    segment = next((full.path / "entries").iterdir())
    assert "forgotten there 1 entry" in shown(run_there("import", str(segment)))
    ours = held(Journal(elsewhere / "journal"))
    assert len(ours.entries) == 23
    assert ours.forgotten == {("ghap", "ghap_20260101_000003_abcdef")}


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["command", "hub"])
def test_an_import_that_was_killed_halfway_can_be_repeated(
    run: Any, environment: dict[str, str], storage: Path, tmp_path: Path, victim: str
) -> None:
    elsewhere = Journal(tmp_path / "elsewhere" / "journal")
    entries = [numbered(number) for number in range(120)]
    ObservationCollector(elsewhere, utc_now).add_resolved(entries)
    path = exported(run, tmp_path / "a.tar.gz", LEARNING_MEMORY_STORAGE_PATH=str(elsewhere.path.parent))
    hub = hub_for(environment, StoppingHub)
    command = [sys.executable, "-m", "learning_memory_server", "import", path]
    with subprocess.Popen(command, env={**os.environ, **environment}, stderr=subprocess.DEVNULL) as importing:
        until(lambda: state_of(hub) == "T", "nothing was imported")
        os.kill(importing.pid if victim == "command" else hub, signal.SIGKILL)
        assert importing.wait(60) != 0
    taken = len(held(Journal(storage / "journal")).entries)
    assert 0 < taken < len(entries)
    if victim == "command":
        os.kill(hub, signal.SIGCONT)
    else:
        until(lambda: not is_alive(hub), "the hub does not end")
    printed(run("import", path, "--yes"))
    assert len(held(Journal(storage / "journal")).entries) == len(entries)


@pytest.mark.slow
def test_a_command_that_opens_the_index_says_that_the_journal_is_damaged(run: Any, full: Journal) -> None:
    values = full.path / "values.jsonl"
    values.write_bytes(b"{broken}\n{broken}\n" + values.read_bytes())
    said = in_line(run("search", "worker").stderr)
    assert said.count("2 lines of the journal cannot be read, so no answer contains what they held.") == 1


@pytest.mark.slow
def test_secrets_in_an_archive_are_not_restored_and_a_changed_text_is_chunked_again(
    run: Any, storage: Path, elsewhere: Path, tmp_path: Path
) -> None:
    token = "gh" + "p_" + drawn(random.Random(41), ALNUM, 36)
    off = {"LEARNING_MEMORY_REDACTION": "false"}
    journal = Journal(storage / "journal")
    start(ObservationCollector(journal, utc_now), goal=f"use {token}")
    text = "\n\n".join(f"Paragraph {number} says that {token} works." for number in range(60))
    data = {**memory_record(1, api_token=token).data, "text": text}
    cuts = Chunker(EstimatedTokens()).chunk(text)
    data["cuts"] = {"by": cuts.by, "spans": [list(span) for span in cuts.spans]}
    journal.memories.append([JournalRecord("memory", "memory-1", NOON, data)])
    path = exported(run, tmp_path / "a.tar.gz", **off)
    restored = shown(run("import", path, LEARNING_MEMORY_STORAGE_PATH=str(elsewhere)))
    assert "redacted 62 github tokens" in restored
    assert "complete" in restored
    assert files_with(elsewhere, token) == []
    (kept,) = reloaded(elsewhere)
    assert kept.text == text.replace(token, "[redacted: github token]")
    assert kept.chunking is None
    assert kept.metadata == {"api_token": "[redacted: github token]"}
