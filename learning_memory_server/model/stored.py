"""The common base of everything in the journal."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

WRITTEN: Final = "written_project"  # Only in RAM: the project under which a record was written, if renamed


@dataclass(frozen=True, slots=True)
class Stored:
    """A record in the journal, or a part of one; `others` are fields unknown to this version, which are preserved."""

    others: Mapping[str, Any] = field(default_factory=dict, kw_only=True, hash=False)


@dataclass(frozen=True, slots=True)
class Recorded(Stored):
    """A record with an id. If `imported`, searches find and mark it, but agents never get it as advice."""

    imported: bool = field(default=False, kw_only=True)
