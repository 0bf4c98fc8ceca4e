"""What everything that the journal keeps has, and each part of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

WRITTEN: Final = "written_project"
"""Under this name, in RAM alone: the project that a record was written under, where it is read as another."""


@dataclass(frozen=True, slots=True)
class Stored:
    """Something that the journal keeps, or a part of it that is an object there.

    Args:
        others: What was stored in it under names that this program does not know. A later one wrote it, and finds it
            there again, whatever is done with the record in between.
    """

    others: Mapping[str, Any] = field(default_factory=dict, kw_only=True, hash=False)


@dataclass(frozen=True, slots=True)
class Recorded(Stored):
    """Something that the journal keeps under an id of its own.

    Args:
        imported: Whether it came with an archive that no person has called their own. It is found by search, marked,
            and told to no agent without a question.
    """

    imported: bool = field(default=False, kw_only=True)
