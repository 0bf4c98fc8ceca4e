"""Which folders are told unasked what a project knows: those in which the project's history begins.

Whoever writes a repository chooses its remote, and with it the project that it claims to be. What nobody can choose is
the commit that a history begins with. So the first folder of a project leaves its root commits in a file of the data
folder, and others must have the same; a person can say yes for one that cannot show them. Asked searches are not
concerned.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server import files
from learning_memory_server.identity import git_output
from learning_memory_server.transcripts.claude_code import folder_name, projects_folder

if TYPE_CHECKING:
    from pathlib import Path

_ROOTS_SECONDS: Final = 120
"""How long git may look for root commits: all commits of a history are read for it, once."""
_AGO_SECONDS: Final = 3_600
"""How long before the first look-up a session must have ended to show that a folder was used before. The session that
asks has a transcript, too."""


class Claims:
    """Knows which folders are the projects that they claim to be.

    Args:
        file: Where they are kept, for this user alone.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._told: set[tuple[Path, str]] = set()

    def may_tell(self, directory: Path, project: str) -> bool:
        """Return whether what a project knows may be said in a folder unasked, as far as that is known by now.

        A name without a remote is the folder's own, or a setting's.
        """
        if "/" in project and (directory, project) not in self._told:
            kept, place = self._read(), _place(directory)
            roots = kept["folders"].get(place)
            is_same = bool(roots) and kept["roots"].get(project) == roots
            if not is_same and [place, project] not in kept["confirmed"]:
                return False
            self._told.add((directory, project))
        return True

    def look_up(self, directory: Path, project: str, *, is_new: bool) -> None:
        """Look for a folder's root commits, once, and keep them for a project that has none on record.

        That is done for a project of which nothing is stored, and where the client has transcripts of earlier sessions
        in the folder: it was used there before roots were recorded. A shallow clone does not have the roots. What
        cannot be kept is looked for again.

        Args:
            directory: The folder.
            project: What its remote names.
            is_new: Whether nothing is stored of the project.
        """
        kept = self._read()
        if "since" not in kept:
            self._try_to_write(kept | {"since": time.time() - _AGO_SECONDS})
        is_first = is_new or _was_used_before(directory, self._read().get("since", 0.0))
        place = _place(directory)
        roots = self._read()["folders"].get(place) or _roots(directory)
        kept = self._read()
        if roots and (kept["folders"].get(place) != roots or project not in kept["roots"]):
            kept["folders"][place] = roots
            if is_first:
                kept["roots"].setdefault(project, roots)
            self._try_to_write(kept)

    def confirm(self, directory: Path, project: str) -> None:
        """Note that a person says that a folder is the project's.

        Raises:
            OSError: If it cannot be kept.
        """
        kept = self._read()
        kept["confirmed"].append([_place(directory), project])
        if roots := kept["folders"].get(_place(directory)):
            kept["roots"].setdefault(project, roots)
        self._write(kept)

    def _read(self) -> dict[str, Any]:
        kept: dict[str, Any] = {"roots": {}, "folders": {}, "confirmed": []}
        with suppress(OSError, ValueError, TypeError):
            kept |= json.loads(self._file.read_bytes())
        return kept

    def _try_to_write(self, kept: dict[str, Any]) -> None:
        with suppress(OSError):
            self._write(kept)

    def _write(self, kept: dict[str, Any]) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.replace(self._file, json.dumps(kept, indent=1).encode())


def _was_used_before(directory: Path, since: float) -> bool:
    """Return whether the client has a transcript of a session in a folder that ended before then."""
    kept = projects_folder(os.environ) / folder_name(directory)
    return any(file.stat().st_mtime < since for file in kept.glob("*.jsonl"))


def _place(directory: Path) -> str:
    """Return what identifies a repository on this machine: its folder, which worktrees share, and its file number."""
    git = directory.resolve() / ".git"
    for folder in (directory.resolve(), *directory.resolve().parents):
        if (folder / ".git").exists():
            git = folder / ".git"
            break
    with suppress(OSError, ValueError):
        if git.is_file():
            # .../.git/worktrees/NAME of a worktree
            named = (git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
            git = named.parent.parent if named.parent.name == "worktrees" else named
        return f"{git} {git.stat().st_ino}"
    return str(git)


def _roots(directory: Path) -> list[str]:
    """Return the commits without parents that HEAD goes back to, sorted; none if git cannot say or lacks them."""
    if git_output(directory, "rev-parse", "--is-shallow-repository") != "false":
        return []
    found = git_output(directory, "rev-list", "--max-parents=0", "HEAD", seconds=_ROOTS_SECONDS)
    return sorted((found or "").split())
