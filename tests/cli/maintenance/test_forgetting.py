"""`forget`: shown first, then found nowhere, and with --purge in no file either."""

import asyncio
import gzip
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from learning_memory_server.journal.journal import Journal
from learning_memory_server.lessons.values.log import ValueLog, VerdictLog
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.vocabulary import Stance
from tests.cli.kept import MEMORIES
from tests.cli.maintenance.archives import entries_in
from tests.command_line import in_line, printed, refusal
from tests.journal.test_kept_formats import SAMPLES
from tests.lessons.values.parts import value
from tests.services import opened as services_in
from tests.stored_secrets import sow, traces

ONE = "ghap_20260101_000003_abcdef"


def written(storage: Path, log: str = "entries") -> str:
    return "".join(path.read_text("utf-8") for path in (storage / "journal" / log).iterdir())


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["alone", "through a hub"])
def memory(request: pytest.FixtureRequest, filled: Result, start_hub: Callable[[], int]) -> None:
    assert filled.exit_code == 0
    if request.param:
        start_hub()


@pytest.mark.usefixtures("memory")
def test_what_is_forgotten_is_found_nowhere_and_stays_away(run: Any, storage: Path, tmp_path: Path) -> None:
    assert ONE in run("search", "worker 3", "--limit", "50", "--all").stdout
    assert "add --yes" in refusal(run("forget", ONE))
    result = printed(run("forget", ONE, "--yes"))
    assert ONE in result
    assert "Forgotten: 1 item." in result
    for options in ([], ["--lexical"]):
        assert ONE not in run("search", "worker 3", "--limit", "50", "--all", *options).stdout
    assert len(entries_in(storage)) == 23
    again = run("import", str(tmp_path / "entries.jsonl")).stdout
    for fact in ("0 entries", "1 entry, not imported", "23 entries", "complete: 46 vectors"):
        assert fact in again
    assert len(entries_in(storage)) == 23


@pytest.mark.usefixtures("kept")
def test_the_short_id_of_a_memory_is_answered_with_the_whole(run: Any) -> None:
    assert f"Of a memory, give the whole id: {MEMORIES[0]}." in refusal(run("forget", MEMORIES[0][:4], "--yes"))
    assert "Of a memory" not in refusal(run("forget", "0000", "--yes"))


@pytest.mark.usefixtures("memory")
def test_neither_a_dry_run_nor_an_unanswered_question_changes_anything(run: Any, storage: Path) -> None:
    before = written(storage)
    assert ONE in run("forget", ONE, "--dry-run").stdout
    assert ONE in run("forget", ONE, "--preview").stdout
    assert run("forget", ONE).exit_code == 1
    assert written(storage) == before


@pytest.mark.usefixtures("memory")
def test_a_purge_removes_the_text_from_the_files(run: Any, storage: Path) -> None:
    assert "worker 3" in written(storage)
    assert "Removed from the journal's files: 1 line." in run("forget", ONE, "--purge", "--yes").stdout
    assert "worker 3" not in written(storage)
    assert ONE in written(storage)
    assert len(entries_in(storage)) == 23


@pytest.mark.usefixtures("memory")
def test_a_whole_project_can_be_forgotten(run: Any, storage: Path) -> None:
    assert (
        "Nothing to forget."
        in run("forget", "--project", "current", "--preview", LEARNING_MEMORY_PROJECT="elsewhere").stdout
    )
    result = run("forget", "--project", "current", "--yes")
    assert "... and 4 more" in result.stdout
    assert "Forgotten: 24 items." in result.stdout
    assert entries_in(storage) == {}
    assert "Nothing found" in run("search", "worker").stdout


@pytest.mark.usefixtures("filled")
def test_the_preview_lists_the_verdicts_that_go_along(run: Any, storage: Path) -> None:
    journal = Journal(storage / "journal")
    judged = value("value_1", project="garden", member_ids=(ONE,))
    ValueLog(journal.values).add(judged)
    VerdictLog(journal.verdicts).record(Caller("garden", "s"), judged, utc_now(), {ONE: Stance.CONTRADICTS})
    previewed = run("forget", ONE, "--preview").stdout
    assert "verdict" in previewed
    assert "contradicts value_1" in previewed
    done = run("forget", ONE, "--yes").stdout
    assert "Forgotten: 1 item and 1 verdict." in done
    assert VerdictLog(Journal(storage / "journal").verdicts).all() == []


@pytest.mark.usefixtures("memory")
def test_an_unknown_id_forgets_nothing(run: Any, storage: Path) -> None:
    assert "ghap_nobody" in refusal(run("forget", ONE, "ghap_nobody", "--yes"))
    assert len(entries_in(storage)) == 24
    for arguments in ([], [ONE, "--project", "garden"]):
        assert run("forget", *arguments, "--yes").exit_code == 1


