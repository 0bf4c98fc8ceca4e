"""Advice for agents: the triggers, the items shown, and their effects."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from learning_memory_server.model.stored import Recorded, Stored


class TriggerKind(StrEnum):
    """The kinds of events in an agent's session. Some only update the state, and never show advice."""

    SESSION_START = "context"
    SESSION_END = "end"
    LOADED = "loaded"  # The client has loaded an instruction file
    PROMPT = "prompt"
    SUBAGENT_TASK = "task"  # A subagent is about to get a task
    SUBAGENT_START = "subagent"
    ENTRY_START = "start"
    ENTRY_UPDATE = "update"
    CALL = "call"  # A command or an edit is about to run
    COMMAND = "command"  # A command has ended
    ERROR = "error"  # A command has failed
    FILE = "file"  # A file was read or edited
    STOP = "stop"  # The main agent is about to end its work
    SUBAGENT_STOP = "subagent_stop"
    HOOK = "hook"  # In earlier journals: a prompt, an error or a file


class AdviceKind(StrEnum):
    """The kinds of items that are shown or cited."""

    EXPERIENCE = "experience"
    VALUE = "value"
    ENTRY = "entry"  # An open entry
    MEMORY = "memory"  # Only cited
    RULE = "rule"  # A sentence that a person has accepted


class Effect(StrEnum):
    """An agent's judgement of an item when it resolves its entry."""

    HELPED = "helped"
    MISLED = "misled"


class Reason(StrEnum):
    """The reasons to show an item."""

    SIMILAR = "similar"  # Its text is similar to goal and hypothesis, or to the prompt
    TERMS = "terms"  # It shares their rare terms, which count more than the similarity
    BOTH = "both"  # Its text is similar enough only together with shared rare terms
    ERROR = "error"  # It is tied to the error of a failed command
    FILE = "file"  # It is about the file that was read
    PLACE = "place"  # It names the branch, a changed file or the folder
    OPEN = "open"  # It is open, and belongs to the agent or has no active owner
    ELSEWHERE = "elsewhere"  # It is open, and another agent works on it
    UNRESOLVED = "unresolved"  # It is open, and the agent is about to end its work
    HELPED = "helped"  # It is one of the most helpful lessons
    RULE = "rule"  # It is a person's rule
    IN_FORCE = "in_force"  # In earlier journals: one of the project's best values in force
    LATEST = "latest"  # In earlier journals: one of the project's latest lessons

    @property
    def aspect(self) -> str:
        """The aspect of the item that is shown. An entry that was shown while open may be shown again once resolved."""
        if self in {Reason.OPEN, Reason.ELSEWHERE, Reason.UNRESOLVED}:
            return "unresolved" if self is Reason.UNRESOLVED else "open"
        return "lesson"


@dataclass(frozen=True, slots=True)
class Citation(Stored):
    """An item that helped or misled an agent, as cited when the agent resolves its entry."""

    id: str
    kind: AdviceKind
    effect: Effect


@dataclass(frozen=True, slots=True)
class Item(Stored):
    """An item of advice."""

    id: str
    kind: AdviceKind
    score: float | None = None  # an experience's score, or a value's closeness; None if not compared
    reason: Reason | None = None
    effect: Effect | None = None  # In earlier journals: whether it helped or misled. Now the entry contains it

    @property
    def shown(self) -> tuple[str, str]:
        """The id of the item, and the aspect that was shown."""
        return self.id, self.reason.aspect if self.reason else "lesson"


@dataclass(frozen=True, slots=True)
class Advice(Recorded):
    """The advice for an agent at one trigger: a log line that is never rewritten."""

    channel: TriggerKind
    items: tuple[Item, ...]
    project: str
    created_at: datetime
    ghap_id: str = ""  # the agent's open entry; empty if it had none
    revision: int = 0  # the entry's iteration, from 1
    session: str = ""  # a hash of the agent's session; empty in earlier journals
    context: str = ""  # a hash of the client's name for the session, if different
    agent: str = ""  # the agent of the session; see `Caller.agent`
    key: str = ""  # identifies the trigger: if it recurs, this line is the answer

    @property
    def id(self) -> str:
        """An id that depends only on the trigger."""
        if self.session:
            return advice_id(self.session, self.context, self.agent, self.channel, self.key or self.created_at)
        return advice_id(self.ghap_id, self.revision, self.channel)  # The scheme of earlier versions


def advice_id(*parts: object) -> str:
    """Return the id of the advice at a trigger, which these parts identify."""
    return f"advice_{hashlib.sha256(' '.join(map(str, parts)).encode()).hexdigest()[:24]}"
