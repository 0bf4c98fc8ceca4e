"""Entries as replies show them: only the fields named here, and absent ones left out."""

from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from learning_memory_server.journal.codec import lean
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap, Revision
from learning_memory_server.model.lines import preview
from learning_memory_server.server.views import fields

_IN_SHORT: Final = (
    *("id", "score", "goal", "outcome_status", "learned", "confidence_tier"),
    *("domain", "strategy", "project", "created_at", "shared"),
)


class RootCauseView(TypedDict):
    """Why a hypothesis was wrong."""

    category: str
    description: str


class LessonView(TypedDict):
    """What is worth doing again."""

    what_worked: NotRequired[str]
    takeaway: NotRequired[str]


class EntryKey(TypedDict):
    """Enough of an open entry to recognise it."""

    id: str
    goal: str
    created_at: str
    owner: NotRequired[str]


class OpenEntry(TypedDict, total=False):
    """A whole open entry."""

    id: str
    project: str
    created_at: str
    domain: str
    strategy: str
    goal: str
    hypothesis: str
    action: str
    prediction: str
    confidence: float
    first_confidence: float
    history: list[dict[str, Any]]
    notes: list[str]
    runs: list[str]
    iteration_count: int


class Summary(TypedDict):
    """A resolved entry in a list."""

    id: str
    goal: str
    domain: str
    strategy: str
    outcome_status: str
    confidence_tier: str
    iteration_count: int
    created_at: str
    resolved_at: str
    project: str
    freshness: NotRequired[str]
    superseded_by: NotRequired[str]


class Experience(TypedDict, total=False):
    """A whole resolved entry; only search results have a `score`.

    `freshness`: what became of the files that it is about, if they are not as they were. `superseded_by`: the later
    entry that it misled.
    """

    id: str
    score: float
    goal: str
    hypothesis: str
    action: str
    prediction: str
    outcome_status: str
    outcome_result: str
    surprise: str
    root_cause: RootCauseView
    lesson: LessonView
    confidence_tier: str
    domain: str
    strategy: str
    project: str
    created_at: str
    shared: str
    freshness: str
    superseded_by: str
    left_out: dict[str, str]


class WholeEntry(Experience, OpenEntry, total=False):
    """Everything about an entry; an open one has no outcome. `files`: what it is about."""

    resolved_at: str
    files: list[str]
    cited: list[dict[str, str]]


class Member(Experience, total=False):
    """An experience of a cluster. `ghap_id` is its `id`, under the name that other tools take it by."""

    ghap_id: str


class Paged(TypedDict):
    """The counts of every listing: `total` and `offset` if more items follow, `truncated` if the reply was cut short.

    `stored_text` says what the texts of the items are.
    """

    count: int
    total: NotRequired[int]
    offset: NotRequired[int]
    truncated: NotRequired[bool]
    stored_text: NotRequired[str]


def entry_key(entry: Ghap) -> dict[str, Any]:
    """Return enough of an open entry to recognise it."""
    return fields(EntryKey, entry)


def open_entry(entry: Ghap) -> dict[str, Any]:
    """Return an `OpenEntry`: nothing that only the journal needs, such as the session it belongs to."""
    history = [lean(fields(Revision, revision)) for revision in entry.history]
    return lean(fields(OpenEntry, entry, history=history, runs=[str(run) for run in entry.runs]))


def summary(entry: Ghap) -> dict[str, Any]:
    """Return a resolved entry as a list shows it."""
    outcome = entry.outcome
    return fields(Summary, entry, outcome, outcome_status=outcome.status, confidence_tier=entry.tier)


def experience(entry: Ghap, score: float | None = None) -> dict[str, Any]:
    """Return a whole resolved entry."""
    outcome, cause, lesson = entry.outcome, entry.outcome.root_cause, entry.outcome.lesson
    return lean(
        fields(
            Experience,
            entry,
            outcome,
            score=None if score is None else round(score, 4),
            outcome_status=outcome.status,
            outcome_result=outcome.result,
            root_cause=cause and fields(RootCauseView, cause),
            lesson=lesson and lean(fields(LessonView, lesson)),
            confidence_tier=entry.tier,
        )
    )


def short_experience(entry: Ghap, score: float) -> dict[str, Any]:
    """Return what tells whether a resolved entry is worth reading, with shortened texts."""
    lesson = entry.outcome.lesson
    learned = (lesson and (lesson.takeaway or lesson.what_worked)) or entry.outcome.surprise
    shown = experience(entry, score) | {
        "goal": preview(entry.goal, limits.SHORT_ENTRY_MAX),
        "learned": learned and preview(learned, limits.SHORT_ENTRY_MAX),
    }
    return lean({name: shown.get(name) for name in _IN_SHORT})


def whole_entry(entry: Ghap) -> dict[str, Any]:
    """Return a `WholeEntry`, open or resolved."""
    shown = open_entry(entry)
    if entry.resolution is None:
        return shown
    cited = [{"id": each.id, "effect": each.effect.value} for each in entry.resolution.cited]
    files = [anchor.file for anchor in entry.anchors]
    return (
        shown
        | experience(entry)
        | lean({"resolved_at": entry.resolution.resolved_at.isoformat(), "cited": cited, "files": files})
    )


def member(entry: Ghap) -> dict[str, Any]:
    """Return a resolved entry as a `Member`."""
    shown = experience(entry)
    return {"id": shown.pop("id"), "ghap_id": entry.id, **shown}
