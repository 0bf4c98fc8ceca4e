"""What the project of a folder is called, and which folders are told unasked what it knows.

Without a remote, a project is named after its folder and a digest, because many folders are called `app`. The name is
decided once for a folder.

With a remote, only folders in which the project's history begins are told unasked.

The author of a repository chooses its remote, and with it the project that it claims to be. What cannot be chosen is
the commit that a history begins with. So the first folder of a project leaves its root commits in a file of the data
folder, and others must have the same; a person can say yes for one that cannot show them. Asked searches are not
concerned.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.index.engines.owner import machine_id
from learning_memory_server.learning.failures.transcripts import folder_name, projects_folder
from learning_memory_server.model.caller import Caller, bare_name, folder_of, git_output, remote_name, session_of
from learning_memory_server.system import files, timeouts

if TYPE_CHECKING:
    from learning_memory_server.server.settings import Settings

_LETTERS: Final = 6
"""Letters of the digest in a name."""


def caller_of(environment: Mapping[str, str], settings: Settings) -> Caller:
    """Return the caller that this process speaks for.

    Claude Code sets CLAUDE_PROJECT_DIR and CLAUDE_CODE_SESSION_ID for a server it starts. Without them, the working
    directory and an id of this process are used.
    """
    folder = folder_of(environment)
    project = settings.project or claims_of(settings).project_of(folder)
    return Caller(project, session_of(environment), folder=str(folder))


def claims_of(settings: Settings) -> Claims:
    """Return what is known of the folders of this data."""
    return Claims(settings.storage_path / "claims.json")


@dataclass(slots=True)
class Claims:
    """Knows the projects of folders, and which folders are the projects that they claim to be."""

    file: Path
    _told: set[tuple[Path, str]] = field(default_factory=set)

    def project_of(self, directory: Path, *, keep: bool = True) -> str:
        """Return the name of a folder's project: `host/owner/name` of its remote, else what is decided once."""
        if remote := remote_name(directory):
            return remote
        kept, place = self._read(), _place(directory)
        if place not in kept["names"]:
            bare = bare_name(directory)
            kept["names"][place] = [bare, _unique(bare, directory)]
            if keep:
                self._try_to_write(kept)
        return str(kept["names"][place][1])

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

        That is done for a project without anything stored, and where the client has transcripts of earlier sessions
        in the folder: it was used there before roots were recorded. A shallow clone does not have the roots. What
        cannot be kept is looked for again.
        """
        kept = self._read()
        if "since" not in kept:
            self._try_to_write(kept | {"since": time.time() - timeouts.USED_BEFORE})
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
        """Note that a person says that a folder is the project's."""
        kept = self._read()
        kept["confirmed"].append([_place(directory), project])
        if roots := kept["folders"].get(_place(directory)):
            kept["roots"].setdefault(project, roots)
        self._write(kept)

    def _read(self) -> dict[str, Any]:
        kept: dict[str, Any] = {"roots": {}, "folders": {}, "names": {}, "confirmed": []}
        with suppress(OSError, ValueError, TypeError):
            kept |= json.loads(self.file.read_bytes())
        return kept

    def _try_to_write(self, kept: dict[str, Any]) -> None:
        with suppress(OSError):
            self._write(kept)

    def _write(self, kept: dict[str, Any]) -> None:
        self.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.replace(self.file, json.dumps(kept, indent=1).encode())


@dataclass(slots=True)
class Folders:
    """The projects of the folders that connections come from, and whether they may be told of these unasked."""

    claims: Claims
    is_known: Callable[[str], bool]  # whether anything is kept of a project
    _projects: dict[str, tuple[str, float]] = field(default_factory=dict)

    async def project_of(self, directory: str, named: str | None) -> str:
        """Return the project, unless the user has named it. It is remembered: asking git takes longer than a hook."""
        if named:
            return named
        found, until = self._projects.get(directory, ("", 0.0))
        if time.monotonic() > until:
            found = await asyncio.to_thread(self.claims.project_of, Path(directory))
            self._projects[directory] = found, time.monotonic() + timeouts.PROJECT_KEPT
        return found

    async def telling(self, directory: str, named: str | None, project: str) -> Callable[[], bool]:
        """Return what tells whether a connection may be told of its project unasked, and begin to find that out."""
        if named:
            return lambda: True
        folder = Path(directory)
        telling = partial(self.claims.may_tell, folder, project)
        if not telling():
            is_new = not self.is_known(project)
            looking = in_daemon_thread(partial(self.claims.look_up, folder, project, is_new=is_new))
            await asyncio.wait([asyncio.wrap_future(looking)], timeout=timeouts.CLAIM)
        return telling


def _was_used_before(directory: Path, since: float) -> bool:
    """Return whether the client has a transcript of a session in a folder that ended before then."""
    kept = projects_folder(os.environ) / folder_name(directory)
    return any(file.stat().st_mtime < since for file in kept.glob("*.jsonl"))


def _unique(bare: str, directory: Path) -> str:
    """Return a name that another folder hardly has: with a digest of where the history begins, else of the place."""
    what = " ".join(_roots(directory, seconds=timeouts.ROOTS_FOR_NAME)) or f"{machine_id()} {_place(directory)}"
    return f"{bare}-{hashlib.sha256(what.encode('utf-8', 'surrogateescape')).hexdigest()[:_LETTERS]}"


def _place(directory: Path) -> str:
    """Return what identifies a repository on this machine: its folder, which worktrees share, and its file number."""
    git = _git_folder(directory)
    with suppress(OSError):
        return f"{git} {git.stat().st_ino}"
    return str(git)


def _git_folder(directory: Path) -> Path:
    """Return the folder in which git keeps a repository, also for a worktree; where it would be if there is none."""
    directory = directory.resolve()
    git = next((each / ".git" for each in (directory, *directory.parents) if (each / ".git").exists()), None)
    if git is None:
        return directory / ".git"
    with suppress(OSError, ValueError):
        if git.is_file():
            # .../.git/worktrees/NAME of a worktree
            named = (git.parent / git.read_text("utf-8").removeprefix("gitdir:").strip()).resolve()
            return named.parent.parent if named.parent.name == "worktrees" else named
    return git


def _roots(directory: Path, seconds: float = timeouts.ROOTS) -> list[str]:
    """Return the commits without parents that HEAD goes back to, sorted; none if git cannot say or lacks them."""
    if git_output(directory, "rev-parse", "--is-shallow-repository") != "false":
        return []
    found = git_output(directory, "rev-list", "--max-parents=0", "HEAD", seconds=seconds)
    return sorted((found or "").split())
