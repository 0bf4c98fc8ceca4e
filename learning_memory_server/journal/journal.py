"""The journal as a whole. `journal/README.md` in the repository describes its files and format."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from learning_memory_server.errors import JournalUnavailableError
from learning_memory_server.journal import codec, kinds
from learning_memory_server.journal.codec import DamagedLineError, JournalRecord, content_of
from learning_memory_server.journal.kinds import GHAP, KINDS, PROJECT, RETIRED, RETIRED_ANSWERS
from learning_memory_server.journal.log import Disk, Line, Log, Purge, journal_errors, matching
from learning_memory_server.journal.names import Names
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.moment import as_seen
from learning_memory_server.model.stored import WRITTEN
from learning_memory_server.system import files


class Journal:
    """A log for each kind of record, and a file for each open entry. Raises `JournalUnavailableError`; see `Log`."""

    def __init__(self, path: Path, *, disk: Disk = files) -> None:
        self.path = path
        said = Log(path, PROJECT, disk=disk)
        self.names = Names(said)
        logs = {each.file: Log(path, each, disk=disk, names=self.names) for each in KINDS.values()}
        self.logs = logs | {PROJECT.file: said}
        self.entries, self.values, self.verdicts, self.advice, *others = self.logs.values()
        self.failures, self.memories, self.clusters, self.servers, _said, self.answers, *others = others
        self.rules, self.rule_counts = others
        self._open = path / "open"
        self._disk = disk
        self._unreadable = 0

    @property
    def folders(self) -> tuple[Path, ...]:
        """The folders inside the journal folder that are written to, whether or not they exist."""
        return *(self.path / each.file for each in KINDS.values() if each.is_monthly), self._open

    def recover(self, at: datetime) -> list[Path]:
        """Repair the effects of a crash, with the journal's lock, and return the files of torn lines."""
        self._refuse_other_formats()
        set_aside = list[Path]()
        for log in self.logs.values():
            # A log that cannot be used fails the calls that need it, not the start.
            with suppress(JournalUnavailableError):
                set_aside += log.recover(at)
        with suppress(JournalUnavailableError):
            self._sweep()
        return set_aside

    def purge(self) -> Purge:
        """Remove what is forgotten, and the files that are no longer read, with the journal's lock.

        Tombstones and unreadable bytes stay.
        """
        self._sweep()
        purges = [log.purge() for log in self.logs.values()]
        removed = Counter({path: count for purge in purges for path, count in purge.removed.items()})
        removed.update(self.answers.rewrite(dict.fromkeys(self._retired_answers(), b"")))
        retired = self.retired_files()
        for path in retired:
            self._remove(path)
        return Purge(removed | retired, [path for purge in purges for path in purge.doubtful])

    def _retired_answers(self) -> Iterator[bytes]:
        for _, _, line in self.answers.raw_lines():
            record = JournalRecord.find(line)
            if record and record.id.startswith(RETIRED_ANSWERS):
                yield line

    def retired_files(self) -> dict[Path, int]:
        """Return the files of logs that are no longer read, with the number of their lines."""
        found = [path for name in RETIRED for path in matching(self.path, f"{name}.jsonl*")]
        counts = {}
        for path in found:
            with journal_errors(path):
                counts[path] = files.content(path).count(b"\n")
        return counts

    def rewrite(self, changes: Mapping[bytes, bytes]) -> int:
        """Replace lines and open files, each file in one step, with the journal's lock. Return their number."""
        self._sweep()
        replaced = 0
        for path in self.open_files():
            with journal_errors(path):
                if changed := changes.get(files.content(path)):
                    self._disk.replace(path, changed)
                    replaced += 1
        return replaced + sum(sum(log.rewrite(changes).values()) for log in self.logs.values())

    def raw_lines(self) -> Iterator[tuple[Path, int, bytes]]:
        """Yield every line of every log; see `Log.raw_lines`."""
        for log in self.logs.values():
            yield from log.raw_lines()

    def damage(self) -> list[Line]:
        """Return every line of every log that cannot be read."""
        return [damage for log in self.logs.values() for damage in log.read().damage]

    def set_aside_files(self) -> list[Path]:
        """Return the files that `recover` has moved torn lines to."""
        return [path for log in self.logs.values() for path in log.set_aside_files()]

    def count_damage(self) -> int:
        """Return how many lines cannot be read, open entries included. Known files are not read again.

        An unreadable log counts as one line.
        """
        for log in self.logs.values():
            if log.known_damage is None:
                try:
                    log.read()
                except JournalUnavailableError:
                    log.known_damage = 1
        return self.known_damage

    @property
    def known_damage(self) -> int:
        """How many lines could not be read in the logs that this process has read, and how many open entries."""
        return self._unreadable + sum(log.known_damage or 0 for log in self.logs.values())

    @property
    def changed_by_others(self) -> set[Path]:
        """The files that another program changed between two appends of this process."""
        return set[Path]().union(*(log.changed_by_others for log in self.logs.values()))

    def forgotten(self) -> set[tuple[str, str]]:
        """Return the kind and the id of everything that is forgotten."""
        return set[tuple[str, str]]().union(*(log.read().forgotten for log in self.logs.values()))

    def save_open(self, ghap: Ghap) -> None:
        """Write or replace the file of an open entry."""
        path = self._open_file(ghap.id)
        with journal_errors(path):
            self._disk.replace(path, codec.open_file_of(self.names.as_written(GHAP.encode(ghap))))

    def close_entry(self, ghap_id: str) -> None:
        """Remove the file of an open entry. Call it once the log says that the entry is resolved or forgotten."""
        self._remove(self._open_file(ghap_id))

    def open_entries(self) -> list[Ghap]:
        """Return the readable open entries, oldest first. `doctor` names the files that cannot be read."""
        self._refuse_open_files()
        entries = []
        paths = self.open_files()
        for path in paths:
            with suppress(JournalUnavailableError):
                entries.append(self.read_open(path))
        self._unreadable = len(paths) - len(entries)
        return sorted(entries, key=lambda entry: (as_seen(entry.created_at), entry.id))

    def read_open(self, path: Path) -> Ghap:
        """Return the entry of one open file; refuse one that does not contain the open entry that it is named after."""
        with journal_errors(path):
            text = files.content(path)
        try:
            entry = GHAP.decode(self.names.as_read(content_of(text)))
            if entry.others and b'"sum"' not in text:
                # A name that nothing vouches for may be a damaged `sum`.
                entry = replace(entry, others={name: part for name, part in entry.others.items() if name == WRITTEN})
            if entry.id != path.stem or entry.created_at.tzinfo is None or entry.resolution:
                raise ValueError(path.name)
        except JournalUnavailableError:
            raise
        except kinds.MALFORMED as error:
            raise JournalUnavailableError(
                f"The open entry {path.name} cannot be read"
                + (f": {error}." if isinstance(error, DamagedLineError) else "."),
                hint="Move the file out of the journal's open folder, or repair it: it is JSON, and may lack its `sum`.",
            ) from error
        return entry

    def _refuse_other_formats(self) -> None:
        """Refuse a journal with anything in another format. Only line ends are parsed: every start waits for this."""
        for path in self._all_logs():
            try:
                content = files.content(path)
            except OSError:
                continue  # Whoever needs it says why it cannot be used
            if content.count(codec.END + b"\n") == content.count(b"\n"):
                continue
            for version in codec.VERSION.finditer(content):
                codec.refuse_another(int(version[1]))
        self._refuse_open_files()

    def _all_logs(self) -> Iterator[Path]:
        """Yield the files of all logs, also of unknown ones."""
        yield from matching(self.path, "*.jsonl")
        for folder in self.folders:
            with suppress(JournalUnavailableError):
                yield from matching(folder, "*.jsonl")

    def _refuse_open_files(self) -> None:
        for path in self.open_files():
            # `read_open` reports a file that cannot be read; the others must still be checked.
            with suppress(OSError, DamagedLineError):
                content_of(files.content(path))

    def _sweep(self) -> None:
        """Remove what interrupted writes have left: incomplete files, and open files of entries in the log."""
        for folder in (self.path, *self.folders):
            for path in matching(folder, f"*.json*{files.TEMPORARY}"):
                self._remove(path)
        for ghap_id in self.entries.mentioned([path.stem for path in self.open_files()]):
            self.close_entry(ghap_id)

    def size(self) -> int:
        """Return the total size of the files, in bytes. Open entries that are resolved meanwhile are left out."""
        total = 0
        with journal_errors(self.path):
            for path in [*(path for log in self.logs.values() for path in log.segments()), *self.open_files()]:
                with suppress(FileNotFoundError):
                    total += path.stat().st_size
        return total

    def _open_file(self, ghap_id: str) -> Path:
        return self._open / f"{ghap_id}.json"

    def _remove(self, path: Path) -> None:
        with journal_errors(path):
            self._disk.remove(path)

    def open_files(self) -> list[Path]:
        """Return the files of the open entries, readable or not."""
        return matching(self._open, "*.json")
