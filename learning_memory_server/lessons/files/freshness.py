"""The files that experiences are about: their names, and their state when an experience is shown."""

import asyncio
import hashlib
import os
import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from functools import lru_cache, partial
from pathlib import Path
from typing import Final

from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.model import limits
from learning_memory_server.model.caller import git_output
from learning_memory_server.model.entry import Anchor, Ghap
from learning_memory_server.system import timeouts
from learning_memory_server.system.files import read
from learning_memory_server.system.recent import Recent

NAME_MAX: Final = 300  # Characters of a file's name in its project. Longer ones are made by programs.
_PRIVATE: Final = re.compile(
    r"""(^|/)(
        \.git | \.ssh | \.gnupg | \.aws | \.azure | \.kube | \.docker | \.password-store
        | \.env(\.[^/]*)? | [^/]*\.env | \.envrc | \.netrc | _netrc | \.npmrc | \.pypirc | \.pgpass | \.my\.cnf | \.git-credentials | \.htpasswd
        | id_(rsa|dsa|ecdsa|ed25519)(\.[^/]*)? | [^/]*\.(pem|key|p12|pfx|jks|keystore|kdbx|asc|gpg|ovpn|tfstate|tfvars)
        | [^/]*(secret|credential|password|passwd)s?([._-][^/]*)?\.(json|ya?ml|toml|ini|cfg|conf|properties|txt|csv|xml|env)
        | (secret|credential|password|passwd)s?
    )(/|$)""",
    re.VERBOSE | re.IGNORECASE,
)
"""Files and folders that hold credentials, or git's own."""


def project_root(folder: str) -> Path | None:
    """Return the top folder of a folder's repository, else the folder; None for a home folder and those above it."""
    if not os.path.isabs(folder):  # noqa: PTH117 - an empty text is none, either
        return None
    try:
        here = Path(os.path.realpath(folder))
        found = next((each for each in (here, *here.parents) if (each / ".git").exists()), here)
    except (OSError, ValueError):
        return None  # It must not be looked at, or is no name of a folder
    home = Path(os.path.realpath(Path.home()))
    return None if found in home.parents or (found == home and not (home / ".git").exists()) else found


def name_in(root: Path, path: str) -> str | None:
    """Return a file's name relative to the project's root, links followed; None if it is outside or secret."""
    try:
        real = Path(os.path.realpath(root / path))
        name = real.relative_to(root).as_posix()
        name.encode()
    except (OSError, ValueError):
        return None  # Outside; bytes that are no text; an embedded zero; links in a circle
    return name if is_allowed(name) else None


def is_allowed(name: str) -> bool:
    """Return whether a file of this name in a project may be looked at, unless a link leads out of it."""
    return len(name) <= NAME_MAX and _is_allowed(name)


@lru_cache(maxsize=20_000)
def _is_allowed(name: str) -> bool:
    is_plain = name.isprintable() and posixpath.normpath(name) == name and not name.startswith(("/", ".."))
    return is_plain and name != "." and not _PRIVATE.search(name)


def blob_ids(content: bytes) -> list[str]:
    """Return git's ids of a content: with line feeds as line ends, and as it is."""
    forms = content.replace(b"\r\n", b"\n"), content
    return [hashlib.sha1(b"blob %d\0%b" % (len(each), each), usedforsecurity=False).hexdigest() for each in forms]


def tracked_by_git(root: Path) -> list[str]:
    """Return the names of the regular files that a repository tracks."""
    lines = (line.partition("\t") for line in _listed(root, "--stage"))
    return [name for about, _, name in lines if about.startswith("100")]


def known_to_git(root: Path, names: list[str]) -> list[str]:
    """Return the files that a repository does not ignore."""
    return _listed(root, "--cached", "--others", "--exclude-standard", "--", *names) if names else []


def _listed(root: Path, *options: str) -> list[str]:
    return (git_output(root, "ls-files", "-z", *options) or "").split("\0")


_REMEMBERED: Final = 20_000  # How many verdicts are remembered, of files by their stamps, and of entries


