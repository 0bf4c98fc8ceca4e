"""The projects of folders, and permission for unsolicited lessons there.

A project's id is the text that its entries carry. It is bound to the path of a folder, and to the number of git's
folder on its disk, as long as the repository has one of the commits that the project began with. A repository's author
chooses its remote but not the first commit of a history: so an unknown folder belongs to a known project only if it has
its label and begins as it does.

The facts of a folder or project are a file, created whole, to which lines are appended without a lock. Of lines that
contradict each other, the first holds.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple

from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.index.engines.owner import machine_id
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.log import SET_ASIDE
from learning_memory_server.journal.names import Names
from learning_memory_server.model.caller import Caller, folder_of, readable_name, session_of
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.work_folder import WorkFolder
from learning_memory_server.system import files
from learning_memory_server.system.locations import is_attended

_LETTERS: Final = 6  # Letters of the digest in a name
_SUBJECT: Final = "of"  # The key in each line under which it says whom it is about: names of files are digests
_DIGEST: Final = 32


class Belonging(NamedTuple):
    """The project of a folder, and whether sessions there are told unasked what it knows."""

    project: str
    is_told: bool


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one folder or project.

    Attributes:
        file: Their file.
        lines: The readable facts, the oldest first.
        is_whole: Whether all can be read; if not, a person must be asked.
    """

    file: Path
    lines: tuple[dict[str, Any], ...] = ()
    is_whole: bool = True

    def first(self, name: str) -> Any:
        """Return the fact that holds under a name, or None."""
        return next(iter(self.every(name)), None)

    def every(self, name: str) -> list[Any]:
        """Return all facts under a name."""
        return [line[name] for line in self.lines if name in line]


def _facts_of(folder: Path, subject: str) -> Facts:
    """Return what a folder of facts has of a subject."""
    file = _file(folder, subject)
    lines: list[dict[str, Any]] = []
    try:
        for line in file.read_bytes().splitlines():
            fact = json.loads(line)
            if fact[_SUBJECT] != subject:
                return Facts(file, tuple(lines), is_whole=False)
            lines.append(fact)
    except FileNotFoundError:
        return Facts(file)
    except (OSError, ValueError, TypeError, KeyError):
        return Facts(file, tuple(lines), is_whole=False)
    return Facts(file, tuple(lines), is_whole=bool(lines))  # No file is created empty


def _all_facts(folder: Path) -> Iterator[tuple[str, Facts]]:
    """Yield each subject of which something can be read, and what is known of it."""
    for file in sorted(folder.glob("*.jsonl")):
        with suppress(OSError, ValueError, TypeError, LookupError):
            subject = json.loads(file.read_bytes().splitlines()[0])[_SUBJECT]
            yield subject, _facts_of(folder, subject)


def _learn(folder: Path, subject: str, **said: object) -> None:
    """Keep what holds from now on, unless something else is known already."""
    line = json.dumps({_SUBJECT: subject, **said}).encode() + b"\n"
    file = _file(folder, subject)
    if not files.create(file, line):
        files.append(file, line)


def _set_aside(folder: Path, subject: str) -> None:
    """Put a file that cannot be read out of the way."""
    file = _file(folder, subject)
    file.rename(file.with_suffix(f"{SET_ASIDE}{utc_now():%Y%m%dT%H%M%S%f}"))


def _file(folder: Path, subject: str) -> Path:
    # A path need not be UTF-8.
    digest = hashlib.sha256(subject.encode("utf-8", "surrogateescape")).hexdigest()
    return folder / f"{digest[:_DIGEST]}.jsonl"


