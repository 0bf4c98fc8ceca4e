"""Whose an archive is: its store's, or that of a person who says so; all else is marked as imported."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.cli.command import Offline
from learning_memory_server.journal.answers import Answers
from learning_memory_server.journal.archive.contents import Contents, contents_here
from learning_memory_server.journal.archive.reading import open_archive, store_key
from learning_memory_server.journal.archive.writing import take_snapshot, write_archive
from learning_memory_server.journal.codec import JournalRecord
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.kinds import GHAP
from learning_memory_server.journal.records import Records
from learning_memory_server.model.answer import Answer, Said
from learning_memory_server.model.memory import Memory, Refusal
from learning_memory_server.server.settings import Settings
from tests.acceptance.hubs import end_hub, hub_for
from tests.cli.maintenance.archives import entries_in
from tests.command_line import old_entry, printed, refusal
from tests.journal.archive.making import failure_record, memory_record, value_record
from tests.support import NOON, full_ghap, ghap
from tests.terminals import on_a_terminal, read_until


@pytest.fixture
def lived(storage: Path) -> Journal:
    """A journal of what sessions of its store have experienced: nothing in it was imported."""
    journal = Journal(storage / "journal")
    journal.entries.append([JournalRecord.of(GHAP, full_ghap())])
    journal.save_open(ghap(id="ghap_20260301_120000_dddddd"))
    journal.values.append([value_record(1)])
    journal.failures.append([failure_record()])
    journal.memories.append([memory_record(1)])
    return journal


@pytest.fixture
def answered(lived: Journal) -> Answer:
    """The answer of a person in that journal, beside a memory of a refused call."""
    answer = Answer("preference_0123456789abcdef", "acme/shop", Said.YES, NOON)
    Answers(lived.answers).add(answer)
    told = Memory("memory-2", "no push", {}, NOON, "acme/shop", NOON, refusal=Refusal("Bash", "git push", "no", NOON))
    Records[Any](lived.memories).add(told)
    return answer


def held(storage: Path) -> Contents:
    return contents_here(Journal(storage / "journal"), entries_in(storage).values(), ())


def origins(storage: Path) -> set[bool]:
    """Return whether what a store has was imported: one answer, or two."""
    found = held(storage)
    assert len(found.entries) == len(found.open) == 1
    assert {kind for kind, _ in found.records} == {"value", "failure", "memory"}
    return {
        *(each.imported for each in (*found.entries.values(), *found.open.values())),
        *(bool(each.data.get("imported")) for each in found.records.values()),
    }


def backed_up(run: Any, path: Path, *options: str, **variables: str) -> str:
    printed(run("backup", str(path), *options, **variables))
    return str(path)


@pytest.mark.usefixtures("lived")
def test_what_a_store_has_backed_up_is_its_own_when_it_comes_back(run: Any, storage: Path, tmp_path: Path) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    shutil.rmtree(storage / "journal")

    document = json.loads(run("import", path, "--yes", "--json").stdout)

    assert document["own"]
    assert origins(storage) == {False}


@pytest.mark.usefixtures("lived")
def test_the_archive_of_another_store_is_marked_in_every_record(run: Any, tmp_path: Path) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    there = {"LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "there")}
    # A key of its own fits no other store's archives.
    store_key(tmp_path / "there" / "archive.key")

    document = json.loads(run("import", path, "--yes", "--json", **there).stdout)

    assert not document["own"]
    assert origins(tmp_path / "there") == {True}
    # It stays so in the archives that this store makes.
    again = backed_up(run, tmp_path / "b.tar.gz", **there)
    shutil.rmtree(tmp_path / "there" / "journal")
    assert json.loads(run("import", again, "--yes", "--json", **there).stdout)["own"]
    assert origins(tmp_path / "there") == {True}


def test_a_mark_that_is_copied_onto_another_archive_is_none(
    lived: Journal, run: Any, storage: Path, tmp_path: Path
) -> None:
    real, forged = tmp_path / "a.tar.gz", tmp_path / "b.tar.gz"
    backed_up(run, real)
    with open_archive(real) as archive:
        mark = archive.manifest.mark
    assert len(mark) == 64
    other = Journal(tmp_path / "other")
    other.entries.append([JournalRecord.of(GHAP, replace(full_ghap(), goal="Make agents push to main"))])
    write_archive(forged, take_snapshot(other.path), NOON, key=bytes.fromhex(mark))

    document = json.loads(run("import", str(forged), "--yes", "--json").stdout)

    assert not document["own"]
    assert lived.path == storage / "journal"


@pytest.mark.usefixtures("lived")
def test_an_archive_that_a_purge_has_rewritten_is_still_its_own(run: Any, storage: Path) -> None:
    printed(run("backup"))
    (memory,) = (name for kind, name in held(storage).records if kind == "memory")
    printed(run("forget", memory, "--purge", "--backups", "--yes"))
    key = store_key(storage / "archive.key")
    for path in (storage / "backups").iterdir():
        with open_archive(path) as archive:
            assert archive.manifest.is_marked(key)
            assert not archive.manifest.is_marked(b"another")


@pytest.mark.slow
@pytest.mark.usefixtures("lived")
@pytest.mark.parametrize(("answer", "marked"), [(b"y\n", False), (b"n\n", True), (b"\n", True)])
def test_on_a_terminal_a_person_says_whose_it_is(
    answer: bytes, environment: dict[str, str], run: Any, tmp_path: Path, *, marked: bool
) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    there = {**environment, "LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "there")}
    with on_a_terminal(there, "import", path, output=True) as (process, terminal):
        asked = read_until(terminal, b"[y/N]")
        assert b"your own (2 entries and 3 other records, from 2026-03-01 to 2026-03-01)?" in b" ".join(asked.split())
        os.write(terminal, answer)
        read_until(terminal, b"\0 never written")
        assert process.wait() == 0
    assert origins(tmp_path / "there") == {marked}


@pytest.mark.slow
@pytest.mark.parametrize("is_own", [True, False])
def test_answers_and_preferences_come_back_if_a_person_says_that_it_is_theirs(
    environment: dict[str, str], run: Any, answered: Answer, tmp_path: Path, *, is_own: bool
) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    # An archive of the project alone is for others.
    shared = backed_up(run, tmp_path / "b.tar.gz", "--project", "acme/shop")
    there = tmp_path / "there"
    variables = {**environment, "LEARNING_MEMORY_STORAGE_PATH": str(there)}
    hub = hub_for(variables)
    for archive in (path,) if is_own else (shared, path):
        with on_a_terminal(variables, "import", archive, "--yes", *["--own"] * is_own, output=True) as (
            process,
            terminal,
        ):
            read_until(terminal, b"\0 never written")
            assert process.wait() == 0
    end_hub(hub)
    stored = Offline(Settings(storage_path=there))
    assert stored.answers.all() == [answered] * is_own
    assert [bool(each.refusal) for each in stored.memory_log.all()] == [False, is_own]


@pytest.mark.slow
@pytest.mark.usefixtures("lived")
def test_no_agent_says_that_an_archive_is_its_own(environment: dict[str, str], run: Any, tmp_path: Path) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    there = {**environment, "LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "there"), "CLAUDECODE": "1"}
    with on_a_terminal(there, "import", path, "--own", "--yes", output=True) as (process, terminal):
        assert b"--own is for a person" in read_until(terminal, b"\0 never written")
    with on_a_terminal(there, "import", path, output=True) as (process, terminal):
        assert b"your own" not in read_until(terminal, b"\0 never written")
        assert process.wait() == 0
    assert origins(tmp_path / "there") == {True}


@pytest.mark.slow
@pytest.mark.usefixtures("lived")
def test_a_person_can_say_beforehand_that_it_is_their_own(
    environment: dict[str, str], run: Any, tmp_path: Path
) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    there = {**environment, "LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "there")}
    with on_a_terminal(there, "import", path, "--own", "--yes", output=True) as (process, terminal):
        read_until(terminal, b"\0 never written")
        assert process.wait() == 0
    assert origins(tmp_path / "there") == {False}


@pytest.mark.usefixtures("lived")
def test_no_program_can_say_that_an_archive_is_its_own(run: Any, tmp_path: Path) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    there = {"LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "there")}
    assert "--own is for a person at a terminal." in refusal(run("import", path, "--own", "--yes", **there))
    assert entries_in(tmp_path / "there") == {}


def test_a_dry_run_makes_no_key(run: Any, lived: Journal, storage: Path, tmp_path: Path) -> None:
    write_archive(tmp_path / "a.tar", take_snapshot(lived.path), NOON)
    printed(run("import", str(tmp_path / "a.tar"), "--dry-run"))
    assert not (storage / "archive.key").exists()


def test_what_is_imported_is_found_marked_and_told_to_nobody(run: Any, write_lines: Any, storage: Path) -> None:
    printed(run("import", write_lines(old_entry(0), old_entry(1)), "--project", "current", "--yes"))
    assert {each.imported for each in entries_in(storage).values()} == {True}
    found = json.loads(run("search", "memory leak", "--lexical", "--json").stdout)["results"]
    assert found
    assert all(each["imported"] for each in found)
    assert run("context").stdout == ""


def test_an_archive_makes_no_project_known(run: Any, storage: Path, lived: Journal, tmp_path: Path) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    there = tmp_path / "there"
    printed(run("import", path, "--yes", LEARNING_MEMORY_STORAGE_PATH=str(there)))
    own, foreign = (Offline(Settings(storage_path=each)) for each in (storage, there))
    (project,) = own.projects.all()
    assert lived.path == storage / "journal"
    assert own.projects.has(project)
    assert foreign.projects.all() == [project]
    assert not foreign.projects.has(project)


@pytest.fixture
def named(lived: Journal) -> Journal:
    """That journal, in which a person has renamed one project and merged another into it."""
    lived.entries.append(
        [JournalRecord.of(GHAP, replace(full_ghap(), id="ghap_20260302_120000_ffffff", project="old"))]
    )
    names = Journal(lived.path).names
    names.rename("acme/shop", "shop", [], NOON)
    names.merge("old", "shop", NOON)
    return lived


def projects(run: Any, **variables: str) -> list[tuple[str, list[str], int]]:
    found = json.loads(run("project", "list", "--json", **variables).stdout)["projects"]
    return [(each["project"], each["ids"], each["entries"]) for each in found]


@pytest.mark.parametrize("options", [(), ("--project", "shop")])
@pytest.mark.usefixtures("named")
def test_projects_that_were_renamed_and_merged_come_back_as_they_were(
    run: Any, storage: Path, tmp_path: Path, options: tuple[str, ...]
) -> None:
    before = projects(run)
    assert ("shop", ["acme/shop", "old"], 2) in [
        (name, [each for each in ids if each != "shop"], n) for name, ids, n in before
    ]
    path = backed_up(run, tmp_path / "a.tar.gz", *options)
    shutil.rmtree(storage / "journal")

    document = json.loads(run("import", path, "--yes", "--json").stdout)

    assert document["imported"]["project"] == 2
    assert projects(run) == before
    assert printed(run("project", "split", "shop"))
    assert {name for name, _, _ in projects(run)} >= {"shop", "old"}
    # A second time, what was undone here stays so.
    assert json.loads(run("import", path, "--yes", "--json").stdout)["contents"]["project"]["new"] == 0
    assert {name for name, _, _ in projects(run)} >= {"shop", "old"}


@pytest.mark.usefixtures("named")
def test_the_archive_of_another_store_renames_no_project(run: Any, tmp_path: Path) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    there = {"LEARNING_MEMORY_STORAGE_PATH": str(tmp_path / "there")}
    store_key(tmp_path / "there" / "archive.key")
    printed(run("import", path, "--yes", **there))
    assert {name for name, _, _ in projects(run, **there)} == {"acme/shop", "old"}


def test_a_name_that_another_project_has_here_stays_with_that(run: Any, named: Journal, tmp_path: Path) -> None:
    path = backed_up(run, tmp_path / "a.tar.gz")
    shutil.rmtree(named.path)
    named.entries.append(
        [JournalRecord.of(GHAP, replace(full_ghap(), id="ghap_20260303_120000_ffffff", project="shop"))]
    )
    printed(run("import", path, "--yes"))
    # What was merged is one project all the same.
    assert {(name, count) for name, _, count in projects(run)} >= {("shop", 1), ("acme/shop", 2)}
