"""Folders that name a repository elsewhere: which are its project, and which only look like it."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from learning_memory_server.server.claims import Claims
from tests.model.test_identity import SHOP
from tests.server.work_folder.repositories import World, cloned, moved_away, repository, worktree
from tests.sharing.repositories import git


def _linked(_shop: Path, evil: Path) -> None:
    (evil / ".git").symlink_to("../shop/.git")


def _linked_to_a_worktrees_file(shop: Path, evil: Path) -> None:
    (evil / ".git").symlink_to(worktree(shop) / ".git")


def _with_commondir(_shop: Path, evil: Path) -> None:
    (evil / ".git").mkdir()
    (evil / ".git" / "HEAD").write_text("ref: refs/heads/master\n")
    (evil / ".git" / "commondir").write_text("../../shop/.git\n")


def _with_linked_parts(shop: Path, evil: Path) -> None:
    (evil / ".git").mkdir()
    shutil.copy(shop / ".git" / "HEAD", evil / ".git")
    for name in ("config", "objects", "refs"):
        (evil / ".git" / name).symlink_to(f"../../shop/.git/{name}")


def _with_a_linked_branch(shop: Path, evil: Path) -> None:
    git(evil, "init", "--quiet")
    for name in ("config", "objects"):
        shutil.rmtree(evil / ".git" / name) if name == "objects" else (evil / ".git" / name).unlink()
        (evil / ".git" / name).symlink_to(f"../../shop/.git/{name}")
    branch = (shop / ".git" / "HEAD").read_text().removeprefix("ref: ").strip()
    (evil / ".git" / "HEAD").write_text(f"ref: {branch}\n")
    (evil / ".git" / branch).symlink_to(shop / ".git" / branch)


def _names_a_worktree_that_is_gone(shop: Path, evil: Path) -> None:
    shutil.rmtree(worktree(shop))
    (evil / ".git").write_text("gitdir: ../shop/.git/worktrees/feature\n")


@pytest.mark.parametrize("remote", ["", SHOP])
@pytest.mark.parametrize("below", ["", "src"])
@pytest.mark.parametrize(
    "make",
    [
        _linked,
        _linked_to_a_worktrees_file,
        _with_commondir,
        _with_linked_parts,
        _with_a_linked_branch,
        _names_a_worktree_that_is_gone,
    ],
)
def test_an_unpacked_folder_does_not_become_its_neighbour(
    world: World, tmp_path: Path, make: Callable[[Path, Path], None], below: str, remote: str
) -> None:
    shop = repository(tmp_path / "shop", remote=remote)
    (shop / "a.txt").write_text("a")
    git(shop, "add", "a.txt")
    git(shop, "commit", "--quiet", "--message", "second")
    first = world.session(shop)
    evil = tmp_path / "evil"
    (evil / "src").mkdir(parents=True)
    shutil.copy2(shop / "a.txt", evil)
    make(shop, evil)
    assert world.session(evil / below)[0] != first[0]
    assert world.session(shop) == first
    # A person may say that it is.
    assert world.asks(evil) == first[0]
    Claims(tmp_path / "data" / "claims").confirm(evil, first[0])
    assert world.session(evil / below) == first


def _with_file(shop: Path) -> Path:
    """Clone into `.bare`, to which a file in the folder around the worktrees leads."""
    cloned(shop, shop.parent / "bazaar" / ".bare", "--bare")
    (shop.parent / "bazaar" / ".git").write_text("gitdir: ./.bare\n")
    return shop.parent / "bazaar"


def _with_absolute_file(shop: Path) -> Path:
    around = _with_file(shop)
    (around / ".git").write_text(f"gitdir: {around}/.bare\n")
    return around


def _as_git(shop: Path) -> Path:
    cloned(shop, shop.parent / "bazaar" / ".git", "--bare")
    return shop.parent / "bazaar"


def _as_the_folder(shop: Path) -> Path:
    return cloned(shop, shop.parent / "bazaar.git", "--bare")


@pytest.mark.parametrize("make", [_with_file, _with_absolute_file, _as_git, _as_the_folder])
@pytest.mark.parametrize("begins", ["top", "worktree"])
def test_a_bare_clone_and_its_worktrees_are_one_project(
    world: World, shop: Path, make: Callable[[Path], Path], begins: str
) -> None:
    top = make(shop)
    for name in ("main", "feature"):
        git(top, "worktree", "add", "--quiet", "-b", f"a-{name}", str(top / name))
    folders = [top, top / "main", top / "feature"]
    found = [world.session(each) for each in (folders if begins == "top" else folders[::-1])]
    assert len(set(found)) == 1
    assert re.fullmatch(r"bazaar-[0-9a-f]{6}", found[0].project)
    assert found[0].is_told


def test_worktrees_of_a_bare_clone_to_which_nothing_leads_are_called_after_the_folder(world: World, shop: Path) -> None:
    bare = cloned(shop, shop.parent / "bazaar" / ".bare", "--bare")
    git(bare, "worktree", "add", "--quiet", "-b", "one", str(bare.with_name("main")))
    assert world.session(bare.with_name("main")) == world.session(bare)
    assert world.session(bare)[0].startswith("bazaar-")


def separated(folder: Path, remote: str = "") -> Path:
    """Make a repository whose folder of git is elsewhere, as `git init --separate-git-dir` does."""
    (folder / "src" / "deep").mkdir(parents=True)
    (folder.parent / "gits").mkdir()
    git(folder, "init", "--quiet", "--separate-git-dir", str(folder.parent / "gits" / "shop.git"))
    (folder / "a.txt").write_text("a")
    git(folder, "add", "a.txt")
    git(folder, "commit", "--quiet", "--message", "first")
    if remote:
        git(folder, "remote", "add", "origin", f"https://{remote}.git")
    return folder


@pytest.mark.parametrize("below", ["", "src", "src/deep"])
@pytest.mark.parametrize("is_in_dotfiles", [True, False])
def test_a_repository_whose_git_is_elsewhere_is_one_project(
    world: World, tmp_path: Path, below: str, is_in_dotfiles: bool
) -> None:
    home = repository(tmp_path / "home") if is_in_dotfiles else tmp_path / "home"
    shop = separated(home / "shop", SHOP)
    assert world.session(shop / below) == (SHOP, True)
    assert world.session(shop) == (SHOP, True)
    git(shop, "worktree", "add", "--quiet", str(tmp_path / "feature"))
    assert world.session(tmp_path / "feature") == (SHOP, True)


@pytest.mark.parametrize("is_staged", [True, False])
def test_one_that_is_empty_or_not_its_own_is_a_folder_like_another(
    world: World, tmp_path: Path, is_staged: bool
) -> None:
    home = repository(tmp_path / "home", remote="github.com/ann/dotfiles")
    shop = separated(home / "shop", SHOP)
    copy = home / "copy"
    (copy / "src").mkdir(parents=True)
    (copy / ".git").write_text((shop / ".git").read_text())
    if is_staged:
        shutil.copy2(shop / "a.txt", copy)
    found = world.session(copy / "src")
    assert found == world.session(copy)
    assert found.project.startswith("copy-")


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("below", ["", "src"])
def test_a_worktree_that_was_moved_is_still_the_project(world: World, shop: Path, is_known: bool, below: str) -> None:
    (shop / "src").mkdir()
    (shop / "src" / "a.txt").write_text("a")
    git(shop, "add", "src")
    git(shop, "commit", "--quiet", "--message", "second")
    first = world.session(shop)
    feature = worktree(shop)
    if is_known:
        assert world.session(feature) == first
    copy = shutil.copytree(feature, feature.with_name("copy"))
    moved = moved_away(feature)
    assert world.session(moved / below) == first
    assert world.session(copy)[0] != first[0]


def test_worktrees_of_a_repository_that_was_moved_are_still_the_project(world: World, shop: Path) -> None:
    feature = worktree(shop)
    first = world.session(feature)
    moved = moved_away(shop)
    assert world.session(feature) == first == world.session(moved)


def test_a_submodule_is_offered_its_superproject_and_claims_nothing(world: World, shop: Path, tmp_path: Path) -> None:
    library = repository(shop.with_name("library"))
    first = world.session(shop)
    git(shop, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "libs/bazaar")
    inner = shop / "libs" / "bazaar"
    claims = Claims(tmp_path / "data" / "claims")
    assert world.session(inner)[0] != first[0]
    assert claims.superproject(inner, world.stored.__contains__) == first[0]
    for other in (shop, library, tmp_path):
        assert claims.superproject(other, world.stored.__contains__) is None
    # What others can write says nothing: the file, and a folder of this name that is no submodule's.
    (library / ".gitmodules").write_text('[submodule "shop"]\n\tpath = ../shop\n\turl = ../shop\n')
    assert claims.superproject(library, world.stored.__contains__) is None
    claims.confirm(inner, first[0])
    assert world.session(inner) == first
    assert claims.superproject(inner, world.stored.__contains__) is None
