"""A person's answer about a thing that agents get unsolicited only after a yes."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from learning_memory_server.model.stored import Stored


class Said(StrEnum):
    """An answer."""

    YES = "yes"
    RULE = "rule"  # Yes, and it stands in a file that clients load
    NEVER = "never"
    LATER = "later"
    UNDO = "undo"  # Takes the answer before back


@dataclass(frozen=True, slots=True)
class Answer(Stored):
    """A person's answer. A later line replaces an earlier one."""

    id: str  # the id of what it is about
    project: str
    said: Said
    created_at: datetime
