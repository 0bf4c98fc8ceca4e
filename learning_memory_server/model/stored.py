"""The common parts of everything that the journal keeps."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

WRITTEN: Final = "written_project"  # In RAM alone: the project that a record was written under, if renamed


@dataclass(frozen=True, slots=True)
class Stored:
    """A thing that the journal keeps, or a part of it; `others` are parts of unknown names, kept for later."""

    others: Mapping[str, Any] = field(default_factory=dict, kw_only=True, hash=False)


@dataclass(frozen=True, slots=True)
class Recorded(Stored):
    """A thing with an id. If `imported`, search finds and marks it, and it is never shown without a question."""

    imported: bool = field(default=False, kw_only=True)
