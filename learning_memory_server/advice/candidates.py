"""The candidates for advice, the state of the work that sources read, and the advice that results."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from learning_memory_server.model.advice import AdviceKind, Item, Reason
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.rule import Rule
from learning_memory_server.model.value import Value
from learning_memory_server.rules.session import Meeting

SCORE_DIGITS: Final = 3  # Decimal places of a score in the log: more would be noise of the model


@dataclass(frozen=True, slots=True)
class Observed:
    """The state of the work at a trigger: the sources read it."""

    line: str = ""  # the line that names a command's error
    question: str = ""  # what the command calls, and that line: lessons are looked for by it
    tools: frozenset[str] = frozenset()  # if it is in doubt that the command failed: terms of which a lesson has one
    failure: Failure | None = None  # to be recorded with what is shown
    file: str = ""  # the name of a file that was read, in its project
    place: str = ""  # the branch, the changed files and the folder, a line each
    patience: float = 0.0  # seconds to wait for a model and an index that are not ready yet


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that a source offers. `origin` is where it comes from: the error's line, or the goal of its entry."""

    thing: Ghap | Value | Rule
    reason: Reason
    origin: str = ""
    score: float | None = None
    others: tuple[str, ...] = field(default=(), compare=False)  # the ids of more entries about the same matter

    @property
    def id(self) -> str:
        """The id of the thing."""
        return self.thing.id

    @property
    def entry(self) -> Ghap:
        """The thing, which is an entry."""
        assert isinstance(self.thing, Ghap)
        return self.thing

    @property
    def rule(self) -> Rule:
        """The thing, which is a rule."""
        assert isinstance(self.thing, Rule)
        return self.thing

    @property
    def kind(self) -> AdviceKind:
        """The kind of the thing."""
        if isinstance(self.thing, Value):
            return AdviceKind.VALUE
        if isinstance(self.thing, Rule):
            return AdviceKind.RULE
        return AdviceKind.EXPERIENCE if self.thing.resolution else AdviceKind.ENTRY

    @property
    def shown(self) -> tuple[str, str]:
        """The thing, and what of it is shown; see `Item.shown`."""
        return self.id, self.reason.aspect

    def item(self) -> Item:
        """Return the candidate as an item of the log."""
        score = None if self.score is None else round(self.score, SCORE_DIGITS)
        return Item(self.id, self.kind, score=score, reason=self.reason)


class Permission(StrEnum):
    """The decisions that a client takes."""

    DENY = "deny"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on a call. An agent reads the reason of a denial, a person that of a question."""

    permission: Permission
    reason: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The advice at a trigger. `notice` explains why there is none, if the agent should know."""

    candidates: tuple[Candidate, ...] = ()
    text: str = ""  # as hooks print it
    line: str = ""  # for the person
    notice: str = ""
    decision: Decision | None = None
    meeting: Meeting = field(default_factory=Meeting)  # which rules the agent meets at an act; the decision is in words