class State(Enum):
    """What became of a file, or of all the files of an experience."""

    SAME = auto()
    CHANGED = auto()
    GONE = auto()


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of the files of an experience. If only some of several are gone, the state is changed."""

    state: State
    words: str = ""  # about five, for people and agents; empty if nothing has changed


@dataclass(eq=False)
class Freshness:
    """Judges experiences by the files of a folder. Nothing is raised, and nothing waits for a file system."""

    _last: dict[tuple[str, str], Judged] = field(default_factory=dict, init=False)
    # What became of a file that an anchor is about, with the size and time that the file had then.
    _seen: dict[tuple[Path, Anchor], tuple[object, State | None]] = field(default_factory=dict, init=False)
    # Of each folder, for others must not wait for a disk that hangs.
    _looking: Recent[str, asyncio.Future[None]] = field(default_factory=Recent, init=False)

    async def judge(self, entries: Iterable[Ghap], project: str, folder: str) -> None:
        """Judge experiences of the folder's project in the background, and wait for it as long as advice may."""
        wanted = [each for each in entries if each.anchors and each.project == project]
        before = self._looking.get(folder)
        if wanted and folder and (before is None or before.done()):
            looking = asyncio.wrap_future(in_daemon_thread(partial(self.look, wanted, project, folder)))
            self._looking[folder] = looking
            await asyncio.wait([looking], timeout=timeouts.FRESHNESS)

    def look(self, entries: Iterable[Ghap], project: str, folder: str) -> None:
        """Judge experiences of the folder's project now."""
        root = project_root(folder)
        wanted = [each for each in entries if each.anchors and each.project == project]
        if root is None or not wanted or not root.is_dir():
            return
        for each in (self._last, self._seen):
            if len(each) > _REMEMBERED:
                each.clear()
        inside: dict[str, bool] = {}
        for entry in wanted:
            if states := [found for each in _main(entry) if (found := self._look_at(root, each, inside))]:
                self._last[entry.id, folder] = _judged(entry, states)
            else:
                self._last.pop((entry.id, folder), None)

    def find(self, entry: Ghap, folder: str) -> Judged | None:
        """Return what was judged last of an experience."""
        return self._last.get((entry.id, folder))

    def _look_at(self, root: Path, anchor: Anchor, inside: dict[str, bool]) -> State | None:
        """Return what became of a file; None if that cannot be told. `inside` knows folders by now."""
        folder = anchor.file.rpartition("/")[0]
        if folder not in inside and is_allowed(anchor.file):
            inside[folder] = os.path.realpath(root / folder) == str(root / folder)
        if not (is_allowed(anchor.file) and inside[folder]):
            return None  # It is behind a link by now, or from an archive that somebody made
        try:
            now = os.lstat(f"{root}/{anchor.file}")
        except (FileNotFoundError, NotADirectoryError):
            return State.GONE
        except OSError:
            return None
        stamp = now.st_size, now.st_mtime_ns
        before = self._seen.get((root, anchor))
        if before and before[0] == stamp:
            return before[1]
        state = None
        if (content := read(root / anchor.file)) is not None:
            state = State.SAME if anchor.blob in blob_ids(content) else State.CHANGED
        self._seen[root, anchor] = stamp, state
        return state


def _main(entry: Ghap) -> Sequence[Anchor]:
    """Return the files that an entry is about: what was only read counts if there is nothing else."""
    anchors = entry.anchors[: limits.ANCHORS_MAX]
    return [each for each in anchors if not each.is_read] or anchors


def _judged(entry: Ghap, states: Sequence[State]) -> Judged:
    count, changed = len(states), sum(each is not State.SAME for each in states)
    if all(each is State.GONE for each in states):
        return Judged(State.GONE, "its file is gone" if count == 1 else f"its {count} files are gone")
    if not changed:
        return Judged(State.SAME)
    what = "its file" if count == 1 else f"{changed} of {count} files"
    return Judged(State.CHANGED, f"{what} changed since {entry.outcome.resolved_at:%Y-%m-%d}")
