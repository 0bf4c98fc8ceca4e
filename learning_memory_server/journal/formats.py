"""The versions of the journal's form, and how what earlier programs wrote is read.

Every line and every open file says which version it was written in. Reading brings its data forward, one version
at a time; no file is rewritten for that. What is newer than the program is refused, and nothing is changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeGuard

from learning_memory_server.errors import JournalUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

Upgrade = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Takes a kind and its data, and returns the data as the next version has it. It changes nothing."""


@dataclass(frozen=True, slots=True)
class Format:
    """A version of the form, and the way to it from all earlier ones.

    Args:
        upgrades: The one at place n leads from version n + 1 to n + 2. A new version is a new upgrade at the end,
            so the version and the way to it cannot disagree.
    """

    upgrades: tuple[Upgrade, ...] = ()

    @property
    def version(self) -> int:
        """The version that is written, and the newest that is read."""
        return 1 + len(self.upgrades)

    def refuse_newer(self, version: int) -> None:
        """Refuse a form that this program does not know.

        Raises:
            JournalUnavailableError: If the version is above this one.
        """
        if version > self.version:
            raise JournalUnavailableError(
                f"The journal has entries of format {version}; this program reads up to {self.version}.",
                hint="Update learning-memory-server; nothing was changed.",
            )

    def upgraded(self, kind: str, data: dict[str, Any], version: int) -> dict[str, Any]:
        """Return data of an earlier version, at least 1, as this version has it."""
        # A tombstone looks the same for ever: an upgrade expects what the kind usually says.
        if is_tombstone(data):
            return data
        for upgrade in self.upgrades[version - 1 :]:
            data = upgrade(kind, data)
        return data


CURRENT: Final = Format()
"""The form of this program."""

TOMBSTONE: Final[Mapping[str, Any]] = {"forgotten": True}
"""The data of a line which says that its id is forgotten, whatever other lines there are about it."""


def is_tombstone(data: object) -> bool:
    """Tell whether the data is a tombstone's."""
    return isinstance(data, dict) and data.get("forgotten") is True


def is_version(version: object) -> TypeGuard[int]:
    """Tell whether this can be a version. True is a number to Python, and none here."""
    return isinstance(version, int) and not isinstance(version, bool) and version >= 1
