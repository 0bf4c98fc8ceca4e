"""What is found in a log: records, damage, and what is forgotten."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from learning_memory_server.journal.record import JournalRecord


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that could not be read. `torn` is true of an unfinished last line: a crash during a write."""

    path: Path
    line_number: int
    reason: str
    torn: bool


@dataclass(frozen=True, slots=True)
class Line:
    """A line as it stands in its file, and what it says or why it cannot be read."""

    path: Path
    text: bytes
    record: JournalRecord | None
    damage: Damage | None = None


@dataclass(frozen=True, slots=True)
class LogContent:
    """What a log holds.

    Args:
        records: Its readable records, oldest first. Nothing of what is forgotten is among them.
        damage: The lines that cannot be read.
        forgotten: The kind and the id of everything that is forgotten.
        tombstones: The lines that say so; some say more, such as how many points there were.
    """

    records: list[JournalRecord] = field(default_factory=list)
    damage: list[Damage] = field(default_factory=list)
    forgotten: set[tuple[str, str]] = field(default_factory=set)
    tombstones: list[JournalRecord] = field(default_factory=list)

    @classmethod
    def of(cls, lines: Iterable[Line]) -> LogContent:
        """Return what the lines of a log say together."""
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

    def forgotten_ids(self, kind: str) -> set[str]:
        """Return the forgotten ids of a kind."""
        return {record_id for forgotten, record_id in self.forgotten if forgotten == kind}


@dataclass(frozen=True, slots=True)
class Purge:
    """What a purge did.

    Args:
        removed: How many lines each file has lost.
        doubtful: Files with bytes that cannot be read, which may therefore hold what is forgotten: they are as
            they were, and for a person to look at. None if nothing is forgotten.
    """

    removed: dict[Path, int] = field(default_factory=dict)
    doubtful: list[Path] = field(default_factory=list)
