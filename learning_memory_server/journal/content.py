"""The content of a log: records, damage, and what is forgotten."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from learning_memory_server.journal.line import JournalRecord


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that could not be read. `torn` marks an unfinished last line: a crash during a write."""

    path: Path
    line_number: int
    reason: str
    torn: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line as its file has it, with its record or the reason why it cannot be read."""

    path: Path
    text: bytes
    record: JournalRecord | None
    damage: Damage | None = None


@dataclass(frozen=True, slots=True)
class LogContent:
    """The content of a log.

    Args:
        records: The readable records, oldest first, without those that are forgotten.
        forgotten: The kind and the id of everything that is forgotten.
        tombstones: The records that say so; some say more, such as how many points a memory had.
    """

    records: list[JournalRecord] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    forgotten: set[tuple[str, str]] = field(default_factory=set)
    tombstones: list[JournalRecord] = field(default_factory=list)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> LogContent:
        """Return what the lines of a log add up to."""
        content = cls()
        for line in lines:
            if line.damage:
                content.damage.append(line.damage)
            elif line.record and line.record.is_tombstone:
                content.forgotten.add((line.record.kind, line.record.id))
                content.tombstones.append(line.record)
            elif line.record:
                content.records.append(line.record)
        gone = content.forgotten
        if gone:
            content.records[:] = [said for said in content.records if (said.kind, said.id) not in gone]
        return content


@dataclass(frozen=True, slots=True)
class Purge:
    """What a purge did.

    Args:
        removed: How many lines were removed from each file.
        doubtful: Files with unreadable bytes, which may contain forgotten data. They are unchanged; a person
            should look at them. Empty if nothing is forgotten.
    """

    removed: dict[Path, int] = field(default_factory=dict)
    doubtful: list[Path] = field(default_factory=list)
