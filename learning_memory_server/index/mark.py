"""What an index had of the journal when it was last flushed, so that a start compares only what is new.

A mark is kept with the points. It names a position in
the journal, and is kept only if everything before that was looked up in the index afterwards, and nothing was written
or removed until the index was flushed. So whatever happens later, at most what lies behind the position can be missing.
A start believes a mark if the journal still has the same bytes before the position, if no record behind it is
forgotten, and if each collection has as many points as then, and those of new records that are there.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import msgspec

from learning_memory_server.system import files


class Mark(msgspec.Struct):
    """What the index had of the journal."""

    made_by: str  # what the documents depend on, besides the journal and the recipes
    journal: dict[str, tuple[int, str]]  # how far it was compared; see `Position.marks`
    counts: dict[str, int]  # how many points each collection had
    superfluous: int  # how many of them belonged to no record

    @classmethod
    def read(cls, file: Path) -> Mark | None:
        """Return the mark in a file, or None if it has none that can be read."""
        try:
            return msgspec.json.decode(file.read_bytes(), type=cls)
        except (OSError, msgspec.MsgspecError):
            return None

    def keep(self, file: Path) -> None:
        """Write the mark to a file. Without it, or with an earlier one, the next start compares more."""
        with suppress(OSError):
            files.replace(file, msgspec.json.encode(self))
