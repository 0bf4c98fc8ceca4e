"""`project`: what projects are called, and which are one."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.journal.journal import Journal
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Lesson
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.claims import Claims
from tests.server.work_folder.repositories import cloned, repository
from tests.support import CONFIRMED, PARTS, ghap, numbered
from tests.terminals import on_a_terminal, read_until

SHOP = "github.com/acme/webshop"


@pytest.fixture
def copy(storage: Path, tmp_path: Path) -> str:
    """The project of a folder that was a project of its own until its remote was added elsewhere."""
    folder = repository(tmp_path / "webshop")
    claims = Claims(storage / "claims")
    name = claims.find(folder, lambda _project: False).project
    lesson = replace(CONFIRMED, lesson=Lesson("counting", "Count twice."))
    given = [numbered(1, project=SHOP, resolution=lesson), numbered(2, project=name), numbered(3, project="notes")]
    ObservationCollector(Journal(storage / "journal"), utc_now).add_resolved(given)
    return name


def listed(run: Any) -> dict[str, tuple[int, int]]:
    found = json.loads(run("project", "list", "--json").stdout)["projects"]
    return {row["project"]: (row["entries"], len(row["folders"])) for row in found}


def test_projects_are_listed_with_their_folders_renamed_merged_and_split(run: Any, copy: str) -> None:
    assert listed(run) == {SHOP: (1, 0), "notes": (1, 0), copy: (1, 1)}

    assert run("project", "rename", "notes", "diary").stdout == "notes is called diary now.\n"
    said = run("project", "merge", copy, SHOP).stdout
    assert said == f"{copy} is read as {SHOP} now. Undo: learning-memory-server project split {SHOP}\n"
    assert listed(run) == {SHOP: (2, 1), "diary": (1, 0)}
    assert len(json.loads(run("list", "--project", SHOP, "--json").stdout)["results"]) == 2
    assert run("project", "split", SHOP).stdout == f"Projects of their own again: {copy}.\n"
    assert listed(run) == {SHOP: (1, 0), "diary": (1, 0), copy: (1, 1)}


def test_open_entries_are_not_counted_as_those_that_list_and_status_show(run: Any, copy: str, storage: Path) -> None:
    ObservationCollector(Journal(storage / "journal"), utc_now).start(Caller("notes", "e" * 16), **PARTS)
    assert listed(run)["notes"] == (1, 0)
    assert json.loads(run("status", "--json").stdout)["entries"]["by_project"] == {SHOP: 1, "notes": 1, copy: 1}


def test_the_name_of_another_project_and_an_unknown_one_are_refused(run: Any, copy: str) -> None:
    refused = run("project", "rename", copy, "notes")
    assert f"notes is the name of another project than {copy}." in refused.stderr
    assert f"learning-memory-server project merge {copy} notes" in refused.stderr
    assert "nothing is stored of nites" in run("project", "merge", "nites", SHOP).stderr


def test_a_short_name_is_enough_where_it_is_the_only_one(run: Any, copy: str) -> None:
    both = run("list").stdout
    assert copy in both
    assert SHOP in both
    refused = run("list", "--project", "webshop")
    assert f"--project: webshop may be {SHOP}, {copy}." in refused.stderr
    run("project", "rename", SHOP, "market")
    assert len(json.loads(run("list", "--project", "webshop", "--json").stdout)["results"]) == 1
    for words in (["list"], ["status"], ["project", "list"], ["show", numbered(2).id]):
        shown = run(*words).stdout
        assert "webshop" in shown, words
        assert copy not in shown.replace(f"/{copy}", ""), words


def test_what_waits_is_counted_by_project_and_answered_there(run: Any, storage: Path) -> None:
    lessons = [
        replace(numbered(number, project=project), imported=True)
        for number, project in enumerate(("garden", "orchard", "orchard"))
    ]
    taught = [
        replace(each, resolution=replace(each.resolution, lesson=Lesson("it", f"Look twice {each.id}")))
        for each in lessons
        if each.resolution
    ]
    ObservationCollector(Journal(storage / "journal"), utc_now).add_resolved(taught)
    document = json.loads(run("status", "--json", LEARNING_MEMORY_PROJECT="garden").stdout)
    assert (document["waiting"], document["waiting_in"]) == (3, {"orchard": 2, "garden": 1})
    said = run("status", LEARNING_MEMORY_PROJECT="garden").stdout
    ways = "`learning-memory-server review`, `learning-memory-server review --project orchard`"
    assert f"  2 in orchard, 1 in garden for your yes: {ways}\n" in said
    found = json.loads(run("review", "--project", "orchard", "--json", LEARNING_MEMORY_PROJECT="garden").stdout)
    assert {each["project"] for each in found["results"]} == {"orchard"}
    assert found["count"] == 2


def test_doctor_names_the_entries_of_projects_that_no_folder_is(run: Any, copy: str) -> None:
    said = run("doctor", "--quick").stdout
    assert "2 entries of projects that no folder here has" in " ".join(said.split())
    assert copy not in said


@pytest.mark.parametrize("project", ["notes", SHOP])
def test_doctor_counts_what_is_open_apart_and_names_the_command_that_helps_first(
    run: Any, storage: Path, project: str
) -> None:
    journal = Journal(storage / "journal")
    ObservationCollector(journal, utc_now).add_resolved([numbered(1, project=project)])
    journal.save_open(ghap(project=project))
    said = " ".join(run("doctor", "--quick").stdout.split())
    assert "1 entry and 1 open entry of projects that no folder here has" in said
    assert "run there: learning-memory-server project merge current NAME" in said
    # Of a folder without a remote, `--fix` has nothing to ask.
    assert ("doctor --fix asks there" in said) is (project == SHOP)


@pytest.fixture
def template(storage: Path, tmp_path: Path, environment: dict[str, str]) -> dict[str, str]:
    """The environment of a copy of a repository of which something is stored."""
    claims = Claims(storage / "claims")
    shop = repository(tmp_path / "webshop", remote=SHOP)
    claims.record_roots(shop, claims.find(shop, lambda _project: False).project)
    ObservationCollector(Journal(storage / "journal"), utc_now).add_resolved([numbered(1, project=SHOP)])
    copy = cloned(shop, tmp_path / "copy")
    return {**environment, "CLAUDE_PROJECT_DIR": str(copy)}


@pytest.mark.slow
@pytest.mark.parametrize(("answer", "is_it"), [(b"\n", False), (b"y\n", True)])
@pytest.mark.parametrize("command", [("start",), ("doctor", "--quick", "--fix")])
def test_a_person_is_asked_once_whether_a_copy_is_the_project_and_the_default_is_no(
    template: dict[str, str], storage: Path, command: tuple[str, ...], answer: bytes, *, is_it: bool
) -> None:
    del template["LEARNING_MEMORY_PROJECT"]
    copy = Path(template["CLAUDE_PROJECT_DIR"])
    question = f"Is {copy} the project {SHOP}, and may its sessions get advice from it? [y/N]"
    with on_a_terminal(template, *command, output=True) as (process, terminal):
        read_until(terminal, b"[y/N]")
        os.write(terminal, answer)
        if command == ("start",):
            assert b"Step 1 of 3" in read_until(terminal, b"Step 1 of 3")
        else:
            read_until(terminal, b"that never comes")
            process.wait()

    claims = Claims(storage / "claims")
    assert (claims.find(copy).project == SHOP) == is_it
    assert claims.claimed(copy, lambda project: project == SHOP) is None
    with on_a_terminal(template, "doctor", "--quick", "--fix", output=True) as (_, terminal):
        assert question.encode() not in read_until(terminal, b"that never comes").replace(b"\r\n", b" ")


def test_without_a_terminal_nobody_is_asked_and_nothing_is_told(
    run: Any, template: dict[str, str], storage: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LEARNING_MEMORY_PROJECT", raising=False)
    monkeypatch.setenv("CLAUDE_PROJECT_DIR", template["CLAUDE_PROJECT_DIR"])
    before = {each.name: each.read_bytes() for each in (storage / "claims").iterdir()}
    assert "[y/N]" not in run("doctor", "--quick", "--fix", LEARNING_MEMORY_PROJECT=None).stdout
    assert {each.name: each.read_bytes() for each in (storage / "claims").iterdir()} == before
