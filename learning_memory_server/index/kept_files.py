"""The files that the index keeps: what it had of the journal, and which of its points are outdated.

A mark says what the index had when it was last flushed, so that a start compares only what is new. It is kept with the
points. It names a position in the journal, and is kept only if everything before that was looked up in the index
afterwards, and nothing was written or removed until the index was flushed. So whatever happens later, at most what lies
behind the position can be missing. A start believes a mark if the journal still has the same bytes before the position,
if no record behind it is forgotten, and if each collection has as many points as then, and those of new records that
are there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from contextlib import suppress
from pathlib import Path

import msgspec
import structlog

from learning_memory_server.system import files

log = structlog.get_logger()


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


class OutdatedPoints:
    """The ids of points that must be rebuilt because their records were rewritten.

    They are in a file that outlasts the process, and exists only while there are such points.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def ids(self) -> frozenset[str]:
        """Return the ids."""
        try:
            return frozenset(map(str, json.loads(self._path.read_bytes())))
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError, TypeError) as error:
            log.warning("outdated.unreadable", type=type(error).__name__)
            return frozenset()

    def add(self, ids: Iterable[str]) -> None:
        """Add ids, and wait for the disk."""
        if new := self.ids().union(ids):
            files.replace(self._path, json.dumps(sorted(new)).encode())

    def discard(self, ids: AbstractSet[str]) -> None:
        """Remove ids whose points have been rebuilt."""
        if left := self.ids() - ids:
            files.replace(self._path, json.dumps(sorted(left)).encode())
        else:
            files.remove(self._path)
