"""The journal's files as one thing: see `journal/README.md` in the repository for the format."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal import files
from learning_memory_server.journal.codec import MALFORMED, ghap_from_data, ghap_to_data
from learning_memory_server.journal.content import Purge
from learning_memory_server.journal.formats import CURRENT, is_version
from learning_memory_server.journal.log import Log

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.journal.content import Damage
    from learning_memory_server.journal.files import Disk
    from learning_memory_server.journal.formats import Format

_UNVERSIONED: Final = 1
"""The format of open files that say none: they did not at first."""


class Journal:
    """The logs of resolved entries, values, their evidence, clusters and memories, and one file for each open entry.

    Args:
        path: The journal's directory. It is created when something is first written.
        form: The version that is written, and brought forward to in reading.
        disk: What writes.
    """

    def __init__(self, path: Path, *, form: Format = CURRENT, disk: Disk = files) -> None:
        self.path = path
        self.entries = Log(path / "entries", monthly=True, form=form, disk=disk)
        self.values = Log(path / "values", form=form, disk=disk)
        self.evidence = Log(path / "evidence", form=form, disk=disk)
        self.clusters = Log(path / "clusters", form=form, disk=disk)
        self.memories = Log(path / "memories", monthly=True, form=form, disk=disk)
        self._open = path / "open"
        self._form = form
        self._disk = disk

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders in the journal's own that are written in, there or not."""
        return self.path / "entries", self.path / "memories", self._open

    def recover(self, at: datetime) -> list[Path]:
        """Repair what a crash can leave behind, and return the files that torn lines were set aside in.

        Needs the journal's lock. An entry that is resolved or forgotten and still has an open file, because
        the process died between the two writes, loses the open file.

        Raises:
            JournalUnavailableError: If a newer program wrote any of it; nothing is changed then.
        """
        for log in self._logs():
            log.refuse_newer_format()
        self._refuse_newer_open_files()
        set_aside = [path for log in self._logs() for path in log.recover(at)]
        self._sweep()
        return set_aside

    def purge(self) -> Purge:
        """Take what is forgotten out of the files. The tombstones stay, so that no copy brings it back.

        Needs the journal's lock. A crash at any moment loses nothing else; purging again does the rest. What
        cannot be read is kept and named: who knows what it says can remove it.

        Raises:
            JournalUnavailableError: If a file cannot be read or replaced.
        """
        self._sweep()
        purges = [log.purge() for log in self._logs()]
        return Purge(
            {path: count for purge in purges for path, count in purge.removed.items()},
            [path for purge in purges for path in purge.doubtful],
        )

    def damage(self) -> list[Damage]:
        """Return every line of every log that cannot be read."""
        return [damage for log in self._logs() for damage in log.read().damage]

    def save_open(self, ghap: Ghap) -> None:
        """Write an open entry's file, in the place of the one it had."""
        data = {"v": self._form.version, **ghap_to_data(ghap)}
        text = json.dumps(data, ensure_ascii=False, indent=1)
        self._disk.replace(self._open / f"{ghap.id}.json", text.encode())

    def close_entry(self, ghap_id: str) -> None:
        """Remove an open entry's file, once the log says that it is resolved or forgotten."""
        self._disk.remove(self._open / f"{ghap_id}.json")

    def open_entries(self) -> list[Ghap]:
        """Return the open entries that can be read, oldest first. `doctor` names the files that cannot.

        Raises:
            JournalUnavailableError: If a newer program wrote one.
        """
        self._refuse_newer_open_files()
        entries = []
        for path in self.open_files():
            with suppress(JournalUnavailableError):
                entries.append(self.read_open(path))
        return sorted(entries, key=lambda entry: (entry.created_at, entry.id))

    def read_open(self, path: Path) -> Ghap:
        """Return the entry of one open file.

        Raises:
            JournalUnavailableError: If the file cannot be read, or is not the entry that its name says.
        """
        with files.journal_errors(path):
            content = _parsed(path.read_bytes())
        version = _version(content)
        self._form.refuse_newer(version)
        try:
            entry = ghap_from_data(self._form.upgraded("ghap", content, version))
            if entry.id != path.stem or entry.created_at.tzinfo is None or entry.resolution:
                raise ValueError(path.name)
        except MALFORMED as error:
            raise JournalUnavailableError(
                f"The open entry {path.name} cannot be read.",
                hint="Move the file out of the journal's open folder, or mend it; it is JSON.",
            ) from error
        return entry

    def _refuse_newer_open_files(self) -> None:
        for path in self.open_files():
            # Who reads a file that cannot be opened is told so; here it must not cost the others anything.
            with suppress(OSError):
                self._form.refuse_newer(_version(_parsed(path.read_bytes())))

    def _sweep(self) -> None:
        """Remove what is left of writes that a crash ended: files not yet whole, open files no longer needed."""
        for folder in (self.path, *self.folders):
            for path in files.matching(folder, f"*.json*{files.TEMPORARY}"):
                self._disk.remove(path)
        for ghap_id in self.entries.mentioned("ghap", [path.stem for path in self.open_files()]):
            self.close_entry(ghap_id)

    def size(self) -> int:
        """Return the bytes on disk."""
        with files.journal_errors(self.path):
            paths = [path for log in self._logs() for path in log.segments()] + self.open_files()
            return sum(path.stat().st_size for path in paths)

    def _logs(self) -> tuple[Log, ...]:
        return self.entries, self.values, self.evidence, self.clusters, self.memories

    def open_files(self) -> list[Path]:
        """Return the files of the open entries, readable or not.

        Raises:
            JournalUnavailableError: If their folder cannot be read.
        """
        return files.matching(self._open, "*.json")


def _parsed(text: bytes) -> dict[str, Any]:
    """Return the JSON object that an open file holds; an empty one if it holds none."""
    with suppress(ValueError, RecursionError):
        content = json.loads(text)
        if isinstance(content, dict):
            return content
    return {}


def _version(content: dict[str, Any]) -> int:
    """Return the format that an open file says it has; one that says none, or nonsense, is of the first."""
    version = content.get("v")
    return version if is_version(version) else _UNVERSIONED
