"""Values as replies show them: what they were judged by, and how they have held."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.journal.codec import lean

if TYPE_CHECKING:
    from collections.abc import Iterable

    from learning_memory_server.values.likeness import Likeness
    from learning_memory_server.values.standing import Standing
    from learning_memory_server.values.store import Trial

_MEMBER_IDS_SHOWN: Final = 5


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
    """The value that was stored; `similar` where there are others that say nearly the same.

    `existing`: it was there already, with the same text, and nothing was stored.
    """

    similar: NotRequired[list[SimilarValue]]
    existing: NotRequired[bool]


class StrictRule(TypedDict):
    """A stricter bound, for comparison: mean + k * std of the members' distances to their centroid."""

    mean: float
    std: float
    k: float
    threshold: float


class Rival(TypedDict):
    """The nearest other cluster. `margin`: by how much the own one is nearer, centroid and nearest members taken together.

    It must be `margin_needed` at least.
    """

    cluster_id: str
    similarity: float
    margin: float
    margin_needed: float


class Verdict(TypedDict):
    """Whether a text holds as a value, and the figures: distances are 1 - cosine to the centroid.

    `similar` where there are values that say nearly the same.
    """

    valid: bool
    similarity: float
    centroid_distance: float
    threshold: float
    strict_rule: StrictRule
    rival: NotRequired[Rival]
    reason: str
    similar: NotRequired[list[SimilarValue]]


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


def note_on_unjudged(count: int) -> str:
    """Return what to say where experiences, one at least, are not judged yet."""
    subject = "1 experience is" if count == 1 else f"{count:,} experiences are"
    return (
        f"{subject} not judged yet: what they say of these values counts once the model is ready and they are indexed. "
        "Call again then; get_stats says when."
    )


def verdict(trial: Trial) -> dict[str, Any]:
    """Return what became of a text that was tried as a value."""
    # Its figures need numpy, which a listing does not.
    from learning_memory_server.values.rule import MARGIN, STRICT_DEVIATIONS  # noqa: PLC0415

    judged = trial.judgement
    return lean(
        {
            "valid": judged.valid,
            "similarity": round(judged.similarity, 4),
            "centroid_distance": round(judged.centroid_distance, 4),
            "threshold": round(judged.threshold, 4),
            "strict_rule": {
                "mean": round(judged.mean, 4),
                "std": round(judged.deviation, 4),
                "k": STRICT_DEVIATIONS,
                "threshold": round(judged.strict_threshold, 4),
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
