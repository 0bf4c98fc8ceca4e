"""A person's answer about an item that agents get as advice only after approval."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from learning_memory_server.model.stored import Stored


class Said(StrEnum):
    """An answer."""

    YES = "yes"
    RULE = "rule"  # Approved, and in a file that clients load
    NEVER = "never"
    LATER = "later"
    UNDO = "undo"  # Undoes the previous answer


@dataclass(frozen=True, slots=True)
class Answer(Stored):
    """A person's answer. A later line replaces an earlier one."""

    id: str  # the id of the answered item
    project: str
    said: Said
    created_at: datetime