@dataclass(slots=True)
class Claims:
    """Knows which folders are which projects."""

    folder: Path
    _is_read_in: bool = False

    def find(self, directory: Path, is_stored: Callable[[str], bool] | None = None) -> Belonging:
        """Return the project of a folder, and bind it if it `is_stored`: if sessions here have stored entries."""
        place = WorkFolder.of(directory)
        here, numbered = self._known(f"folder {place.top}"), self._known(f"number {place.number}")
        own = _own_name(place, len(here.every("id")))
        try:
            known = next(chain(self._still(place, here), self._still(place, numbered, by_path=False)), None)
            found = Belonging(known, is_told=True) if known else self._labelled(place, own, is_stored)
            is_sure = found.is_told and here.is_whole and numbered.is_whole and not place.is_of_somebody_else()
            if is_sure and is_stored:
                self._bind(place, found.project)
            return Belonging(found.project, is_sure)
        except OSError:
            return Belonging(next(reversed(here.every("id")), own), is_told=False)

    def record_roots(self, directory: Path, project: str) -> None:
        """Keep the root commits of a folder for its project, unless it has some on record."""
        place = WorkFolder.of(directory)
        with suppress(OSError):
            if not self._known(f"project {project}").first("roots") and (roots := place.roots()):
                _learn(self.folder, f"project {project}", roots=roots)
                for root in roots:
                    _learn(self.folder, f"root {root}", id=project)

    def claimed(self, directory: Path, is_stored: Callable[[str], bool]) -> str | None:
        """Return the known project that a folder may be by its path, remote or history, if nobody was asked."""
        place, found = WorkFolder.of(directory), self.find(directory)
        here = self._known(f"folder {place.top}")
        with suppress(OSError):
            if not here.every("declined"):
                label = place.label()
                ids = [*reversed(here.every("id")), *self._known(f"label {label}").every("id"), label]
                ids += [each for root in place.roots() for each in self._known(f"root {root}").every("id")]
                likely = [each for each in ids if each and (each != found.project or not found.is_told)]
                return next(filter(is_stored, likely), None)
        return None

    def stamp(self, directory: Path) -> object:
        """Return what changes when something else may be found for a folder."""
        place = WorkFolder.of(directory)
        return place.stamp(), self._known(f"folder {place.top}").lines

    def find_unreadable(self, directory: Path) -> Path | None:
        """Return a file of what is known of a folder, if it cannot be read."""
        place = WorkFolder.of(directory)
        found = map(self._known, (f"folder {place.top}", f"number {place.number}"))
        return next((each.file for each in found if not each.is_whole), None)

    def confirm(self, directory: Path, project: str) -> None:
        """Note that a person says that a folder is the project's. What cannot be read is put aside."""
        if not self._read_in():
            self._former.rename(self._former.with_suffix(f"{SET_ASIDE}{time.time_ns()}"))
        place = WorkFolder.of(directory)
        for subject in (f"folder {place.top}", f"number {place.number}", f"project {project}"):
            if not self._known(subject).is_whole:
                _set_aside(self.folder, subject)
        _learn(self.folder, f"folder {place.top}", id=project, confirmed=place.number)
        self.record_roots(directory, project)

    def decline(self, directory: Path, project: str) -> None:
        """Note that a person says that a folder is not the project's."""
        _learn(self.folder, f"folder {WorkFolder.of(directory).top}", declined=project)

    def folders(self) -> dict[str, list[Path]]:
        """Return the folders of each project that one here is, or was, by its id."""
        found: dict[str, list[Path]] = {}
        for subject, known in _all_facts(self.folder):
            for project in known.every("id")[-1:]:
                here = [Path(subject.removeprefix("folder "))] if subject.startswith("folder ") else []
                found.setdefault(project, []).extend(here)
        return found

    def _still(self, place: WorkFolder, known: Facts, *, by_path: bool = True) -> Iterator[str]:
        """Yield the projects that a place is, of those that it is known as by its path or its number, latest first."""
        for line in reversed(known.lines):
            roots = self._known(f"project {line['id']}").first("roots") if "id" in line else None
            if "confirmed" in line:
                is_still = line["confirmed"] in {None, place.number}
            elif place.git is None or not roots:
                is_still = by_path
            else:
                found = place.has_any(roots)
                is_still = by_path if found is None else found
            if is_still and "id" in line:
                yield line["id"]

    def _labelled(
        self, place: WorkFolder, own: str, is_stored: Callable[[str], bool] | None, *, is_again: bool = False
    ) -> Belonging:
        """Return the project whose label a folder has, if it begins as that does, else one of its own."""
        label = place.label()
        known = self._known(f"label {label}")
        if label is None or not known.is_whole:
            return Belonging(own, is_told=label is None)
        if project := known.first("id"):
            is_first = known.first("at") == str(place.top) and project == label
            is_same = is_first and not self._known(f"folder {place.top}").first("id")
            is_same = is_same or not set(place.roots()).isdisjoint(self._roots_of(project, known.first("at")))
            return Belonging(project if is_same else own, is_told=True)
        if is_again or is_stored is None or is_stored(label):
            return Belonging(label, is_told=False)
        # Somebody else may be first.
        _learn(self.folder, f"label {label}", id=label, at=str(place.top))
        return self._labelled(place, own, is_stored, is_again=True)

    def _roots_of(self, project: str, at: str | None) -> list[str]:
        """Return the root commits of a project, also if they are not on record yet."""
        if at and not self._known(f"project {project}").first("roots"):
            self.record_roots(Path(at), project)
        return list(self._known(f"project {project}").first("roots") or ())

    def _bind(self, place: WorkFolder, project: str) -> None:
        for subject in dict.fromkeys((f"folder {place.top}", f"folder {place.worktree}", f"number {place.number}")):
            if next(reversed(self._known(subject).every("id")), None) != project:
                _learn(self.folder, subject, id=project)
        # What a known project is called by its remote now, for other clones.
        if (label := place.label()) and not self._known(f"label {label}").first("id"):
            _learn(self.folder, f"label {label}", id=project, at=str(place.top))

    @property
    def _former(self) -> Path:
        return self.folder.with_suffix(".json")

    def _known(self, subject: str) -> Facts:
        if not self._read_in():
            return Facts(self._former, is_whole=False)
        return _facts_of(self.folder, subject)

    def _read_in(self) -> bool:
        """Keep what was kept in one file once, in files of their own. Return whether that could be read."""
        if self._is_read_in:
            return True
        try:
            none: dict[str, Any] = {"names": {}, "folders": {}, "roots": {}, "confirmed": []}
            kept = none | json.loads(self._former.read_bytes())
            said: list[tuple[str, dict[str, Any]]] = []
            for place, project in [*((each, name) for each, (_, name) in kept["names"].items()), *kept["confirmed"]]:
                said += [(f"folder {place.rpartition(' ')[0].removesuffix('/.git')}", {"id": project})]
                said += [(f"project {project}", {"roots": kept["folders"][place]})] if place in kept["folders"] else []
            for project, roots in kept["roots"].items():
                said += [(f"project {project}", {"roots": roots}), (f"label {project}", {"id": project})]
                said += [(f"root {root}", {"id": project}) for root in roots]
            for subject, fact in said:
                _learn(self.folder, subject, **fact)
            self._former.unlink(missing_ok=True)
        except FileNotFoundError:
            pass
        except (OSError, ValueError, TypeError, AttributeError, KeyError):
            return False
        self._is_read_in = True
        return True


