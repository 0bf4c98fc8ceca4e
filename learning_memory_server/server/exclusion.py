"""The folders that a person leaves out: nothing is read, kept or shown for the sessions there."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from learning_memory_server.errors import InvalidInputError, InvalidSettingsError
from learning_memory_server.server.facts import FactFiles
from learning_memory_server.server.settings import Settings, load_settings
from learning_memory_server.server.work_folder import WorkFolder
from learning_memory_server.system.paths import config_file

_SETTING = "exclude"
_KIND = "excluded"  # Of the facts about a folder: that a session there was told
_KEPT = 1_000  # Folders whose answer is remembered


@dataclass
class Exclusion:
    """Knows which folders are left out. A change of the settings file counts at once, also for running sessions."""

    patterns: Sequence[str]
    facts: FactFiles
    _read: object = field(default=None, init=False)
    _found: dict[str, str] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, settings: Settings) -> "Exclusion":
        """Return the exclusion that settings name."""
        made = cls(settings.exclude, FactFiles(settings.storage_path / "claims"))
        made._read = _state_of_file()
        return made

    async def find(self, *folders: str) -> str:
        """Return the pattern that leaves out one of some folders, empty if none does; in a thread, for slow disks."""
        # In a thread, too: a home folder may be on a disk that does not answer.
        await asyncio.to_thread(self._refresh)
        if not self.patterns:
            return ""
        if len(self._found) > _KEPT:
            self._found.clear()
        for folder in filter(None, folders):
            if folder not in self._found:
                self._found[folder] = await asyncio.to_thread(matching, self.patterns, folder)
            if pattern := self._found[folder]:
                return pattern
        return ""

    async def says_first(self, folder: str) -> bool:
        """Return whether no session in this folder was told yet that it is left out, and note that one is."""
        return await asyncio.to_thread(self._says_first, folder)

    def _says_first(self, folder: str) -> bool:
        top = WorkFolder.of(Path(folder)).top
        if self.facts.of(_KIND, top).lines:
            return False
        self.facts.learn(_KIND, top, told=True)
        return True

    def _refresh(self) -> None:
        state = _state_of_file()
        if state == self._read:
            return
        self._read = state
        try:
            self.patterns = load_settings().exclude
        except InvalidSettingsError:
            return  # What was left out stays so until the file can be read
        self._found.clear()


def matching(patterns: Sequence[str], folder: str | Path) -> str:
    """Return the pattern that a folder, one around it, its repository or its link's target matches; else empty."""
    if not patterns:
        return ""
    place = WorkFolder.of(Path(folder))
    shown = str(Path(folder).absolute())
    paths = dict.fromkeys((shown, os.path.realpath(folder), str(place.top), str(place.worktree)))
    for pattern in patterns:
        forms = dict.fromkeys((pattern, _without_links(pattern)))
        if any(_covers(form.split("/"), path.split("/")) for form in forms for path in map(_with_slashes, paths)):
            return pattern
    return ""


def sentence_of(pattern: str, folder: str | Path) -> str:
    """Return what a person is told of a folder that is left out."""
    return (
        f"{folder} is left out of the memory: the setting `{_SETTING}` has {pattern}. Nothing is read, kept or shown "
        "here."
    )


def require_included(settings: Settings, folder: Path) -> None:
    """Raise `InvalidInputError` if a folder is left out."""
    if pattern := matching(settings.exclude, folder):
        raise InvalidInputError(
            sentence_of(pattern, folder), hint=f"To change that, edit `{_SETTING}` in {config_file()}."
        )


def _covers(pattern: list[str], path: list[str]) -> bool:
    """Return whether a path, or a folder around it, matches a pattern part by part; `**` is any number of parts."""
    if not pattern:
        return True
    if pattern[0] == "**":
        return any(_covers(pattern[1:], path[start:]) for start in range(len(path) + 1))
    return bool(path) and fnmatchcase(path[0], pattern[0]) and _covers(pattern[1:], path[1:])


def _without_links(pattern: str) -> str:
    """Return a pattern whose folders before the first sign of a pattern are those that links lead to."""
    parts = pattern.split("/")
    plain = next((number for number, part in enumerate(parts) if set(part) & set("*?[")), len(parts))
    return "/".join([_with_slashes(os.path.realpath("/".join(parts[:plain]) or "/")).rstrip("/"), *parts[plain:]])


def _with_slashes(path: str) -> str:
    return os.path.normcase(path).replace(os.sep, "/")


def _state_of_file() -> object:
    try:
        found = config_file().stat()
    except (OSError, InvalidSettingsError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
