"""The candidates for advice, the state of the work that sources read, and the resulting advice."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from learning_memory_server.model.advice import AdviceKind, Item, Reason
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.failure import Failure
from learning_memory_server.model.rule import Rule
from learning_memory_server.model.value import Value
from learning_memory_server.rules.session import Meeting

SCORE_DIGITS: Final = 3  # Decimal places of a score in the log: further ones are noise


@dataclass(frozen=True, slots=True)
class Observed:
    """The state of the work at a trigger, for sources."""

    line: str = ""  # the line that identifies a command's error
    question: str = ""  # the search text: the call of the command, and the error line
    tools: frozenset[str] = frozenset()  # if a failure is uncertain: terms, one of which a lesson must have
    failure: Failure | None = None  # to be recorded with the advice
    file: str = ""  # the path of a file that was read, relative to its project
    place: str = ""  # the branch, the changed files and the folder, one per line
    patience: float = 0.0  # seconds to wait for a model and an index that are not ready yet


@dataclass(frozen=True, slots=True)
class Candidate:
    """An item offered by a source. `origin` is the error's line, the name of the file, or the goal of its entry."""

    thing: Ghap | Value | Rule
    reason: Reason
    origin: str = ""
    score: float | None = None
    others: tuple[str, ...] = field(default=(), compare=False)  # the ids of more entries about the same matter

    @property
    def id(self) -> str:
        """The id of the item."""
        return self.thing.id

    @property
    def entry(self) -> Ghap:
        """The item as an entry."""
        assert isinstance(self.thing, Ghap)
        return self.thing

    @property
    def rule(self) -> Rule:
        """The item as a rule."""
        assert isinstance(self.thing, Rule)
        return self.thing

    @property
    def kind(self) -> AdviceKind:
        """The kind of the item."""
        if isinstance(self.thing, Value):
            return AdviceKind.VALUE
        if isinstance(self.thing, Rule):
            return AdviceKind.RULE
        return AdviceKind.EXPERIENCE if self.thing.resolution else AdviceKind.ENTRY

    @property
    def shown(self) -> tuple[str, str]:
        """The id of the item and the aspect that is shown; see `Item.shown`."""
        return self.id, self.reason.aspect

    def item(self) -> Item:
        """Return the candidate as an item of the log."""
        score = None if self.score is None else round(self.score, SCORE_DIGITS)
        return Item(self.id, self.kind, score=score, reason=self.reason)


class Permission(StrEnum):
    """The decisions that a client accepts."""

    DENY = "deny"
    ASK = "ask"


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on a call. The agent reads the reason if the call is denied, the person if it is asked about."""

    permission: Permission
    reason: str


@dataclass(frozen=True, slots=True)
class Shown:
    """The advice at a trigger. `notice` explains its absence, if the agent should know."""

    candidates: tuple[Candidate, ...] = ()
    text: str = ""  # as hooks print it
    line: str = ""  # for the person
    notice: str = ""
    decision: Decision | None = None
    meeting: Meeting = field(default_factory=Meeting)  # the rules that apply to the act; `decision` has the texts
