"""Situations in which folders are, or are not, a project that is known."""

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from learning_memory_server.server.claims import Belonging, Claims
from learning_memory_server.server.work_folder import WorkFolder
from tests.model.test_identity import SHOP
from tests.sharing.repositories import git


def repository(folder: Path, message: str = "first", remote: str = "") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", message)
    if remote:
        git(folder, "remote", "add", "origin", f"https://{remote}.git")
    return folder


def cloned(source: Path, target: Path, *options: str, remote: str = "") -> Path:
    git(source.parent, "clone", "--quiet", *options, f"file://{source}", str(target))
    if remote:
        git(target, "remote", "set-url", "origin", f"https://{remote}.git")
    else:
        git(target, "remote", "remove", "origin")
    return target


@dataclass
class World:
    """What is kept of folders, and the projects of which something is stored."""

    base: Path
    stored: set[str] = field(default_factory=set)

    def session(self, folder: Path) -> Belonging:
        """Let a session in a folder keep something, and return its project, and whether it was told unasked.

        Each is of a process of its own.
        """
        claims = Claims(self.base / "data" / "claims")
        found = claims.find(folder, self.stored.__contains__)
        self.stored.add(found.project)
        if found.is_told:
            claims.record_roots(folder, found.project)
        return found

    def asks(self, folder: Path) -> str | None:
        return Claims(self.base / "data" / "claims").claimed(folder, self.stored.__contains__)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop")


def _remote_added(shop: Path) -> Path:
    git(shop, "remote", "add", "origin", f"https://{SHOP}.git")
    return shop


def _remote_added_after_commits(shop: Path) -> Path:
    git(shop, "commit", "--quiet", "--allow-empty", "--message", "second")
    return _remote_added(shop)


def _moved(shop: Path) -> Path:
    (shop.parent / "elsewhere").mkdir()
    return shop.rename(shop.parent / "elsewhere" / "shop")


def _renamed(shop: Path) -> Path:
    return shop.rename(shop.with_name("bazaar"))


def _worktree(shop: Path) -> Path:
    git(shop, "worktree", "add", "--quiet", str(shop.with_name("feature")))
    return shop.with_name("feature")


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
        _moved,
        _renamed,
        _worktree,
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
    feature = _worktree(shop)
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
    assert world.session(_moved(tmp_path / "third")) == (SHOP, True)


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
    assert world.session(_worktree(shop)) == first
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
    feature = _worktree(shop)
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
    assert WorkFolder.of(_worktree(shop)).label() == label


def test_a_project_is_named_after_its_folder(world: World, tmp_path: Path) -> None:
    for folder in (tmp_path / "Notes", tmp_path / "gone"):
        assert re.fullmatch(rf"{folder.name}-[0-9a-f]{{6}}", world.session(folder).project)
    assert world.session(Path("/")).project.startswith("default-")
    many = [repository(tmp_path / str(number) / "app") for number in range(3)]
    assert len({world.session(each).project for each in many}) == 3


def _linked(_shop: Path, evil: Path) -> None:
    (evil / ".git").symlink_to("../shop/.git")


def _linked_to_a_worktrees_file(shop: Path, evil: Path) -> None:
    (evil / ".git").symlink_to(_worktree(shop) / ".git")


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
    shutil.rmtree(_worktree(shop))
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
    feature = _worktree(shop)
    if is_known:
        assert world.session(feature) == first
    copy = shutil.copytree(feature, feature.with_name("copy"))
    moved = _moved(feature)
    assert world.session(moved / below) == first
    assert world.session(copy)[0] != first[0]


def test_worktrees_of_a_repository_that_was_moved_are_still_the_project(world: World, shop: Path) -> None:
    feature = _worktree(shop)
    first = world.session(feature)
    moved = _moved(shop)
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
