"""What git has of a repository's shared files: names and sizes first, then each content once. It never fetches."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from learning_memory_server.errors import DeadlineExceededError
from learning_memory_server.sharing.files import FOLD_MAX, FOLDER, NAME, RefusedError, SharedFile, parse
from learning_memory_server.system import git as system
from learning_memory_server.system import timeouts

FILES_MAX: Final = 10_000
"""How many files of a tree are looked at, the first by name."""
_BRANCHES: Final = 30
"""How many other branches are looked at: those with the newest commits."""


class Blob(NamedTuple):
    """A file of a tree. `flaw` says why it is not read, if so."""

    name: str
    id: str
    size: int
    flaw: str = ""

    @property
    def key(self) -> str:
        """What it is known by: of the same content under two names, one at most is as the format has it."""
        return f"{self.id} {self.name}"


def git(folder: Path, *arguments: str, given: bytes = b"") -> bytes | None:
    """Return what git writes, None if it says no.

    Raises:
        DeadlineExceededError: If git cannot be asked, so that nothing is known.
    """
    try:
        return system.git(folder, *arguments, given=given, seconds=timeouts.SHARED_GIT)
    except OSError as error:
        raise DeadlineExceededError(f"git could not be asked: {type(error).__name__}.") from None


def line(folder: Path, *arguments: str) -> str:
    """Return the one line that git writes, nothing if it fails."""
    return (git(folder, *arguments) or b"").decode("utf-8", "replace").strip()


def place_of(folder: Path) -> str:
    """Return the folder in which git keeps a repository, which its worktrees share, or nothing if there is none."""
    found = line(folder, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return str(Path(found).resolve()) if found else ""


def top_of(folder: Path) -> Path:
    """Return the top folder of a worktree; the folder itself if there is none."""
    return Path(line(folder, "rev-parse", "--show-toplevel") or folder)


def commit_of(folder: Path, named: str) -> str:
    """Return the commit that a name stands for, nothing if there is none."""
    return line(folder, "rev-parse", "--verify", "--quiet", f"{named}^{{commit}}")


def roots_of(folder: Path, commit: str) -> list[str]:
    """Return the commits that a history begins with; none in a shallow clone, which does not have them."""
    if line(folder, "rev-parse", "--is-shallow-repository") != "false":
        return []
    return sorted(line(folder, "rev-list", "--max-parents=0", commit, "--").split())


def default_branch(folder: Path, local: str) -> str:
    """Return the default branch as last fetched, or the local one if there is no remote; nothing if that is unknown."""
    remotes = line(folder, "remote").split()
    if not remotes:
        return local
    remote = "origin" if "origin" in remotes else remotes[0]
    named = line(folder, "symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD")
    usual = [f"refs/remotes/{remote}/{name}" for name in ("main", "master")]
    there = [each for each in usual if commit_of(folder, each)]
    return named or (there[0] if there else "")


def tips(folder: Path) -> dict[str, str]:
    """Return the commits of the branches, local and fetched, those with the newest commits first."""
    said = git(
        folder,
        "for-each-ref",
        "--sort=-committerdate",
        f"--count={_BRANCHES}",
        "--format=%(objectname) %(refname)",
        *("refs/heads", "refs/remotes"),
    )
    pairs = (entry.split(" ", 1) for entry in (said or b"").decode("utf-8", "replace").splitlines())
    return {name: commit for commit, name in pairs}


def blobs(folder: Path, commit: str) -> list[Blob]:
    """Return the shared files of a commit."""
    said = git(folder, "ls-tree", "-l", "-z", commit, "--", f"{FOLDER}/")
    found = []
    for entry in (said or b"").split(b"\0")[:FILES_MAX]:
        about, _, path = entry.decode("utf-8", "surrogateescape").partition("\t")
        if not path:
            continue
        mode, _, identity, size = about.split()
        name = path.rpartition("/")[2]
        flaw = (
            "its name is not a date and a digest in lower case"
            if not NAME.fullmatch(name)
            else "it is not a plain file"
            if mode != "100644"
            else "it is too long"
            if size.isdigit() and int(size) > FOLD_MAX
            else ""
        )
        found.append(Blob(name, identity, int(size) if size.isdigit() else 0, flaw))
    return found


def contents(folder: Path, ids: Iterable[str]) -> dict[str, bytes]:
    """Return the contents of blobs, by id, as far as they are there."""
    said = git(folder, "cat-file", "--batch", given="".join(f"{each}\n" for each in ids).encode()) or b""
    found, start = {}, 0
    while (end := said.find(b"\n", start)) > 0:
        parts = said[start:end].split()
        start = end + 1
        if len(parts) == 3:  # noqa: PLR2004 - id, type, size; of one that is missing there is no size
            found[parts[0].decode()] = said[start : start + int(parts[2])]
            start += int(parts[2]) + 1
    return found


def working_files(top: Path) -> Iterator[tuple[str, SharedFile | str]]:
    """Yield the shared files of a worktree by name, each with what it says, or why it is none."""
    folder = top / FOLDER
    if any(each.is_symlink() for each in (folder, folder.parent)):
        yield FOLDER, "it is a link"
        return
    for entry in sorted(os.scandir(folder), key=lambda each: each.name) if folder.is_dir() else ():
        name = os.fsencode(entry.name).decode("utf-8", "replace")
        if not NAME.fullmatch(name):
            yield name, "its name is not a date and a digest in lower case"
        elif not entry.is_file(follow_symlinks=False):
            yield name, "it is not a plain file"
        else:
            try:
                with open(entry.path, "rb", opener=_opener) as file:
                    yield name, parse(name, file.read(FOLD_MAX + 1))
            except (OSError, RefusedError) as error:
                yield name, str(error) if isinstance(error, RefusedError) else "it cannot be read"


def sound_files(top: Path) -> dict[str, SharedFile]:
    """Return what the shared files of a worktree say, by name, without those that say nothing."""
    return {name: said for name, said in working_files(top) if isinstance(said, SharedFile)}


def _opener(path: str, flags: int) -> int:
    """Open a file, and neither follow a link nor wait for a writer that has come meanwhile."""
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def authors(folder: Path, commit: str) -> Mapping[str, str]:
    """Return who brought each file to a branch, by name: the author of the commit, as git has it.

    Nobody is known in a shallow clone, whose first commit seems to have brought everything.
    """
    if line(folder, "rev-parse", "--is-shallow-repository") != "false":
        return {}
    said = git(
        folder,
        *("log", "--first-parent", "-m", "--no-renames", "--diff-filter=A", "--name-only", "-z", "--format=%x01%an"),
        *(commit, "--", FOLDER),
    )
    found: dict[str, str] = {}
    author = ""
    for part in (said or b"").decode("utf-8", "replace").split("\0"):
        text = part.strip("\n")
        if text.startswith("\1"):
            author, _, text = text[1:].partition("\n")
        if text:
            # The newest comes first: it brought what is there now.
            found.setdefault(text.rpartition("/")[2], author)
    return found
