"""What agents are shown unasked: what occurred, what was shown, and whether it helped."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from learning_memory_server.model.stored import Recorded, Stored


class TriggerKind(StrEnum):
    """What occurs in an agent's session. At some of these nothing is shown, but something is learned."""

    SESSION_START = "context"
    SESSION_END = "end"
    LOADED = "loaded"  # The client has loaded a file of rules
    PROMPT = "prompt"
    SUBAGENT_TASK = "task"  # A subagent is about to get a task
    SUBAGENT_START = "subagent"
    ENTRY_START = "start"
    ENTRY_UPDATE = "update"
    CALL = "call"  # A command or an edit is about to be run
    COMMAND = "command"  # A command has ended
    ERROR = "error"  # A command has failed
    FILE = "file"  # A file was read or edited
    STOP = "stop"  # The main agent is about to end its work
    SUBAGENT_STOP = "subagent_stop"
    HOOK = "hook"  # In earlier journals: a prompt, an error or a file


class AdviceKind(StrEnum):
    """A kind of thing that is shown or cited."""

    EXPERIENCE = "experience"
    VALUE = "value"
    ENTRY = "entry"  # An open entry
    MEMORY = "memory"  # Only cited
    RULE = "rule"  # A sentence that a person has accepted


class Effect(StrEnum):
    """An agent's judgement of a shown or found thing, when it resolves its entry."""

    HELPED = "helped"
    MISLED = "misled"


class Reason(StrEnum):
    """Why something is shown."""

    SIMILAR = "similar"  # What it says is near enough to goal and hypothesis, or to the prompt
    TERMS = "terms"  # It has their rare terms, which count more than what it says
    BOTH = "both"  # What it says is near enough only together with its rare terms
    ERROR = "error"  # It is about the very error that a command failed with
    FILE = "file"  # It is about the file that was read
    PLACE = "place"  # It names the branch, a changed file or the folder
    OPEN = "open"  # It is open, and the agent's or nobody's
    ELSEWHERE = "elsewhere"  # It is open, and somebody else is at work on it
    UNRESOLVED = "unresolved"  # It is open, and the agent is about to end its work
    HELPED = "helped"  # It helped others most
    RULE = "rule"  # A person wants it to be known here
    IN_FORCE = "in_force"  # In earlier journals: one of the project's best values in force
    LATEST = "latest"  # In earlier journals: one of the project's latest lessons

    @property
    def aspect(self) -> str:
        """What of a thing is shown: an entry that was shown as open teaches something new once it is resolved."""
        if self in {Reason.OPEN, Reason.ELSEWHERE, Reason.UNRESOLVED}:
            return "unresolved" if self is Reason.UNRESOLVED else "open"
        return "lesson"


@dataclass(frozen=True, slots=True)
class Citation(Stored):
    """A thing that helped or misled an agent, as it says when it resolves its entry."""

    id: str
    kind: AdviceKind
    effect: Effect


@dataclass(frozen=True, slots=True)
class Item(Stored):
    """One thing that was shown."""

    id: str
    kind: AdviceKind
    score: float | None = None  # an experience's score, or a value's closeness; None without a comparison
    reason: Reason | None = None
    effect: Effect | None = None  # In earlier journals: whether it helped or misled. Now the entry says that

    @property
    def shown(self) -> tuple[str, str]:
        """The thing, and what of it was shown."""
        return self.id, self.reason.aspect if self.reason else "lesson"


@dataclass(frozen=True, slots=True)
class Advice(Recorded):
    """What an agent was shown at one trigger: a line of the log that is never rewritten."""

    channel: TriggerKind
    items: tuple[Item, ...]
    project: str
    created_at: datetime
    ghap_id: str = ""  # the agent's open entry; empty if it had none
    revision: int = 0  # which iteration of the entry it was, from 1
    session: str = ""  # a hash of the agent's session; empty in earlier journals
    context: str = ""  # a hash of the client's name of the session, where it is another one
    agent: str = ""  # which agent of the session, see `Caller.agent`
    key: str = ""  # what makes the trigger unique: the same trigger again is answered from this line

    @property
    def id(self) -> str:
        """The same for the same trigger, anywhere."""
        if self.session:
            return advice_id(self.session, self.context, self.agent, self.channel, self.key or self.created_at)
        return advice_id(self.ghap_id, self.revision, self.channel)  # As earlier versions did


def advice_id(*parts: object) -> str:
    """Return the id of the advice at a trigger that these parts make unique."""
    return f"advice_{hashlib.sha256(' '.join(map(str, parts)).encode()).hexdigest()[:24]}"
