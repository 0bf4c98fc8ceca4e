"""The journal's files as one thing: see `journal/README.md` in the repository for the format."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal import files
from learning_memory_server.journal.codec import MALFORMED, ghap_from_data, ghap_to_data
from learning_memory_server.journal.log import Log

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.journal.log import Damage


class Journal:
    """The logs of resolved entries, values and clusters, and one file for each open entry.

    Args:
        path: The journal's directory. It is created when something is first written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.entries = Log(path / "entries", monthly=True)
        self.values = Log(path / "values")
        self.clusters = Log(path / "clusters")
        self._open = path / "open"

    def recover(self, at: datetime) -> list[Path]:
        """Repair what a crash can leave behind, and return the files that torn lines were set aside in.

        Needs the journal's lock. An entry that is resolved and still has an open file, because the
        process died between the two writes, loses the open file.
        """
        # A journal that a newer program wrote is refused before any of it is changed.
        for log in self._logs():
            log.refuse_newer_format()
        set_aside = [path for log in self._logs() for path in log.recover(at)]
        for ghap_id in self.entries.mentioned("ghap", [path.stem for path in self.open_files()]):
            self.close_entry(ghap_id)
        return set_aside

    def damage(self) -> list[Damage]:
        """Return every line of every log that cannot be read."""
        return [damage for log in self._logs() for damage in log.read().damage]

    def save_open(self, ghap: Ghap) -> None:
        """Write an open entry's file, in the place of the one it had."""
        text = json.dumps(ghap_to_data(ghap), ensure_ascii=False, indent=1)
        files.replace(self._open / f"{ghap.id}.json", text.encode())

    def close_entry(self, ghap_id: str) -> None:
        """Remove an open entry's file, once the entry is in the log."""
        files.remove(self._open / f"{ghap_id}.json")

    def open_entries(self) -> list[Ghap]:
        """Return the open entries that can be read, oldest first. `doctor` names the files that cannot."""
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
            text = path.read_bytes()
        try:
            entry = ghap_from_data(json.loads(text))
            if entry.id != path.stem or entry.created_at.tzinfo is None or entry.resolution:
                raise ValueError(path.name)
        except MALFORMED as error:
            raise JournalUnavailableError(
                f"The open entry {path.name} cannot be read.",
                hint="Move the file out of the journal's open folder, or mend it; it is JSON.",
            ) from error
        return entry

    def size(self) -> int:
        """Return the bytes on disk."""
        paths = [path for log in self._logs() for path in log.segments()] + self.open_files()
        return sum(path.stat().st_size for path in paths)

    def _logs(self) -> tuple[Log, ...]:
        return self.entries, self.values, self.clusters

    def open_files(self) -> list[Path]:
        """Return the files of the open entries, readable or not."""
        return sorted(self._open.glob("*.json")) if self._open.is_dir() else []
