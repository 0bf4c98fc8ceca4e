"""Folders that claim to be a project by their remote."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from learning_memory_server.learning.failures.transcripts import folder_name
from learning_memory_server.server.claims import Claims, caller_of
from learning_memory_server.server.settings import Settings
from tests.model.test_identity import SHOP
from tests.sharing.repositories import git


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Claims:
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "client"))
    return Claims(tmp_path / "data" / "claims.json")


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
    assert (tmp_path / "data" / "claims.json").stat().st_mode & 0o777 == 0o600
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

    assert not Claims(tmp_path / "data" / "claims.json").may_tell(shop, SHOP)


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
