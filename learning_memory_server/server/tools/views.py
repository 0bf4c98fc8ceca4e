"""Entries as replies show them: lean, with absent parts left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.journal.codec import ghap_to_data, lean

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap


class RootCauseView(TypedDict):
    """Why a hypothesis was wrong."""

    category: str
    description: str


class LessonView(TypedDict):
    """What is worth doing again."""

    what_worked: str
    takeaway: NotRequired[str]


class EntryKey(TypedDict):
    """Enough of an open entry to recognise it."""

    id: str
    goal: str
    created_at: str


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


class Experience(TypedDict, total=False):
    """A whole resolved entry; `score` stands with search results only."""

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
    left_out: dict[str, str]


class Paged(TypedDict):
    """What every listing says. `total` and `offset` where more items follow; `truncated` where it was cut."""

    count: int
    total: NotRequired[int]
    offset: NotRequired[int]
    truncated: NotRequired[bool]


def entry_key(entry: Ghap) -> dict[str, Any]:
    """Return enough of an open entry to recognise it."""
    return {"id": entry.id, "goal": entry.goal, "created_at": entry.created_at.isoformat()}


def open_entry(entry: Ghap) -> dict[str, Any]:
    """Return a whole open entry."""
    data = ghap_to_data(entry)
    return {
        **{
            name: value
            for name, value in data.items()
            if name not in ("agent_session", "orphaned", "requests")
        },
        "iteration_count": entry.iteration_count,
    }


def summary(entry: Ghap) -> dict[str, Any]:
    """Return a resolved entry as a list shows it."""
    return {
        "id": entry.id,
        "goal": entry.goal,
        "domain": entry.domain.value,
        "strategy": entry.strategy.value,
        "outcome_status": entry.outcome.status.value,
        "confidence_tier": entry.tier.value,
        "iteration_count": entry.iteration_count,
        "created_at": entry.created_at.isoformat(),
        "resolved_at": entry.outcome.resolved_at.isoformat(),
        "project": entry.project,
    }


def experience(entry: Ghap, score: float | None = None) -> dict[str, Any]:
    """Return a whole resolved entry."""
    data = ghap_to_data(entry)
    end = data["resolution"]
    return lean(
        {
            "id": entry.id,
            "score": None if score is None else round(score, 4),
            "goal": entry.goal,
            "hypothesis": entry.hypothesis,
            "action": entry.action,
            "prediction": entry.prediction,
            "outcome_status": end["status"],
            "outcome_result": end["result"],
            "surprise": end.get("surprise"),
            "root_cause": end.get("root_cause"),
            "lesson": end.get("lesson"),
            "confidence_tier": entry.tier.value,
            "domain": data["domain"],
            "strategy": data["strategy"],
            "project": entry.project,
            "created_at": data["created_at"],
        }
    )
