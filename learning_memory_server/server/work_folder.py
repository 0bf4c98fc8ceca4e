"""Folders on this machine: worktrees of repositories, or folders without one; and git's answers about them.

The maker of a folder chooses its content: a path in it is read only if it names the folder, too.
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
_OTHERS: Final = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class WorkFolder:
    """A repository, or a folder without one.

    Attributes:
        top: The folder of the main worktree, else git's own folder.
        git: Git's own folder, which worktrees share.
        worktree: The folder of this worktree.
    """

    top: Path
    git: Path | None
    worktree: Path

    @classmethod
    def of(cls, directory: Path) -> Self:
        """Return the place that a directory belongs to. It need not exist any more."""
        directory = _real(directory)
        with suppress(OSError):
            for each in (directory, *directory.parents):
                dot = each / ".git"
                if (dot / "HEAD").is_file():
                    return cls(each, dot.resolve(), each)
                if named := _named_by(dot):
                    return cls(named.parent if named.name == ".git" else named, named, each)
                if (each / "HEAD").is_file() and (each / "objects").is_dir() and (each / "refs").is_dir():
                    return cls(each, each, each)
        return cls(directory, None, directory)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.top.name.removesuffix(".git")

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


def _named_by(file: Path) -> Path | None:
    """Return the folder of git that a file `.git` stands for, if that folder knows of the file."""
    pointed = _read(file, "gitdir: ")
    if pointed is None:
        return None
    if (back := _read(pointed / "gitdir")) and _real(back) == _real(file):
        return pointed.parent.parent  # .../.git/worktrees/NAME
    with suppress(OSError):
        said = git(pointed, "config", "--file", str(pointed / "config"), "--get", "core.worktree")
        if said and _real(pointed / os.fsdecode(said.strip())) == _real(file.parent):
            return pointed
    return None


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
