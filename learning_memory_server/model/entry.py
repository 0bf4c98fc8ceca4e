"""The GHAP entry: an agent's belief, its prediction, and the outcome."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, NotRequired, TypedDict, Unpack

from learning_memory_server.errors import InvalidInputError
from learning_memory_server.model.advice import Citation
from learning_memory_server.model.scripts import words
from learning_memory_server.model.stored import Recorded, Stored
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, RootCauseCategory, Strategy, Tier


class Anchor(NamedTuple):
    """A file that an experience is about, at that time. Stored as an array in the journal, for speed.

    Earlier versions wrote digests of lines between `blob` and `is_read`: see `journal.codec`.
    """

    file: str  # its path in the project, with `/`
    blob: str = ""  # Git's id of its content, with normalized line endings
    is_read: bool = False  # whether it was only read, neither edited nor named


class Met(NamedTuple):
    """An error of commands while an entry was open. Stored as an array in the journal."""

    line: str  # including names; numbers, addresses and times are replaced by marks
    programs: str = ""  # the names of the failed programs, separated by spaces
    is_tied: bool = False  # whether the entry is about it; see `advice.ties`


@dataclass(frozen=True, slots=True)
class Run(Stored):
    """The result of a test or build command, on one line without paths. Of its output, only test counts are stored."""

    at: datetime
    command: str
    exit_status: int
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None

    def __str__(self) -> str:
        """Return `command: exit status, counts`."""
        counts = (("failed", self.failed), ("passed", self.passed), ("skipped", self.skipped))
        said = [f"{count} {word}" for word, count in counts if count]
        return f"{self.command}: {', '.join([f'exit {self.exit_status}', *said])}"


WEIGHTS: Final = {Tier.GOLD: 1.0, Tier.SILVER: 0.8, Tier.BRONZE: 0.5, Tier.ABANDONED: 0.2}
"""The weight of an experience in the centroid of a cluster, by tier."""


_TRIED: Final = ("hypothesis", "action", "prediction")  # The fields of an iteration
_VAGUE_BELOW_WORDS: Final = 4  # A hypothesis with fewer words is too vague to learn from
_TAUTOLOGY_JACCARD: Final = 0.8  # From this similarity on, a prediction only repeats the hypothesis


@dataclass(frozen=True, slots=True)
class RootCause(Stored):
    """The reason why the hypothesis was wrong."""

    category: RootCauseCategory
    description: str


@dataclass(frozen=True, slots=True)
class Lesson(Stored):
    """The lesson of an entry: what worked, which may be empty, and a rule for next time."""

    what_worked: str
    takeaway: str | None = None

    def __post_init__(self) -> None:
        if not (self.what_worked or self.takeaway):
            raise InvalidInputError(
                "lesson: at least one of what_worked and takeaway is required.", arguments=["lesson"]
            )


@dataclass(frozen=True, slots=True)
class Revision(Stored):
    """A replaced hypothesis, action and prediction, with the time, and the last confidence in the prediction."""

    at: datetime
    hypothesis: str
    action: str
    prediction: str
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Resolution(Stored):
    """The end of an entry, `auto_captured` if a tool recorded it; `cited` are items that helped or misled.

    `words` are the words of a person who contradicted the agent, on one line. They are evidence, and never advice.
    """

    status: OutcomeStatus
    result: str
    resolved_at: datetime
    surprise: str | None = None
    root_cause: RootCause | None = None
    lesson: Lesson | None = None
    auto_captured: bool = False
    cited: tuple[Citation, ...] = ()
    words: str = ""

    def require_explanation(self) -> None:
        """Raise InvalidInputError for a falsified hypothesis without surprise or root cause."""
        if self.status is not OutcomeStatus.FALSIFIED:
            return
        absent = [
            name for name, value in (("surprise", self.surprise), ("root_cause", self.root_cause)) if value is None
        ]
        if absent:
            raise InvalidInputError(
                f"{' and '.join(absent)}: required when status is falsified.",
                hint="Call resolve_ghap again with surprise (what contradicted the prediction) and "
                "root_cause {category, description} (why the hypothesis was wrong).",
                arguments=absent,
            )


class Beginning(TypedDict):
    """The fields of a new entry; see `Ghap`."""

    domain: Domain
    strategy: Strategy
    goal: str
    hypothesis: str
    action: str
    prediction: str
    confidence: NotRequired[float | None]


class Changes(TypedDict, total=False):
    """The changes to an open entry; see `Ghap`. None means no change."""

    hypothesis: str | None
    action: str | None
    prediction: str | None
    strategy: Strategy | None
    note: str | None
    confidence: float | None


class Outcome(TypedDict):
    """The fields of a resolution; see `Resolution`."""

    status: OutcomeStatus
    result: str
    surprise: NotRequired[str | None]
    root_cause: NotRequired[RootCause | None]
    lesson: NotRequired[Lesson | None]
    cited: NotRequired[tuple[Citation, ...]]
    words: NotRequired[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ghap(Recorded):
    """An entry. Immutable: every change creates a new object.

    An entry written `afterwards` made no prediction: it has no domain, strategy, action, prediction and confidence.
    """

    id: str  # `ghap_YYYYMMDD_HHMMSS_xxxxxx`
    project: str  # its project; never a path
    agent_session: str  # a hash of the session that owns it
    created_at: datetime
    domain: Domain | None = None
    strategy: Strategy | None = None
    goal: str
    hypothesis: str
    action: str = ""
    prediction: str = ""
    agent: str = ""  # The agent of the session that owns it; see `Caller.agent`. Empty if unknown.
    history: tuple[Revision, ...] = ()
    notes: tuple[str, ...] = ()
    orphaned: bool = False  # whether its session moved on to another entry while this one was open
    requests: tuple[str, ...] = ()  # the names of the calls that changed it; see `Caller.request`
    resolution: Resolution | None = None
    confidence: float | None = None  # the stated probability, 0 to 1, of the current prediction
    first_confidence: float | None = None  # the first confidence stated for the entry
    runs: tuple[Run, ...] = ()  # the last test and build commands while it was open, at most `limits.RUNS_MAX`
    anchors: tuple[Anchor, ...] = ()  # its files, determined after the resolution, at most `limits.ANCHORS_MAX`
    errors: tuple[Met, ...] = ()  # errors of its agent while it was open, at most `limits.ERRORS_MAX`
    afterwards: bool = False  # whether it was written after its outcome was known
    same_as: str = ""  # the id of the entry that it shares goal and hypothesis with, according to its agent
    split: bool = False  # whether a person has denied `same_as`

    def __post_init__(self) -> None:
        absent = [name for name in ("domain", "strategy") if getattr(self, name) is None]
        if absent and not self.afterwards:
            raise InvalidInputError(f"{', '.join(absent)}: missing.", arguments=absent)

    @property
    def repeats(self) -> str:
        """The id of the entry that it repeats, according to its agent; empty if there is none or a person denied it."""
        return "" if self.split else self.same_as

    @property
    def last_confidence(self) -> float | None:
        """The last confidence stated for any of its predictions."""
        stated = (*(revision.confidence for revision in self.history), self.confidence)
        return next((one for one in reversed(stated) if one is not None), None)

    @property
    def iteration_count(self) -> int:
        """The number of hypotheses, including the current one."""
        return 1 + len(self.history)

    @property
    def has_new_hypothesis(self) -> bool:
        """Whether the last revision replaced the hypothesis."""
        return bool(self.history) and self.history[-1].hypothesis != self.hypothesis

    @property
    def learned(self) -> str:
        """The lesson of a resolved entry: its takeaway, otherwise the root cause of a wrong hypothesis."""
        end = self.outcome
        takeaway = end.lesson.takeaway if end.lesson else None
        return takeaway or (end.root_cause.description if end.root_cause else "")

    @property
    def outcome(self) -> Resolution:
        """The resolution of a resolved entry. Raises ValueError for an open entry."""
        if self.resolution is None:
            raise ValueError(f"{self.id} is open")
        return self.resolution

    @property
    def tier(self) -> Tier:
        """The completeness of the entry; the first rule that matches wins.

        abandoned: the status is abandoned.

        bronze: the hypothesis has fewer than four words, or the same as the prediction (a Jaccard similarity of at
        least 0.8).

        silver: it was written afterwards.

        gold: confirmed with a lesson; falsified with surprise, root cause and lesson; or captured automatically.

        silver: the rest.
        """
        end = self.outcome
        if end.status is OutcomeStatus.ABANDONED:
            return Tier.ABANDONED
        hypothesis, prediction = words(self.hypothesis), words(self.prediction)
        if len(hypothesis) < _VAGUE_BELOW_WORDS or _jaccard(hypothesis, prediction) >= _TAUTOLOGY_JACCARD:
            return Tier.BRONZE
        if self.afterwards:
            return Tier.SILVER
        complete = end.lesson is not None and (
            end.status is OutcomeStatus.CONFIRMED or (end.surprise is not None and end.root_cause is not None)
        )
        return Tier.GOLD if complete or end.auto_captured else Tier.SILVER

    @property
    def weight(self) -> float:
        """The tier's weight, from 0.2 to 1."""
        return WEIGHTS[self.tier]

    def revised(self, at: datetime, **changes: Unpack[Changes]) -> Ghap:
        """Return the entry with the given fields replaced. If a statement changes, the old ones go to the history."""
        parts: dict[str, Any] = {
            name: str(part).strip() if name in _TRIED else part for name, part in changes.items() if part is not None
        }
        note = parts.pop("note", None)
        changed = replace(self, **parts)
        before = (self.hypothesis, self.action, self.prediction)
        if (changed.hypothesis, changed.action, changed.prediction) != before:
            revision = Revision(at, *before, self.confidence)
            changed = replace(changed, history=(*self.history, revision), confidence=parts.get("confidence"))
        if self.first_confidence is None:
            changed = replace(changed, first_confidence=changed.confidence)
        return replace(changed, notes=(*self.notes, note)) if note else changed


def new_ghap_id(at: datetime) -> str:
    """Return an id that sorts by time. Two ids of the same second collide once in 16 million."""
    return f"ghap_{at:%Y%m%d_%H%M%S}_{secrets.token_hex(3)}"


def _jaccard(left: list[str], right: list[str]) -> float:
    a, b = set(left), set(right)
    return len(a & b) / len(a | b) if a | b else 0.0
