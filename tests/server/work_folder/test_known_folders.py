"""Situations in which folders are, or are not, a project that is known."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from learning_memory_server.server.claims import Claims
from learning_memory_server.server.work_folder import WorkFolder
from tests.model.test_identity import SHOP
from tests.server.work_folder.repositories import World, cloned, moved_away, repository, worktree
from tests.sharing.repositories import git


def _remote_added(shop: Path) -> Path:
    git(shop, "remote", "add", "origin", f"https://{SHOP}.git")
    return shop


def _remote_added_after_commits(shop: Path) -> Path:
    git(shop, "commit", "--quiet", "--allow-empty", "--message", "second")
    return _remote_added(shop)


def _renamed(shop: Path) -> Path:
    return shop.rename(shop.with_name("bazaar"))


def _fetched_fork(shop: Path) -> Path:
    git(shop, "remote", "add", "fork", "https://github.com/stranger/shop.git")
    return shop


def _two_remotes(shop: Path) -> Path:
    git(shop, "remote", "add", "one", "https://github.com/one/shop.git")
    return _fetched_fork(shop)


def _orphan_branch(shop: Path) -> Path:
    git(shop, "checkout", "--quiet", "--orphan", "pages")
    git(shop, "commit", "--quiet", "--allow-empty", "--message", "pages")
    return shop


def _inside(shop: Path) -> Path:
    (shop / "deep" / "inside").mkdir(parents=True)
    return shop / "deep" / "inside"


@pytest.mark.parametrize(
    "change",
    [
        _remote_added,
        _remote_added_after_commits,
        moved_away,
        _renamed,
        worktree,
        _fetched_fork,
        _two_remotes,
        _orphan_branch,
        _inside,
    ],
)
def test_a_repository_stays_the_project_that_it_is(world: World, shop: Path, change: Callable[[Path], Path]) -> None:
    first = world.session(shop)

    changed = change(shop)

    assert world.session(changed) == first
    assert world.asks(changed) is None


@pytest.mark.parametrize(
    "command",
    [
        ("remote", "set-url", "origin", "https://github.com/renamed/shop.git"),
        ("remote", "rename", "origin", "upstream"),
        ("remote", "remove", "origin"),
        ("remote", "add", "fork", "https://github.com/stranger/shop.git"),
    ],
)
def test_another_remote_makes_no_other_project(world: World, tmp_path: Path, command: tuple[str, ...]) -> None:
    shop = repository(tmp_path / "shop", remote=SHOP)
    assert world.session(shop) == (SHOP, True)

    git(shop, *command)

    assert world.session(shop) == (SHOP, True)


def test_a_folder_that_becomes_a_repository_stays_the_project(world: World, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    first = world.session(tmp_path / "shop")
    git(tmp_path / "shop", "init", "--quiet")
    assert world.session(tmp_path / "shop") == first
    repository(tmp_path / "shop", remote=SHOP)
    assert world.session(tmp_path / "shop") == first
    # What began without a commit has its roots now.
    shutil.rmtree(tmp_path / "shop")
    assert world.session(repository(tmp_path / "shop", "another"))[0] != first[0]


def test_a_worktree_that_was_removed_is_still_the_project(world: World, shop: Path) -> None:
    feature = worktree(shop)
    first = world.session(feature)
    git(shop, "worktree", "remove", str(feature))
    assert world.session(feature) == first == world.session(shop)


def test_what_git_refuses_to_look_at_is_known_by_its_path_alone(
    world: World, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = world.session(shop)
    moved = cloned(shop, tmp_path / "copy")
    uid = os.geteuid()
    # To git and to us, the folders are of somebody else: the container's user is another one.
    monkeypatch.setattr("learning_memory_server.server.work_folder.git", lambda *_arguments, **_given: None)
    monkeypatch.setattr("learning_memory_server.server.work_folder.os.geteuid", lambda: uid + 1)
    assert world.session(shop) == first
    assert world.session(moved)[0] != first[0]

    tmp_path.chmod(0o777)

    assert world.session(shop) == (first[0], False)


def test_a_second_clone_is_the_project_as_soon_as_the_first_has_kept_something(world: World, tmp_path: Path) -> None:
    shop = repository(tmp_path / "shop", remote=SHOP)
    claims = Claims(tmp_path / "data" / "claims")
    # The look-up of its first commit has not ended.
    assert claims.find(shop, lambda _project: False) == (SHOP, True)
    world.stored.add(SHOP)

    assert world.session(cloned(shop, tmp_path / "clone", remote=SHOP)) == (SHOP, True)
    git(shop, "remote", "set-url", "origin", "https://github.com/renamed/shop.git")
    assert world.session(shop) == (SHOP, True)
    renamed = cloned(shop, tmp_path / "third", remote="github.com/renamed/shop")
    assert world.session(renamed) == (SHOP, True)
    git(tmp_path / "third", "remote", "rename", "origin", "sole")
    assert world.session(moved_away(tmp_path / "third")) == (SHOP, True)


def _template(shop: Path) -> Path:
    return cloned(shop, shop.with_name("copy"))


def _fork(shop: Path) -> Path:
    return cloned(shop, shop.with_name("copy"), remote="github.com/stranger/shop")


def _shallow(shop: Path) -> Path:
    git(shop, "commit", "--quiet", "--allow-empty", "--message", "second")
    return cloned(shop, shop.with_name("copy"), "--depth=1", remote=SHOP)


def _copied(shop: Path) -> Path:
    shutil.copytree(shop, shop.with_name("copy"))
    git(shop.with_name("copy"), "remote", "remove", "origin")
    return shop.with_name("copy")


def _another_with_its_remote(shop: Path) -> Path:
    return repository(shop.with_name("copy"), "another", remote=SHOP)


def _made_where_it_was(shop: Path) -> Path:
    shutil.rmtree(shop)
    return repository(shop, "another", remote=SHOP)


def _empty_where_it_was(shop: Path) -> Path:
    shutil.rmtree(shop)
    shop.mkdir()
    git(shop, "init", "--quiet")
    return shop


def _bare(shop: Path) -> Path:
    return cloned(shop, shop.with_name("copy.git"), "--bare")


@pytest.mark.parametrize(
    "other",
    [_template, _fork, _shallow, _copied, _another_with_its_remote, _made_where_it_was, _empty_where_it_was, _bare],
)
def test_everything_else_is_a_project_of_its_own_until_a_person_says_otherwise(
    world: World, tmp_path: Path, other: Callable[[Path], Path]
) -> None:
    shop = repository(tmp_path / "shop", remote=SHOP)
    assert world.session(shop) == (SHOP, True)

    copy = other(shop)

    own = world.session(copy)
    assert own.project != SHOP
    assert own == world.session(copy)
    assert world.asks(copy) == SHOP
    claims = Claims(tmp_path / "data" / "claims")
    claims.decline(copy, SHOP)
    assert world.asks(copy) is None
    assert world.session(copy) == own
    claims.confirm(copy, SHOP)
    assert world.session(copy) == world.session(copy / "deep") == (SHOP, True)


def test_the_remote_of_a_project_of_which_no_folder_is_known_is_not_enough(world: World, tmp_path: Path) -> None:
    world.stored.add(SHOP)
    shop = repository(tmp_path / "shop", remote=SHOP)
    assert world.session(shop) == (SHOP, False)
    assert world.asks(shop) == SHOP
    Claims(tmp_path / "data" / "claims").confirm(shop, SHOP)
    assert world.session(shop) == (SHOP, True)
    assert world.session(cloned(shop, tmp_path / "clone", remote=SHOP)) == (SHOP, True)


def test_a_submodule_and_a_bare_repository_are_projects_with_names_of_their_own(world: World, shop: Path) -> None:
    library = repository(shop.with_name("library.v2"))
    git(shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "libs/bazaar.v2")
    project, is_told = world.session(shop / "libs" / "bazaar.v2")
    assert (project.startswith("bazaar.v2-"), is_told) == (True, True)
    assert world.session(shop / "libs")[0] == world.session(shop)[0] != project
    bare = _bare(shop)
    git(bare, "worktree", "add", "--quiet", str(shop.with_name("checkout")))
    assert world.session(shop.with_name("checkout")) == world.session(bare)
    assert world.session(bare)[0].startswith("copy-")


@pytest.mark.parametrize(
    "pointer",
    ["gitdir: ../shop/.git", "gitdir: ../shop/.git/worktrees/feature", "gitdir: ", "", "gitdir: loop", "gitdir: \0"],
)
def test_a_file_that_names_a_repository_counts_only_if_that_names_it_back(
    world: World, shop: Path, pointer: str
) -> None:
    first = world.session(shop)
    assert world.session(worktree(shop)) == first
    evil = shop.with_name("evil")
    evil.mkdir()
    (evil / "loop").symlink_to("loop")
    (evil / ".git").write_text(pointer + "\n")
    assert world.session(evil)[0] != first[0]


@pytest.mark.parametrize("below", ["", "src"])
def test_a_link_that_leads_to_itself_is_a_folder_like_another(tmp_path: Path, below: str) -> None:
    folder = repository(tmp_path / "shop")
    (folder / "loop").symlink_to("loop")
    assert WorkFolder.of(folder / "loop" / below).top == folder


def test_of_a_file_that_names_a_repository_4_kb_are_read(shop: Path) -> None:
    feature = worktree(shop)
    named = (feature / ".git").read_text()
    assert WorkFolder.of(feature).top == shop
    (feature / ".git").write_text(" " * 5_000 + named)
    assert WorkFolder.of(feature).top == feature
    (feature / ".git").unlink()
    os.mkfifo(feature / ".git")
    assert WorkFolder.of(feature).top == feature


@pytest.mark.parametrize(
    ("url", "label"), [("https://user:secret@github.com/acme/shop.git", SHOP), ("/srv/git/private-name.git", None)]
)
def test_a_label_is_the_remotes_name_without_credentials_and_no_path(shop: Path, url: str, label: str | None) -> None:
    git(shop, "remote", "add", "origin", url)
    assert WorkFolder.of(worktree(shop)).label() == label


def test_a_project_is_named_after_its_folder(world: World, tmp_path: Path) -> None:
    for folder in (tmp_path / "Notes", tmp_path / "gone"):
        assert re.fullmatch(rf"{folder.name}-[0-9a-f]{{6}}", world.session(folder).project)
    assert world.session(Path("/")).project.startswith("default-")
    many = [repository(tmp_path / str(number) / "app") for number in range(3)]
    assert len({world.session(each).project for each in many}) == 3
