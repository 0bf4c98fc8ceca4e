"""The folders of a project on this machine: its top folder, and other worktrees of the same repository."""

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Final

from learning_memory_server.lessons.files.freshness import project_root

_WORKTREES: Final = 200  # Maximum number of worktrees
_POINTER_MAX: Final = 4_096  # Maximum bytes of a file that names a folder


def folders_of(folder: str) -> tuple[str, ...]:
    """Return the folders of the project of a session's folder: the top folder first, then other worktrees."""
    root = project_root(folder)
    if root is None:
        return (folder,) if folder else ()
    is_linked = not is_in(folder, str(root))
    return tuple(dict.fromkeys((str(root), *([folder] if is_linked else []), *_worktrees(root))))


def below(path: str, folders: Iterable[str]) -> str:
    """Return a path relative to the innermost of the folders that contains it, otherwise the path itself."""
    path = os.path.normpath(path).replace(os.sep, "/") if path else ""
    found = max((each for each in folders if is_in(path, each)), key=len, default=None)
    return path if found is None else path[len(found) + 1 :]


def is_in(path: str, folder: str) -> bool:
    """Whether a path is a folder or below it."""
    return f"{path}/".startswith(f"{folder}/")


def _worktrees(root: Path) -> list[str]:
    """Return the other worktrees of the repository at a top folder, the main one first."""
    pointed = _named_in(root / ".git", "gitdir:")
    shared = _named_in(pointed / "commondir") if pointed else root / ".git"
    found = list[Path]()
    with suppress(OSError):
        if shared and shared.name == ".git":
            names = islice((shared / "worktrees").iterdir(), _WORKTREES) if (shared / "worktrees").is_dir() else ()
            found = [shared.parent, *(path.parent for each in names if (path := _named_in(each / "gitdir")))]
    return [str(each) for each in found]


def _named_in(file: Path, prefix: str = "") -> Path | None:
    """Return the path in a file, which may be relative to the file's folder; None if the file is missing or invalid."""
    with suppress(OSError, ValueError):
        if file.is_file():
            with file.open("rb") as opened:
                text = os.fsdecode(opened.read(_POINTER_MAX)).strip()
            if text.startswith(prefix) and text != prefix:
                return Path(os.path.realpath(file.parent / text.removeprefix(prefix).strip()))
    return None