@pytest.mark.usefixtures("memory")
def test_memories_and_open_entries_are_forgotten_with_their_project(run: Any, storage: Path) -> None:
    run("hub", "stop")

    async def add() -> str:
        async with services_in(storage) as services:
            added = await services.memories.add(Caller("kitchen", "s"), "Salt the water. " * 30, {})
            await services.writer.complete()
            assert (await services.index.counts())["memories"] > 0
            return added.memory.id

    memory_id = asyncio.run(add())
    shown = run("forget", "--project", "kitchen", "--yes", "--purge").stdout
    assert memory_id in shown
    assert "Forgotten: 1 item." in shown
    assert "Salt" not in written(storage, "memories")

    async def counts() -> int:
        async with services_in(storage) as services:
            await services.writer.complete()
            return (await services.index.counts())["memories"]

    assert asyncio.run(counts()) == 0


@pytest.mark.usefixtures("memory")
def test_a_purge_says_which_backups_still_have_the_text_and_removes_it_from_them_on_request(
    run: Any, storage: Path
) -> None:
    def backed_up() -> list[bytes]:
        return [gzip.decompress(path.read_bytes()) for path in sorted((storage / "backups").iterdir())]

    for _ in range(2):
        assert run("backup").exit_code == 0
    plain = in_line(run("forget", ONE, "--yes").stderr)
    assert "The text stays in the journal's files until `forget --purge`" in plain
    assert "worker 3" in written(storage)
    assert run("backup").exit_code == 0
    assert "--backups needs --purge" in refusal(run("forget", "--backups", "--yes"))
    purged = in_line(run("forget", "--purge", "--yes").stdout)
    assert purged.count("Still in the backup learning-memory-") == 2
    assert "run: learning-memory-server forget --purge --backups" in purged
    assert "Exports, and backups in other folders, were not looked at." in purged
    assert "worker 3" not in written(storage)
    assert [b"worker 3" in content for content in backed_up()] == [True, True, False]
    (storage / "backups" / "learning-memory-20200101T000000000000Z.tar.gz").write_bytes(b"\x1f\x8bworker 3")
    (storage / "backups" / ".learning-memory-20200101T000000000000Z.tar.gz.tmp").write_bytes(b"worker 3")
    rewritten = in_line(run("forget", "--purge", "--backups", "--yes").stdout)
    assert rewritten.count("Removed: the backup learning-memory-") == 2
    assert "20200101T000000000000Z.tar.gz cannot be read and may still hold it; remove the file" in rewritten
    for path in (storage / "backups").glob("learning-memory-2020*"):
        path.unlink()
    assert len(backed_up()) == 2
    assert not any(b"worker 3" in content for content in backed_up())
    assert all(b"worker 4" in content for content in backed_up())
    again = in_line(run("forget", "--purge", "--backups", "--yes").stdout)
    assert "No backup in" in again
    assert "has anything that is forgotten" in again


@pytest.mark.slow
def test_no_byte_of_what_is_purged_stays_in_a_backup(run: Any, storage: Path) -> None:
    ids = asyncio.run(sow(storage))
    assert run("backup").exit_code == 0
    with_secrets = [ids[name] for name in ("entry", "abandoned", "open", "value", "memory", "failure")]
    assert run("forget", *with_secrets, "--yes").exit_code == 0
    assert run("backup").exit_code == 0
    assert len([name for name in traces(storage) if name.startswith("backups/")]) == 1
    assert run("forget", "--purge", "--backups", "--yes").exit_code == 0
    assert not [name for name in traces(storage) if name.startswith(("backups/", "journal/"))]
    assert len(list((storage / "backups").iterdir())) == 2


@pytest.mark.usefixtures("filled")
def test_files_that_are_no_longer_read_are_named_left_out_of_archives_and_removed_by_a_purge(
    run: Any, storage: Path, tmp_path: Path
) -> None:
    trials = storage / "journal" / "trials.jsonl"
    refusals = [storage / "refusals.json", storage / "refusals.json.corrupt-1"]
    for each in (trials, *refusals):
        each.write_bytes((SAMPLES / "journal-4" / "trials.jsonl").read_bytes())
    drawn = storage / "map"
    drawn.mkdir()
    (drawn / "full.npz").touch()
    (drawn / "CACHEDIR.TAG").touch()
    (storage / "maps-of-mine.txt").touch()
    old = [trials, drawn, *refusals]
    said = f"An earlier version wrote {', '.join(each.name for each in old)}, which is no longer read"
    assert in_line(run("doctor").stdout).count(said) == 1
    assert run("backup", str(tmp_path / "all.tar.gz")).exit_code == 0
    with tarfile.open(tmp_path / "all.tar.gz") as archive:
        assert not [name for name in archive.getnames() if "trials" in name or "refusals" in name]
    run("forget", "--project", "garden", "--yes")
    assert all(each.exists() for each in old)
    run("forget", "--purge", "--yes")
    assert not any(each.exists() for each in old)
    assert (storage / "maps-of-mine.txt").exists()
