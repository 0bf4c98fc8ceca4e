"""Folders on this machine: worktrees of repositories, or folders without one; and git's answers about them.

The maker of a folder chooses its content. So a folder claims by itself only a repository that is in it, that names it
back, or that has no other place and knows the folder's files by their numbers on the disk.
"""

import os
import re
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from learning_memory_server.model.caller import normalised_remote
from learning_memory_server.system import timeouts
from learning_memory_server.system.git import git

_POINTER_MAX: Final = 4096  # Bytes that are read of a file which stands for a folder of git
_REMOTE: Final = re.compile(r"remote\.(.+)\.url\n(.*)", re.DOTALL)
_INDEXED: Final = re.compile(rb"([^\0]*)\0  ctime: [^\n]*\n  mtime: [^\n]*\n  dev: \d+\tino: (\d+)\n[^\n]*\n[^\n]*\n")
_SAMPLE: Final = 100  # Files of git's index that are looked at
_MODULES: Final = "/.git/modules/"  # Where a superproject keeps the repositories of its submodules
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A repository, or a folder without one.

    Attributes:
        top: The folder of the main worktree, else git's own folder.
        git: Git's own folder, which worktrees share.
        worktree: The folder of this worktree.
        unproven: A repository that the folder names, and that a person would have to confirm.
    """

    top: Path
    git: Path | None
    worktree: Path
    unproven: Path | None = None

    @classmethod
    def of(cls, directory: Path) -> Self:
        """Return the place that a directory belongs to. It need not exist any more."""
        directory = _real(directory)
        with suppress(OSError):
            for each in (directory, *directory.parents):
                dot = each / ".git"
                if named := _own_in(dot) or _named_by(dot):
                    return cls(_top_of(named, each), named, each)
                if os.path.lexists(dot):
                    # Not what is around it, which others may have made.
                    return cls(each, None, each, _pointed_by(dot))
                if (each / "HEAD").is_file() and (each / "objects").is_dir() and (each / "refs").is_dir():
                    return cls(each, each, each)
        return cls(directory, None, directory)

    @property
    def name(self) -> str:
        """What people call it. A bare clone among its worktrees is often called `.bare`."""
        top = self.top.parent if self.top.name.startswith(".") and self.top == self.git else self.top
        return top.name.removesuffix(".git")

    @property
    def superproject(self) -> Path | None:
        """The folder whose submodule it is, according to where its repository is kept; None if it is no submodule."""
        outer, is_module, _ = str(self.git or "").partition(_MODULES)
        return Path(outer) if is_module and self.worktree.is_relative_to(outer) else None

    @property
    def number(self) -> str | None:
        """The number of a file in git's folder and the time when it was made, to find a moved folder, or None."""
        with suppress(OSError):
            return f"{self.git.stat().st_ino} {(self.git / 'description').stat().st_mtime_ns}" if self.git else None
        return None

    def stamp(self) -> object:
        """Return what changes when a repository is made, replaced, or gets another remote or its first commit."""
        if self.git is None:
            return None
        with suppress(OSError):
            found = (self.git / "config").stat()
            return self.number, found.st_ino, found.st_mtime_ns, (self.git / "logs" / "HEAD").exists()
        return self.number

    def is_of_somebody_else(self) -> bool:
        """Return whether another user owns it and others could have put it there."""
        if not hasattr(os, "geteuid"):
            return False
        found = [each for each in (self.worktree, self.git) if each and os.path.lexists(each)]
        return any(each.stat().st_uid != os.geteuid() and each.parent.stat().st_mode & _OTHERS for each in found)

    def label(self) -> str | None:
        """Return `host/owner/name` of `origin`, or of the sole remote. Raises `OSError` if git is late."""
        listed = git(self.worktree, "config", "-z", "--get-regexp", r"^remote\..*\.url$") if self.git else None
        found = map(_REMOTE.fullmatch, (listed or b"").decode("utf-8", "surrogateescape").split("\0"))
        remotes = {match[1]: match[2] for match in found if match}
        url = next(iter(remotes.values())) if len(remotes) == 1 else remotes.get("origin")
        return normalised_remote(url) if url else None

    def roots(self, seconds: float = timeouts.ROOTS) -> list[str]:
        """Return the root commits of HEAD, sorted; none if git lacks them. Raises `OSError` if git is late."""
        if not self.git or git(self.worktree, "rev-parse", "--is-shallow-repository") != b"false\n":
            return []
        found = git(self.worktree, "rev-list", "--max-parents=0", "HEAD", seconds=seconds)
        return sorted((found or b"").decode("ascii").split())

    def has_any(self, commits: list[str]) -> bool | None:
        """Return whether the repository has one of these commits; None if git refuses; `OSError` if it is late."""
        asked = "".join(f"{each}\n" for each in commits).encode()
        said = git(self.worktree, "cat-file", "--batch-check=%(objecttype)", given=asked)
        return None if said is None else b"commit" in said.splitlines()