def caller_of(environment: Mapping[str, str], settings: Settings) -> Caller:
    """Return the caller of this process: Claude Code's folder and session, else the working directory and an own id."""
    folder = folder_of(environment)
    found = Belonging(settings.project, True) if settings.project else claims_of(settings).find(folder)
    name = Journal(settings.journal_directory).names.of(found.project)
    return Caller(
        name, session_of(environment), folder=str(folder), is_told=found.is_told, is_attended=is_attended(environment)
    )


def claims_of(settings: Settings) -> Claims:
    """Return what is known of the folders of this data."""
    return Claims(settings.storage_path / "claims")


@dataclass(slots=True)
class Folders:
    """The projects of the folders that connections come from."""

    claims: Claims
    names: Names
    is_stored: Callable[[str], bool]  # whether sessions here have stored anything of a project
    _found: dict[Path, tuple[object, Belonging]] = field(default_factory=dict)
    _looking: dict[str, Future[Belonging]] = field(default_factory=dict)

    async def caller(self, directory: str, named: str | None, session: str) -> Caller:
        """Return the caller of a connection from a folder, in a thread for each folder: a disk may not answer."""
        if named:
            return Caller(self.names.of(named), session, folder=directory)
        looking = self._looking.get(directory)
        if looking is None or looking.done():
            look = partial(self._find, Path(directory), asyncio.get_running_loop())
            looking = self._looking[directory] = in_daemon_thread(look)
        found = await asyncio.shield(asyncio.wrap_future(looking))
        return Caller(self.names.of(found.project), session, folder=directory, is_told=found.is_told)

    def _find(self, folder: Path, loop: asyncio.AbstractEventLoop) -> Belonging:
        known, found = self._found.get(folder, (None, None))
        if found is None or known != self.claims.stamp(folder):
            # What is stored belongs to the loop's thread.
            stored = partial(asyncio.run_coroutine_threadsafe, loop=loop)
            found = self.claims.find(folder, lambda project: stored(self._is_stored(project)).result())
            if found.is_told:
                self._found[folder] = self.claims.stamp(folder), found
                # For a long history, git takes longer than a session waits.
                in_daemon_thread(partial(self.claims.record_roots, folder, found.project))
        return found

    async def _is_stored(self, project: str) -> bool:
        return self.is_stored(project)


def _own_name(place: WorkFolder, former: int) -> str:
    """Return a name that no other project has: with a digest of the place, and of how many have been there."""
    what = f"{machine_id()} {place.top} {former}"
    digest = hashlib.sha256(what.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{readable_name(place.name) or 'default'}-{digest[:_LETTERS]}"
