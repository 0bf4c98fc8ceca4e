"""Git data about a repository's shared files: names and sizes first, then each content once. It never fetches."""

import io
import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from time import time
from typing import Final, TypeAlias

from learning_memory_server.errors import DeadlineExceededError
from learning_memory_server.sharing.files import FOLDER, SharedFile, parse
from learning_memory_server.system import files, git as system, timeouts

Merge: TypeAlias = tuple[str, datetime | None]  # The author and time of a merge, if known
_FILES_MAX: Final = 10_000  # Maximum number of files of a tree, the first by name
_BRANCHES: Final = 30  # Maximum number of branches, those with the newest commits
_READ_MAX: Final = 1 << 26  # Maximum bytes of all files together


def git(folder: Path, *arguments: str, given: bytes = b"") -> bytes:
    """Return git's output, empty if git fails. Raises `DeadlineExceededError` if git cannot be run in time."""
    try:
        return system.git(folder, *arguments, given=given, seconds=timeouts.SHARED_GIT) or b""
    except OSError as error:
        raise DeadlineExceededError(f"git could not be asked: {type(error).__name__}.") from None


def line(folder: Path, *arguments: str, given: str = "") -> str:
    """Return git's output as text."""
    return git(folder, *arguments, given=given.encode()).decode("utf-8", "replace").strip()


def place_of(folder: Path) -> str:
    """Return a repository's git folder, which its worktrees share; empty if there is no repository."""
    found = line(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return str(Path(found).resolve()) if found else ""


def top_of(folder: Path) -> Path:
    """Return the top folder of a worktree; the folder itself outside of a repository."""
    return Path(line(folder, "rev-parse", "--show-toplevel") or folder)


def is_whole(place: Path) -> bool:
    """Whether the repository with a git folder has its full history, unlike a shallow clone."""
    return not (place / "shallow").exists()


def roots_of(place: Path, commit: str) -> list[str]:
    """Return the root commits of a history; empty for a shallow clone."""
    return sorted(line(place, "rev-list", "--max-parents=0", commit, "--").split()) if is_whole(place) else []


def remote_of(folder: Path) -> str | None:
    """Return the remote with the default branch: `origin`, or the only one; "" without any, None if ambiguous."""
    names = line(folder, "remote").splitlines()
    return "origin" if "origin" in names else "".join(names) if len(names) <= 1 else None


def branches(folder: Path, remote: str | None, local: str) -> tuple[str, dict[str, str]]:
    """Return the default branch of a remote, or the local one without a remote, and the commits of branches."""
    form = "--format=%(refname) %(symref) %(objectname)"
    said = line(folder, "for-each-ref", "--sort=-committerdate", form, "refs/heads", "refs/remotes")
    rows = [row.split(" ") for row in said.splitlines()]
    heads = {name: symbol for name, symbol, _ in rows if symbol}
    commits = {name: commit for name, symbol, commit in rows if not symbol}
    there = f"refs/remotes/{remote}"
    named = [heads.get(f"{there}/HEAD"), f"{there}/main", f"{there}/master"] if remote else [local]
    default = "" if remote is None else next((name for name in named if name in commits), "")
    newest = dict(list(commits.items())[:_BRANCHES])
    return default, {default: commits[default], **newest} if default else newest


def trees_of(folder: Path, commits: Mapping[str, str]) -> dict[str, str]:
    """Return the trees of the shared files by branch. Each tree is listed for its first branch only."""
    given = "".join(f"{commit}:{FOLDER}\n" for commit in commits.values())
    said = line(folder, "cat-file", "--batch-check=%(objectname)", given=given).splitlines()
    first: dict[str, str] = {}
    for branch, tree in zip(commits, said, strict=False):
        first.setdefault(tree, branch)
    return {branch: tree for tree, branch in first.items() if " " not in tree}


def files_of(folder: Path, trees: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the branch and blob of each file by name, from the first tree with it. Long files have no blob."""
    found: dict[str, tuple[str, str]] = {}
    left = _READ_MAX
    for branch, tree in trees.items():
        for entry in git(folder, "ls-tree", "-l", "-z", tree).split(b"\0")[:_FILES_MAX]:
            about, _, name = entry.decode("utf-8", "replace").partition("\t")
            if name and name not in found:
                _, _, blob, size = about.split()
                left -= int(size) if size.isdigit() else 0
                found[name] = branch, blob if size.isdigit() and int(size) <= files.READ_MAX and left > 0 else ""
    return found


def contents(folder: Path, blobs: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of existing blobs, by id."""
    said = io.BytesIO(git(folder, "cat-file", "--batch", given="".join(f"{blob}\n" for blob in blobs).encode()))
    found = {}
    for header in said:
        # A missing blob has no size.
        if len(parts := header.split()) == len(("id", "type", "size")):
            found[parts[0].decode()] = said.read(int(parts[2]))
            said.read(1)
    return found


def merges(place: Path, commit: str) -> Mapping[str, Merge]:
    """Return the author and date of each file of a branch, by name; empty in a shallow clone."""
    how = ("--first-parent", "-m", "--no-renames", "--diff-filter=A", "--name-only", "--format=%x01%ct %an")
    found: dict[str, Merge] = {}
    merge: Merge = "", None
    for row in line(place, "log", *how, commit, "--", FOLDER).splitlines() if is_whole(place) else ():
        if row.startswith("\1"):
            seconds, _, author = row[1:].partition(" ")
            # The date of a commit may be in the future.
            merge = author, datetime.fromtimestamp(min(int(seconds or 0), time()), UTC)
        else:
            found.setdefault(row.rpartition("/")[2], merge)  # Newest first, so this merge added the present file
    return found


def is_linked(top: Path, name: str) -> bool:
    """Whether the path from a worktree's top to a file contains a link, including one that leads to itself."""
    path, real = top / name, Path(os.path.realpath(top))
    steps = (path, *path.parents)[: len(Path(name).parts)]
    return Path(os.path.realpath(path)) != real / name or any(step.is_symlink() for step in steps)


_OF_PROGRAMS: Final = re.compile(
    r"\.(?:(?:git)?keep|gitignore|DS_Store|directory|localized|[_#].*|~lock\..*#|.*\.sw[a-p]|nfs[0-9a-f]+|fuse_hidden\w+)"
    r"|.*~|#.*#|.*\.(?:bak|orig|rej|sw[a-p]|tmp)|Thumbs\.db|desktop\.ini|Icon\r",
    re.IGNORECASE | re.DOTALL,
)
"""Files that git, editors and file managers create in any folder, and that have no effect."""


def working_files(top: Path) -> dict[str, SharedFile | str]:
    """Return the shared files of a worktree by name, each parsed, or the reason to refuse it.

    Files that other programs create in any folder are ignored.
    """
    folder = top / FOLDER
    if not folder.is_dir():
        return {}
    if is_linked(top, FOLDER):
        return {"": "the folder is a link"}
    names = sorted(os.fsencode(path.name).decode("utf-8", "replace") for path in folder.iterdir())
    return {name: parse(name, files.read(folder / name)) for name in names if not _OF_PROGRAMS.fullmatch(name)}


def sound_files(top: Path) -> dict[str, SharedFile]:
    """Return the valid shared files of a worktree, by name."""
    return {name: said for name, said in working_files(top).items() if isinstance(said, SharedFile)}
