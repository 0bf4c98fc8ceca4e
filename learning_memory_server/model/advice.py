"""Advice: unsolicited lessons about an entry, and whether they helped."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from learning_memory_server.model.stored import Recorded, Stored


class Channel(StrEnum):
    """How advice reaches an agent."""

    START = "start"
    UPDATE = "update"
    HOOK = "hook"
    CONTEXT = "context"


class AdviceKind(StrEnum):
    """A kind of shown or cited thing."""

    EXPERIENCE = "experience"
    VALUE = "value"
    MEMORY = "memory"  # Only cited


class Effect(StrEnum):
    """An agent's judgement of a shown or found thing, when it resolves its entry."""

    HELPED = "helped"
    MISLED = "misled"


class Reason(StrEnum):
    """Why something is shown."""

    SIMILAR = "similar"  # What it says is near enough to goal and hypothesis, or to the prompt
    TERMS = "terms"  # It has their rare terms, which count more than what it says
    BOTH = "both"  # What it says is near enough only together with its rare terms
    IN_FORCE = "in_force"  # It is one of the project's best values in force, whatever the session is about
    LATEST = "latest"  # It is one of the project's latest lessons, whatever the session is about
    ERROR = "error"  # It is about the very error that a command failed with


@dataclass(frozen=True, slots=True)
class Citation(Stored):
    """A thing that an agent found, such as by a search, and that helped or misled it."""

    id: str
    kind: AdviceKind
    effect: Effect


@dataclass(frozen=True, slots=True)
class Item(Stored):
    """One thing that was shown."""

    id: str
    kind: AdviceKind
    effect: Effect | None = None  # whether it helped or misled; None if unknown
    score: float | None = None  # an experience's score, or a value's cosine; None without a comparison
    reason: Reason | None = None  # why it was chosen


@dataclass(frozen=True, slots=True)
class Advice(Recorded):
    """The things shown about an entry on one channel. A later line replaces an earlier one."""

    ghap_id: str
    revision: int  # which of its iterations, from 1
    channel: Channel
    items: tuple[Item, ...]  # what was shown
    project: str
    created_at: datetime

    @property
    def id(self) -> str:
        """The id of this entry, iteration and channel together, so that there is one record for them."""
        return advice_id(self.ghap_id, self.revision, self.channel)


def advice_id(ghap_id: str, revision: int, channel: Channel) -> str:
    """Return the id of the advice on an entry's iteration through a channel: the same for the same three, anywhere."""
    return f"advice_{hashlib.sha256(f'{ghap_id} {revision} {channel}'.encode()).hexdigest()[:24]}"
