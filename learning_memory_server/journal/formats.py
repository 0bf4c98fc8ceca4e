"""The versions of the journal's format, and how lines of earlier versions are read.

Every line and every open file names the version it was written in. Reading upgrades its data one version at a time and
rewrites no file. Anything newer than this program is refused, and nothing is changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from learning_memory_server.errors import JournalUnavailableError

Upgrade = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Takes a kind and its data, and returns the data in the next version's form, without changing its argument."""


@dataclass(frozen=True, slots=True)
class Format:
    """A version of the format, and the upgrades that lead to it.

    Args:
        upgrades: The upgrade at index n leads from version n + 1 to n + 2. A new version is a new upgrade at the
            end, so version and upgrades cannot disagree.
    """

    upgrades: tuple[Upgrade, ...] = ()

    @property
    def version(self) -> int:
        """The version that is written, and the newest that can be read."""
        return 1 + len(self.upgrades)

    def refuse_newer(self, version: int) -> None:
        """Refuse a version that this program does not know."""
        if version > self.version:
            raise JournalUnavailableError(
                f"The journal has entries of format {version}; this program reads up to {self.version}.",
                hint="Update learning-memory-server; nothing was changed.",
            )

    def upgraded(self, kind: str, data: dict[str, Any], version: int) -> dict[str, Any]:
        """Return data of version `version`, at least 1, in this version's form."""
        # Tombstones never change, and upgrades expect the usual data of a kind.
        if is_tombstone(data):
            return data
        for upgrade in self.upgrades[version - 1 :]:
            data = upgrade(kind, data)
        return data


def _without_outcomes(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return version 1 in the form of version 2.

    Version 2 has verdicts. In version 1 a value had a radius, within which later entries counted for or against it by
    how they ended; `earlier` says that a value is from there.
    """
    if kind != "value" or not isinstance(data.get("evidence"), dict):
        return data
    kept = {name: part for name, part in data["evidence"].items() if name not in {"radius", "outcome"}}
    return {**data, "evidence": kept, "earlier": True}


def _unchanged(_kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """Return data in the form of a version that only has a kind more.

    Version 3 has advice: what was shown about entries, and what came of it. Version 4 has failures of commands.
    """
    return data


CURRENT: Final = Format((_without_outcomes, _unchanged, _unchanged))
"""The version that this program writes."""

TOMBSTONE: Final[Mapping[str, Any]] = {"forgotten": True}
"""The data of a line that marks its id as forgotten, whatever other lines say about it."""


_VERSION: Final = re.compile(rb',"v":(\d{1,9})\}\n')
"""The end of a line: keys are sorted, so the version comes last."""


def versions_of(lines: bytes) -> Iterator[int]:
    """Yield the version of each line, from its end alone."""
    for match in _VERSION.finditer(lines):
        yield int(match[1])


def is_tombstone(data: object) -> bool:
    """Return whether this is a tombstone's data."""
    return isinstance(data, dict) and data.get("forgotten") is True


def is_version(version: object) -> TypeGuard[int]:
    """Return whether this can be a version. True is an int in Python; here it is not a version."""
    return isinstance(version, int) and not isinstance(version, bool) and version >= 1
