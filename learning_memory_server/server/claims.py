"""The projects of folders, and permission for unsolicited lessons there.

A project's id is the text that its entries carry. It is bound to the path of a folder, and to the number of git's
folder on its disk, as long as the repository has one of the commits that the project began with. A repository's author
chooses its remote but not the first commit of a history: so an unknown folder belongs to a known project only if it has
its label and begins as it does.
"""

import asyncio
import hashlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final, NamedTuple

from learning_memory_server.embedding.work_queue import in_daemon_thread
from learning_memory_server.index.engines.owner import machine_id
from learning_memory_server.journal.journal import Journal
from learning_memory_server.journal.names import Names
from learning_memory_server.model.caller import Caller, folder_of, readable_name, session_of
from learning_memory_server.server.exclusion import Exclusion, matching
from learning_memory_server.server.facts import FactFiles, Facts
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.work_folder import WorkFolder
from learning_memory_server.system.locations import is_attended
from learning_memory_server.system.recent import Recent

_NO_PROJECT: Final = "none"  # Of the folders that are left out
_LETTERS: Final = 6  # Letters of the digest in a name


class Belonging(NamedTuple):
    """The project of a folder, and whether sessions there are told unasked what it knows."""

    project: str
    is_told: bool


class Claims:
    """Knows which folders are which projects, from the facts in a folder."""

    def __init__(self, folder: Path) -> None:
        self.facts = FactFiles(folder)

    def find(self, directory: Path, is_stored: Callable[[str], bool] | None = None) -> Belonging:
        """Return the project of a folder, and bind it if it `is_stored`: if sessions here have stored entries."""
        place = WorkFolder.of(directory)
        here, numbered = self.facts.of("folder", place.top), self.facts.of("number", place.number)
        try:
            surely = (self._still(place, each, by_path=False) for each in (here, numbered))
            known = next(chain(*surely, self._still(place, here)), None)
            if known:
                found = Belonging(known, is_told=True)
            else:
                found = self._labelled(place, _own_name(place, len(here.every("id"))), is_stored)
            is_sure = found.is_told and here.is_whole and numbered.is_whole and not place.is_of_somebody_else()
            if is_sure and is_stored:
                self._bind(place, found.project)
            return Belonging(found.project, is_sure)
        except OSError:
            former = here.every("id")
            return Belonging(former[-1] if former else _own_name(place, 0), is_told=False)

    def record_roots(self, directory: Path, project: str) -> None:
        """Keep the root commits of a folder for its project, unless it has some on record."""
        place = WorkFolder.of(directory)
        with suppress(OSError):
            if not self.facts.of("project", project).first("roots") and (roots := place.roots()):
                self.facts.learn("project", project, roots=roots)
                for root in roots:
                    self.facts.learn("root", root, id=project)

    def claimed(self, directory: Path, is_stored: Callable[[str], bool]) -> str | None:
        """Return the known project that a folder may be by its path, remote or history, if nobody was asked."""
        place, found = WorkFolder.of(directory), self.find(directory)
        here = self.facts.of("folder", place.top)
        place = replace(place, git=place.git or place.unproven)
        with suppress(OSError):
            if not here.every("declined"):
                label = place.label()
                ids = [*reversed(here.every("id")), *self.facts.of("label", label).every("id"), label]
                ids += [each for root in place.roots() for each in self.facts.of("root", root).every("id")]
                likely = [each for each in ids if each and (each != found.project or not found.is_told)]
                return next(filter(is_stored, likely), None)
        return None

    def superproject(self, directory: Path, is_stored: Callable[[str], bool]) -> str | None:
        """Return the known project whose submodule a folder is, unless it is of that already, or a person said no."""
        place = WorkFolder.of(directory)
        if place.superproject is None or self.facts.of("folder", place.top).every("declined"):
            return None
        outer = self.find(place.superproject).project
        return outer if outer != self.find(directory).project and is_stored(outer) else None

    def stamp(self, directory: Path) -> object:
        """Return what changes when something else may be found for a folder."""
        place = WorkFolder.of(directory)
        return place.stamp(), self.facts.of("folder", place.top).lines

    def find_unreadable(self, directory: Path) -> Path | None:
        """Return a file of what is known of a folder, if it cannot be read."""
        place = WorkFolder.of(directory)
        found = self.facts.of("folder", place.top), self.facts.of("number", place.number)
        return next((each.file for each in found if not each.is_whole), None)

    def confirm(self, directory: Path, project: str) -> None:
        """Note that a person says that a folder is the project's. What cannot be read is put aside."""
        place = WorkFolder.of(directory)
        for kind, name in (("folder", place.top), ("number", place.number), ("project", project)):
            self.facts.mend(kind, name)
        self.facts.learn("folder", place.top, id=project, confirmed=place.number)
        self.record_roots(directory, project)

    def decline(self, directory: Path, project: str) -> None:
        """Note that a person says that a folder is not the project's."""
        self.facts.learn("folder", WorkFolder.of(directory).top, declined=project)

    def said_of_older(self, directory: Path) -> bool | None:
        """Return what a person said last of sessions from before this clone, None if nobody was asked."""
        place = WorkFolder.of(directory)
        said = self.facts.of("folder", place.top).every("older")
        return next((each["read"] for each in reversed(said) if each["number"] == place.number), None)

    def note_older(self, directory: Path, *, said: bool) -> None:
        """Note what a person says of sessions from before this clone."""
        place = WorkFolder.of(directory)
        self.facts.learn("folder", place.top, older={"number": place.number, "read": said})

    def folders(self) -> dict[str, list[Path]]:
        """Return the folders of each project that one here is, or was, by its id."""
        found: dict[str, list[Path]] = {}
        for kind, name, known in self.facts.all():
            for project in known.every("id")[-1:]:
                found.setdefault(project, []).extend([Path(name)] if kind == "folder" else [])
        return found

    def _still(self, place: WorkFolder, known: Facts, *, by_path: bool = True) -> Iterator[str]:
        """Yield the projects that a place is, of those that it is known as by its path or its number, latest first."""
        for line in reversed(known.lines):
            roots = self.facts.of("project", line["id"]).first("roots") if "id" in line else None
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
        known = self.facts.of("label", label)
        if label is None or not known.is_whole:
            return Belonging(own, is_told=label is None)
        if project := known.first("id"):
            is_first = known.first("at") == str(place.top) and project == label
            is_same = is_first and not self.facts.of("folder", place.top).first("id")
            is_same = is_same or not set(place.roots()).isdisjoint(self._roots_of(project, known.first("at")))
            return Belonging(project if is_same else own, is_told=True)
        if is_again or is_stored is None or is_stored(label):
            return Belonging(label, is_told=False)
        # Somebody else may be first.
        self.facts.learn("label", label, id=label, at=str(place.top))
        return self._labelled(place, own, is_stored, is_again=True)

    def _roots_of(self, project: str, at: str | None) -> list[str]:
        """Return the root commits of a project, also if they are not on record yet."""
        if at and not self.facts.of("project", project).first("roots"):
            self.record_roots(Path(at), project)
        return list(self.facts.of("project", project).first("roots") or ())

    def _bind(self, place: WorkFolder, project: str) -> None:
        for kind, name in dict.fromkeys((("folder", place.top), ("folder", place.worktree), ("number", place.number))):
            if next(reversed(self.facts.of(kind, name).every("id")), None) != project:
                self.facts.learn(kind, name, id=project)
        # What a known project is called by its remote now, for other clones.
        if (label := place.label()) and not self.facts.of("label", label).first("id"):
            self.facts.learn("label", label, id=project, at=str(place.top))


def caller_of(environment: Mapping[str, str], settings: Settings) -> Caller:
    """Return the caller of this process: Claude Code's folder and session, else the working directory and an own id."""
    folder = folder_of(environment)
    if matching(settings.exclude, folder):
        return Caller(_NO_PROJECT, session_of(environment), folder=str(folder), is_told=False)
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
    exclusion: Exclusion | None = None
    _found: Recent[Path, tuple[object, Belonging]] = field(default_factory=Recent)
    _looking: Recent[str, Future[Belonging]] = field(default_factory=Recent)

    async def caller(self, directory: str, named: str | None, session: str) -> Caller:
        """Return the caller of a connection from a folder, in a thread for each folder: a disk may not answer."""
        if self.exclusion and await self.exclusion.find(directory):
            # Not even git is asked there: every call is refused, see `Calls`.
            return Caller(_NO_PROJECT, session, folder=directory, is_told=False)
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