def _own_in(dot: Path) -> Path | None:
    """Return the folder of git that `.git` is, if it is a folder whose branch and commits are its own."""
    if dot.is_symlink() or not (dot / "HEAD").is_file():
        return None
    real = _real(dot)
    # Links, and a `commondir`, would let an unpacked archive have the history of its neighbour.
    is_borrowed = os.path.lexists(dot / "commondir") or any(
        not _real(dot / name).is_relative_to(real) for name in ("HEAD", "refs", "packed-refs", *_branch_of(dot))
    )
    return None if is_borrowed else real


def _branch_of(folder: Path) -> tuple[str, ...]:
    """Return the name of the file in which git may keep the commit of HEAD."""
    with suppress(OSError), (folder / "HEAD").open("rb") as opened:
        said = os.fsdecode(opened.read(_POINTER_MAX)).strip()
        return (said.removeprefix("ref: "),) if said.startswith("ref: ") and "\0" not in said else ()
    return ()


def _pointed_by(dot: Path) -> Path | None:
    """Return the folder of git that `.git` leads to, as a file or a link, or whose history it borrows."""
    pointed = _read(dot, "gitdir: ") or (_real(dot) if dot.is_dir() else None)
    return pointed if pointed and (pointed / "HEAD").is_file() else None


def _named_by(dot: Path) -> Path | None:
    """Return the folder of git that `.git` leads to, if it is below, knows of the place, or has lost its own."""
    pointed = _pointed_by(dot)
    if pointed is None or (dot.is_dir() and not dot.is_symlink()):
        return None
    back = _read(pointed / "gitdir")  # In .../.git/worktrees/NAME
    if back and back == _real(dot.parent) / dot.name:
        return pointed.parent.parent
    folder = _real(dot.parent)
    if back is None and pointed.is_relative_to(folder):
        return pointed if _own_in(pointed) else None
    with suppress(OSError):
        said = git(pointed, "config", "--file", str(pointed / "config"), "--get", "core.worktree")
        if said and not back:
            return pointed if _real(pointed / os.fsdecode(said.strip())) == folder else None
        if back:
            is_homeless = not os.path.lexists(back)
        else:
            bare = git(pointed, "config", "--file", str(pointed / "config"), "--get", "core.bare")
            is_homeless = pointed.name != ".git" and bare == b"false\n" and _own_in(pointed) is not None
        if is_homeless and _has_files_of(folder):
            return pointed.parent.parent if back else pointed
    return None


def _has_files_of(folder: Path) -> bool:
    """Return whether git's index has the files of a folder by their numbers, which a copy does not have.

    Half of a sample must be the folder's: git takes a file of the same content for its own as soon as somebody asks for
    the status.
    """
    listed = _INDEXED.findall(git(folder, "ls-files", "--debug", "-z") or b"")[:_SAMPLE]
    same = 0
    for name, number in listed:
        with suppress(OSError):
            same += os.lstat(folder / os.fsdecode(name)).st_ino == int(number)
    return same * 2 > len(listed)


def _top_of(named: Path, worktree: Path) -> Path:
    """Return the folder of the main worktree of a repository, by the folder of git, else git's own folder."""
    if named.name == ".git":
        return named.parent
    is_own = _pointed_by(worktree / ".git") == named and _MODULES not in f"{named}"
    if is_own or named.is_relative_to(worktree):
        return worktree
    # A bare clone beside its worktrees, to which a file in the folder around them leads.
    around = named.parent
    return around if _read(around / ".git", "gitdir: ") == named else named


def _read(file: Path, prefix: str = "") -> Path | None:
    """Return the path in a file, which may be relative to the file's folder."""
    with suppress(OSError, ValueError):
        # Not a pipe, and not what never ends.
        if file.is_file():
            with file.open("rb") as opened:
                text = os.fsdecode(opened.read(_POINTER_MAX)).strip()
            if text.startswith(prefix) and text:
                return _real(file.parent / text.removeprefix(prefix))
    return None


def _real(path: Path) -> Path:
    """Return a path without links, also where one leads to itself."""
    return Path(os.path.realpath(path))
