"""What the project of a folder is called, and which folders are told unasked what it knows.

Without a remote, a project is named after its folder and a digest, because many folders are called `app`. The name is
decided once for a folder.

With a remote, only folders in which the project's history begins are told unasked.

The author of a repository chooses its remote, and with it the project that it claims to be. What cannot be chosen is
the commit that a history begins with. So the first folder of a project leaves its root commits in the data folder, and
others must have the same; a person can say yes for one that cannot show them, and for one of which something is known
that cannot be read. Asked searches are not concerned.
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
from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.index.engines.owner import machine_id
from learning_memory_server.journal.log import SET_ASIDE
from learning_memory_server.learning.failures.transcripts import folder_name, projects_folder
from learning_memory_server.model.caller import Caller, bare_name, folder_of, git_output, remote_name, session_of
from learning_memory_server.server.facts import FactFiles, Facts
from learning_memory_server.system import timeouts
from learning_memory_server.system.locations import is_attended

if TYPE_CHECKING:
    from learning_memory_server.server.settings import Settings

_LETTERS: Final = 6
"""Letters of the digest in a name."""
_FIRST_LOOK: Final = "first look"
"""What is known under this is an hour before the first look-up: sessions that ended by then are from before roots."""


def caller_of(environment: Mapping[str, str], settings: Settings) -> Caller:
    """Return the caller that this process speaks for.

    Claude Code sets CLAUDE_PROJECT_DIR and CLAUDE_CODE_SESSION_ID for a server it starts. Without them, the working
    directory and an id of this process are used.
    """
    folder = folder_of(environment)
    project = settings.project or claims_of(settings).project_of(folder)
    return Caller(project, session_of(environment), folder=str(folder), is_attended=is_attended(environment))


def claims_of(settings: Settings) -> Claims:
    """Return what is known of the folders of this data."""
    return Claims(settings.storage_path / "claims")


@dataclass(slots=True)
class Claims:
    """Knows the projects of folders, and which folders are the projects that they claim to be."""

    folder: Path
    _told: set[tuple[Path, str]] = field(default_factory=set)
    _is_read_in: bool = False

    def project_of(self, directory: Path, *, keep: bool = True) -> str:
        """Return the name of a folder's project: `host/owner/name` of its remote, else what is decided once."""
        if remote := remote_name(directory):
            return remote
        here = _subject(directory)
        known = self._known(here)
        name = known.first("name")
        if name is None:
            name = _unique(bare_name(directory), directory)
            if keep and known.is_whole:
                with suppress(OSError):
                    self._files.learn(here, name=name)
                # Somebody else may have been first.
                name = self._known(here).first("name") or name
        return str(name)

    def may_tell(self, directory: Path, project: str) -> bool:
        """Return whether what a project knows may be said in a folder unasked, as far as that is known by now.

        A name without a remote is the folder's own, or a setting's.
        """
        if (directory, project) not in self._told:
            here, there = self._known(_subject(directory)), self._known(_subject(project))
            is_same = "/" not in project or (here.first("roots") and here.first("roots") == there.first("roots"))
            if not (here.is_whole and there.is_whole and (is_same or project in here.every("confirmed"))):
                return False
            self._told.add((directory, project))
        return True

    def find_unreadable(self, directory: Path, project: str) -> Path | None:
        """Return a file of what is known of a folder or its project, if it cannot be read."""
        found = map(self._known, (_subject(directory), _subject(project)))
        return next((each.file for each in found if not each.is_whole), None)

    def look_up(self, directory: Path, project: str, *, is_new: bool) -> None:
        """Look for a folder's root commits, once, and keep them for a project that has none on record.

        That is done for a project without anything stored, and where the client has transcripts of earlier sessions
        in the folder: it was used there before roots were recorded. A shallow clone does not have the roots. What
        cannot be kept is looked for again.
        """
        here, there = _subject(directory), _subject(project)
        with suppress(OSError):
            begun, known = self._known(_FIRST_LOOK), self._known(here)
            if begun.is_whole and not begun.lines:
                self._files.learn(_FIRST_LOOK, at=time.time() - timeouts.USED_BEFORE)
            is_first = is_new or _was_used_before(directory, self._known(_FIRST_LOOK).first("at") or 0.0)
            roots = known.first("roots") or _roots(directory)
            if not roots or not known.is_whole:
                return
            if not known.first("roots"):
                self._files.learn(here, roots=roots)
            if is_first and self._known(there).is_whole and not self._known(there).first("roots"):
                self._files.learn(there, roots=roots)

    def confirm(self, directory: Path, project: str) -> None:
        """Note that a person says that a folder is the project's. What cannot be read is put aside."""
        if not self._read_in():
            self._former.rename(self._former.with_suffix(f"{SET_ASIDE}{time.time_ns()}"))
            # What was refused before must not count as used before.
            self._files.learn(_FIRST_LOOK, at=0.0)
        here, there = _subject(directory), _subject(project)
        roots = self._known(here).first("roots")
        for subject in (here, there):
            if not self._known(subject).is_whole:
                self._files.set_aside(subject)
        self._files.learn(here, confirmed=project, **({} if "/" in project else {"name": project}))
        if roots:
            self._files.learn(there, roots=roots)

    @property
    def _files(self) -> FactFiles:
        return FactFiles(self.folder)

    @property
    def _former(self) -> Path:
        return self.folder.with_suffix(".json")

    def _known(self, subject: str) -> Facts:
        if not self._read_in():
            return Facts(self._former, is_whole=False)
        return self._files.of(subject)

    def _read_in(self) -> bool:
        """Keep what was kept in one file once, in files of their own. Return whether that could be read."""
        if self._is_read_in:
            return True
        try:
            kept = json.loads(self._former.read_bytes())
            facts = [(f"folder {place}", {"name": name}) for place, (_, name) in kept.get("names", {}).items()]
            facts += [(f"folder {place}", {"roots": roots}) for place, roots in kept.get("folders", {}).items()]
            facts += [(_subject(project), {"roots": roots}) for project, roots in kept.get("roots", {}).items()]
            facts += [(f"folder {place}", {"confirmed": project}) for place, project in kept.get("confirmed", [])]
            facts += [(_FIRST_LOOK, {"at": kept["since"]})] if "since" in kept else []
            for subject, fact in facts:
                self._files.learn(subject, **fact)
            self._former.unlink(missing_ok=True)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, AttributeError):
            return False
        self._is_read_in = True
        return True


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


def _subject(of: Path | str) -> str:
    """Return under what something is known of a folder, or of a project: no project can pass itself off as a folder."""
    return f"project {of}" if isinstance(of, str) else f"folder {_place(of)}"


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
