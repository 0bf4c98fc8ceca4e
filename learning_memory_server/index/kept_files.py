"""The points whose records were rewritten, in a file that survives the process."""

import json
from collections.abc import Iterable, Set as AbstractSet
from pathlib import Path

import structlog

from learning_memory_server.system import files

log = structlog.get_logger()


class OutdatedPoints:
    """The ids of points to rebuild because their records were rewritten. The file exists only if there are any."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def ids(self) -> frozenset[str]:
        """Return the ids."""
        try:
            return frozenset(map(str, json.loads(files.content(self._path))))
        except FileNotFoundError:
            return frozenset()
        except (OSError, ValueError, TypeError, RecursionError) as error:
            log.warning("outdated.unreadable", type=type(error).__name__)
            return frozenset()

    def add(self, ids: Iterable[str]) -> None:
        """Add ids, and wait for the disk."""
        if new := self.ids().union(ids):
            files.replace(self._path, json.dumps(sorted(new)).encode())

    def discard(self, ids: AbstractSet[str]) -> None:
        """Remove the ids of points that were rebuilt."""
        if left := self.ids() - ids:
            files.replace(self._path, json.dumps(sorted(left)).encode())
        else:
            files.remove(self._path)
