"""Entries as replies show them: lean, with absent parts left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.journal.codec import ghap_to_data, lean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.values.likeness import Likeness
    from learning_memory_server.values.standing import Standing
    from learning_memory_server.values.store import Trial

_MEMBER_IDS_SHOWN = 5


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


class ValueEvidence(TypedDict):
    """What a value was judged by: distances are 1 - cosine; the most central experiences."""

    similarity: float
    centroid_distance: float
    threshold: float
    member_ids: list[str]


class SupportView(TypedDict):
    """What experience says of a value: `strength` (0-1) is the lower 95 % bound of the share that bears it out.

    `contested`: more experiences contradict it than bear it out, since `contested_since`; `contradicted_by` names the
    newest.
    """

    strength: float
    supporting: int
    contradicting: int
    contested: bool
    contested_since: NotRequired[str]
    contradicted_by: NotRequired[list[str]]


class SimilarValue(TypedDict):
    """A value that says nearly the same; `similarity` is the cosine of the two texts."""

    id: str
    text: str
    similarity: float


class ListedValue(TypedDict):
    """A value that was accepted; `cluster_size` is as it was then."""

    id: str
    text: str
    axis: str
    cluster_id: str
    cluster_size: int
    project: str
    created_at: str
    evidence: ValueEvidence
    support: SupportView
    supersedes: NotRequired[str]
    superseded_by: NotRequired[str]


class StoredValue(ListedValue):
    """The value that was stored; `similar` where there are others that say nearly the same."""

    similar: NotRequired[list[SimilarValue]]


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


def value(standing: Standing) -> dict[str, Any]:
    """Return a value with its evidence, without the vector, and how it stands."""
    stored, support = standing.value, standing.support
    evidence = stored.evidence
    return lean(
        {
            "id": stored.id,
            "text": stored.text,
            "axis": stored.cluster_id.axis.value,
            "cluster_id": str(stored.cluster_id),
            "cluster_size": len(evidence.member_ids),
            "project": stored.project,
            "created_at": stored.created_at.isoformat(),
            "evidence": {
                "similarity": round(evidence.similarity, 4),
                "centroid_distance": round(evidence.centroid_distance, 4),
                "threshold": round(evidence.threshold, 4),
                "member_ids": list(evidence.member_ids[:_MEMBER_IDS_SHOWN]),
            },
            "support": lean(
                {
                    "strength": round(support.strength, 3),
                    "supporting": support.supporting,
                    "contradicting": support.contradicting,
                    "contested": support.is_contested,
                    "contested_since": standing.contested_since and standing.contested_since.isoformat(),
                    "contradicted_by": list(standing.contradicting[: -_MEMBER_IDS_SHOWN - 1 : -1]),
                }
            ),
            "supersedes": stored.supersedes,
            "superseded_by": standing.superseded_by,
        }
    )


def similar(found: Iterable[Likeness]) -> list[dict[str, Any]]:
    """Return values that say nearly the same as a text."""
    return [
        {"id": each.value.id, "text": each.value.text, "similarity": round(each.similarity, 4)}
        for each in found
    ]


def verdict(trial: Trial) -> dict[str, Any]:
    """Return what became of a text that was tried as a value."""
    # Its figures need numpy, which a listing does not.
    from learning_memory_server.values.rule import MARGIN, SEED_DEVIATIONS  # noqa: PLC0415

    judged = trial.judgement
    return lean(
        {
            "valid": judged.valid,
            "similarity": round(judged.similarity, 4),
            "centroid_distance": round(judged.centroid_distance, 4),
            "threshold": round(judged.threshold, 4),
            "seed_rule": {
                "mean": round(judged.mean, 4),
                "std": round(judged.deviation, 4),
                "k": SEED_DEVIATIONS,
                "threshold": round(judged.seed_threshold, 4),
            },
            "rival": judged.rival
            and {
                "cluster_id": judged.rival.name,
                "similarity": round(judged.rival.similarity, 4),
                "margin": round(judged.rival.margin, 4),
                "margin_needed": MARGIN,
            },
            "reason": judged.reason,
            "similar": similar(trial.similar),
        }
    )
