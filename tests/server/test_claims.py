"""Folders that claim to be a project by their remote."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier

import pytest

from learning_memory_server.cli.doctor.settings import check_claim
from learning_memory_server.learning.failures.transcripts import folder_name
from learning_memory_server.server.claims import Claims, caller_of
from learning_memory_server.server.settings import Settings
from tests.model.test_identity import SHOP
from tests.sharing.repositories import git


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Claims:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "client"))
    return Claims(tmp_path / "data" / "claims")


def repository(folder: Path, message: str = "first") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    return folder


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def used(tmp_path: Path, folder: Path, at: float) -> None:
    kept = tmp_path / "client" / "projects" / folder_name(folder)
    kept.mkdir(parents=True, exist_ok=True)
    (kept / "session.jsonl").touch()
    os.utime(kept / "session.jsonl", (at, at))


def test_the_first_folder_of_a_project_decides_where_history_begins(tmp_path: Path, claims: Claims, shop: Path) -> None:
    evil = repository(tmp_path / "evil", "another")
    assert not claims.may_tell(shop, SHOP)

    claims.look_up(shop, SHOP, is_new=True)
    claims.look_up(evil, SHOP, is_new=False)

    assert claims.may_tell(shop, SHOP)
    assert claims.may_tell(shop / "deep", SHOP)
    assert not claims.may_tell(evil, SHOP)
    assert {file.stat().st_mode & 0o777 for file in (tmp_path / "data" / "claims").iterdir()} == {0o600}
    # A name without a remote is the folder's own.
    assert claims.may_tell(evil, "evil")


def test_clones_and_worktrees_have_the_same_root(tmp_path: Path, claims: Claims, shop: Path) -> None:
    claims.look_up(shop, SHOP, is_new=True)
    git(shop, "worktree", "add", "--quiet", str(tmp_path / "feature"))
    git(tmp_path, "clone", "--quiet", str(shop), "clone")

    assert claims.may_tell(tmp_path / "feature", SHOP)
    assert not claims.may_tell(tmp_path / "clone", SHOP)
    claims.look_up(tmp_path / "clone", SHOP, is_new=False)
    assert claims.may_tell(tmp_path / "clone", SHOP)


def test_of_several_roots_the_set_counts(tmp_path: Path, claims: Claims, shop: Path) -> None:
    evil = tmp_path / "evil"
    shutil.copytree(shop, evil)
    git(evil, "checkout", "--quiet", "--orphan", "another")
    git(evil, "commit", "--quiet", "--allow-empty", "--message", "another")
    head = subprocess.run(
        ["git", "branch", "--format=%(refname:short)"], cwd=evil, capture_output=True, text=True, check=True
    ).stdout.split()
    git(evil, "merge", "--quiet", "--allow-unrelated-histories", "--message", "both", *head)
    claims.look_up(shop, SHOP, is_new=True)

    claims.look_up(evil, SHOP, is_new=False)

    assert claims.may_tell(shop, SHOP)
    assert not claims.may_tell(evil, SHOP)


def test_a_folder_with_transcripts_gives_an_older_project_its_root(tmp_path: Path, claims: Claims, shop: Path) -> None:
    # The session that asks has a transcript, too.
    used(tmp_path, shop, time.time())
    claims.look_up(shop, SHOP, is_new=False)
    assert not claims.may_tell(shop, SHOP)

    used(tmp_path, shop, time.time() - 86_400)
    claims.look_up(shop, SHOP, is_new=False)

    assert claims.may_tell(shop, SHOP)


def test_a_shallow_clone_needs_a_yes_which_holds_for_its_folder_alone(
    tmp_path: Path, claims: Claims, shop: Path
) -> None:
    git(shop, "commit", "--quiet", "--allow-empty", "--message", "second")
    for name in ("shallow", "other"):
        git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{shop}", name)
        claims.look_up(tmp_path / name, SHOP, is_new=True)
    assert not claims.may_tell(tmp_path / "shallow", SHOP)

    claims.confirm(tmp_path / "shallow", SHOP)

    assert claims.may_tell(tmp_path / "shallow", SHOP)
    assert not claims.may_tell(tmp_path / "shallow", "github.com/acme/another")
    assert not claims.may_tell(tmp_path / "other", SHOP)


def test_a_yes_gives_the_root_of_a_project_that_has_none_on_record(tmp_path: Path, claims: Claims, shop: Path) -> None:
    claims.look_up(shop, SHOP, is_new=False)
    git(tmp_path, "clone", "--quiet", str(shop), "clone")

    claims.confirm(shop, SHOP)
    claims.look_up(tmp_path / "clone", SHOP, is_new=False)

    assert claims.may_tell(tmp_path / "clone", SHOP)


def test_another_repository_in_the_same_place_is_another_folder(tmp_path: Path, claims: Claims, shop: Path) -> None:
    claims.look_up(shop, SHOP, is_new=True)
    shop.rename(tmp_path / "moved")
    repository(tmp_path / "shop", "another")

    assert not Claims(tmp_path / "data" / "claims").may_tell(shop, SHOP)


def test_without_a_remote_a_project_is_named_after_its_folder_and_where_its_history_begins(
    tmp_path: Path, claims: Claims, shop: Path
) -> None:
    name = claims.project_of(shop)
    assert re.fullmatch(r"shop-[0-9a-f]{6}", name)
    git(shop, "worktree", "add", "--quiet", str(tmp_path / "feature"))
    (shop / "deep").mkdir()
    for folder in (shop, shop / "deep", tmp_path / "feature"):
        assert claims.project_of(folder) == name
    # Of the same history, and of the same name.
    (tmp_path / "copies").mkdir()
    git(tmp_path, "clone", "--quiet", str(shop), "copies/shop")
    assert claims.project_of(tmp_path / "copies" / "shop") == name
    assert claims.project_of(repository(tmp_path / "others" / "shop", "another")) != name
    git(shop, "remote", "add", "origin", f"https://{SHOP}.git")
    assert claims.project_of(shop) == SHOP


def test_a_folder_keeps_its_name_when_its_history_begins(tmp_path: Path, claims: Claims) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    assert claims.project_of(shop, keep=False) == claims.project_of(shop)
    before = claims.project_of(shop)
    (tmp_path / "others" / "shop").mkdir(parents=True)
    assert claims.project_of(tmp_path / "others" / "shop") != before
    git(shop, "init", "--quiet")
    named = claims.project_of(shop)
    git(shop, "commit", "--quiet", "--allow-empty", "--message", "first")
    assert claims.project_of(shop) == named


def test_a_setting_names_the_project_whatever_its_folder_is_called(tmp_path: Path) -> None:
    settings = Settings(storage_path=tmp_path / "data", project="named")
    assert caller_of({"CLAUDE_PROJECT_DIR": str(tmp_path)}, settings).project == "named"
    assert not (tmp_path / "data").exists()


def at_once(claims: Claims, ask: Callable[[Claims, Path], object], folders: Sequence[Path]) -> list[object]:
    """Ask about every folder at the same moment, each as a process of its own would."""
    begin = Barrier(len(folders))

    def asked(folder: Path) -> object:
        begin.wait()
        return ask(Claims(claims.folder), folder)

    with ThreadPoolExecutor(len(folders)) as threads:
        return list(threads.map(asked, folders))


def test_twelve_folders_that_start_together_keep_twelve_names(tmp_path: Path, claims: Claims) -> None:
    for number in range(5):
        folders = [repository(tmp_path / str(number) / str(each) / "app", f"first of {each}") for each in range(12)]

        names = at_once(claims, Claims.project_of, folders)

        assert len(set(names)) == 12
        for folder in folders:
            git(folder, "checkout", "--quiet", "--orphan", "another")
            git(folder, "commit", "--quiet", "--allow-empty", "--message", "another")
        assert [Claims(claims.folder).project_of(folder) for folder in folders] == names


def _claim(claims: Claims, folder: Path, project: str) -> None:
    claims.look_up(folder, project, is_new=True)


def test_of_folders_that_claim_a_project_together_one_is_told(tmp_path: Path, claims: Claims) -> None:
    for number in range(5):
        folders = [repository(tmp_path / str(number) / str(each), f"first of {each}") for each in range(12)]
        project = f"{SHOP}-{number}"

        at_once(claims, partial(_claim, project=project), folders)

        told = [folder for folder in folders if Claims(claims.folder).may_tell(folder, project)]
        assert len(told) == 1


def test_no_yes_is_lost_that_is_given_while_others_are(claims: Claims, shop: Path) -> None:
    projects = [f"{SHOP}-{number}" for number in range(12)]

    at_once(claims, lambda asked, project: asked.confirm(shop, str(project)), [Path(each) for each in projects])

    assert all(Claims(claims.folder).may_tell(shop, project) for project in projects)
    assert not claims.may_tell(shop, SHOP)


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff\n", b"[1]\n", b'{"of": "folder /somewhere/else"}\n'])
def test_what_cannot_be_read_of_a_folder_is_asked_and_never_taken_for_nothing(
    tmp_path: Path, claims: Claims, shop: Path, damage: bytes
) -> None:
    settings = Settings(storage_path=tmp_path / "data", journal_path=tmp_path / "journal")
    environment = {"CLAUDE_PROJECT_DIR": str(shop)}
    name = claims.project_of(shop)
    assert list(check_claim(settings, environment)) == []
    (file,) = (tmp_path / "data" / "claims").glob("*.jsonl")
    file.write_bytes(damage)

    assert not claims.may_tell(shop, name)
    assert claims.project_of(shop) == name
    assert file.read_bytes() == damage
    (finding,) = check_claim(settings, environment)
    assert finding.sentence.startswith(f"{file} cannot be read, and may say that {shop} is not {name}")
    (confirm,) = finding.answers.values()
    confirm()

    assert claims.may_tell(shop, name)
    assert list(check_claim(settings, environment)) == []


def test_a_project_whose_roots_cannot_be_read_is_not_a_new_one(tmp_path: Path, claims: Claims, shop: Path) -> None:
    claims.look_up(shop, SHOP, is_new=True)
    for file in (tmp_path / "data" / "claims").glob("*.jsonl"):
        if b'"project ' in file.read_bytes():
            file.write_bytes(b"\0" * 40)
    evil = repository(tmp_path / "evil", "another")

    claims.look_up(evil, SHOP, is_new=True)

    assert not claims.may_tell(evil, SHOP)
    assert not Claims(claims.folder).may_tell(shop, SHOP)
    claims.confirm(shop, SHOP)
    assert claims.may_tell(shop, SHOP)


def test_what_was_kept_in_one_file_is_read_in_once(tmp_path: Path, claims: Claims, shop: Path) -> None:
    place = f"{shop}/.git {(shop / '.git').stat().st_ino}"
    former = tmp_path / "data" / "claims.json"
    kept = {
        "roots": {SHOP: ["a"]},
        "folders": {place: ["a"]},
        "names": {place: ["shop", "shop-named"]},
        "confirmed": [[place, "github.com/acme/more"]],
        "since": 5.0,
    }
    former.parent.mkdir()
    former.write_text(json.dumps(kept))

    assert claims.project_of(shop) == "shop-named"
    assert not former.exists()
    assert claims.may_tell(shop, SHOP)
    assert claims.may_tell(shop, "github.com/acme/more")
    assert not claims.may_tell(shop, "github.com/acme/none")


def test_one_file_that_cannot_be_read_silences_all_until_a_person_says_yes(
    tmp_path: Path, claims: Claims, shop: Path
) -> None:
    former = tmp_path / "data" / "claims.json"
    former.parent.mkdir()
    former.write_text('{"names": {')
    claims.look_up(shop, SHOP, is_new=True)
    assert not claims.may_tell(shop, SHOP)
    assert claims.find_unreadable(shop, SHOP) == former
    assert former.exists()

    claims.confirm(shop, SHOP)

    assert claims.may_tell(shop, SHOP)
    assert not former.exists()
    evil = repository(tmp_path / "evil", "another")
    used(tmp_path, evil, time.time() - 86_400)
    claims.look_up(evil, f"{SHOP}-2", is_new=False)
    assert not claims.may_tell(evil, f"{SHOP}-2")
