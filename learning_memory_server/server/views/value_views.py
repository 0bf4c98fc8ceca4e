"""Values as replies show them, what they were tested against, the verdicts on them; and the clusters they come from."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.journal.kinds import without_empty
from learning_memory_server.model import limits
from learning_memory_server.model.lines import shortened
from learning_memory_server.server.views import fields

if TYPE_CHECKING:
    from learning_memory_server.lessons.clusters.clusters import ExperienceCluster
    from learning_memory_server.lessons.values.log import Likeness, Standing
    from learning_memory_server.lessons.values.store import Validation
    from learning_memory_server.model.value import Value
    from learning_memory_server.model.vocabulary import Stance


class Exemplar(TypedDict):
    """An experience, in short."""

    id: str
    goal: str


class ClusterView(TypedDict):
    """A cluster of experiences.

    `takeaway` is that of the most central member that has one. `outcomes` and `root_causes` count members, most
    frequent first. The dates are those of their resolutions.
    """

    cluster_id: str
    label: str
    size: int
    avg_weight: float
    takeaway: NotRequired[str]
    exemplars: list[Exemplar]
    outcomes: dict[str, int]
    root_causes: NotRequired[dict[str, int]]
    first_seen: str
    last_seen: str
    last_30_days: int


class AxisView(TypedDict):
    """The clusters of an axis, and how many of `total` experiences are in none. `noise` lists some of those."""

    axis: str
    clusters: list[ClusterView]
    count: int
    noise_count: int
    total: int
    fitted_at: str
    stale: NotRequired[int]
    noise: NotRequired[list[Exemplar]]
    explanation: NotRequired[str]


def cluster(found: ExperienceCluster, now: datetime) -> dict[str, Any]:
    """Return a cluster as a listing shows it. Its last 30 days end `now`."""
    outcomes = found.outcomes
    lessons = (member.outcome.lesson for member in found.members)
    taken = next((lesson.takeaway for lesson in lessons if lesson and lesson.takeaway), "")
    return without_empty(
        {
            "cluster_id": str(found.id),
            "label": found.label,
            "size": len(found.members),
            "avg_weight": round(found.mean_weight, 3),
            "takeaway": shortened(taken, limits.TAKEAWAY_SHOWN),
            "exemplars": [fields(Exemplar, entry) for entry in found.exemplars],
            "outcomes": {status.value: count for status, count in outcomes.by_status.items()},
            "root_causes": {cause.value: count for cause, count in outcomes.by_root_cause.items()},
            "first_seen": outcomes.times[0].date().isoformat(),
            "last_seen": outcomes.times[-1].date().isoformat(),
            "last_30_days": outcomes.recent(now),
        }
    )


class ValueEvidence(TypedDict):
    """The cluster a value was accepted for: distances (1 - cosine) and its most central experiences."""

    similarity: float
    centroid_distance: float
    threshold: float
    member_ids: list[str]


class SupportView(TypedDict):
    """Verdicts for and against a value.

    `interval`: 95 % interval of the share of them that supports it. At most five ids each, the newest first.
    """

    supporting: int
    contradicting: int
    interval: list[float]
    supported_by: NotRequired[list[str]]
    contradicted_by: NotRequired[list[str]]


class SimilarValue(TypedDict):
    """A value that says nearly the same; `similarity` is the cosine between the two texts."""

    id: str
    text: str
    similarity: float


class StandingValue(TypedDict):
    """A value and its standing: supported, contested or unattested."""

    id: str
    text: str
    standing: str


class ListedValue(StandingValue):
    """A value and its standing: supported, contested or unattested. Most parts are shown only in full.

    `cluster_size` is the size at the time it was accepted.
    """

    supporting: NotRequired[int]
    contradicting: NotRequired[int]
    axis: NotRequired[str]
    cluster_id: NotRequired[str]
    cluster_size: NotRequired[int]
    project: NotRequired[str]
    created_at: NotRequired[str]
    evidence: NotRequired[ValueEvidence]
    support: NotRequired[SupportView]
    supersedes: NotRequired[str]
    superseded_by: NotRequired[str]


class FullValue(StandingValue):
    """A value in full."""

    axis: str
    cluster_id: str
    cluster_size: int
    project: str
    created_at: str
    evidence: ValueEvidence
    support: SupportView
    supersedes: NotRequired[str]
    superseded_by: NotRequired[str]


class StoredValue(FullValue):
    """The stored value; `similar` lists others that say nearly the same.

    `existing`: a value with this text was there already; only verdicts were added. `note`: it is unattested, or of
    another cluster.
    """

    similar: NotRequired[list[SimilarValue]]
    existing: NotRequired[bool]
    note: NotRequired[str]
    redacted: NotRequired[dict[str, int]]


class JudgedValue(TypedDict):
    """The recorded verdict, and the value's standing with it."""

    value_id: str
    ghap_id: str
    verdict: str
    standing: str
    support: SupportView


class NearestLesson(TypedDict):
    """What a member of the cluster learned."""

    id: str
    lesson: str
    outcome_status: str


class NearestFalsified(TypedDict):
    """What a member of the cluster wrongly believed, and why it was wrong."""

    id: str
    hypothesis: str
    root_cause: NotRequired[str]


class RivalView(TypedDict):
    """The nearest other cluster. `margin`: how much nearer the value's own cluster is, by centroid and nearest members.

    It must be at least `margin_needed`.
    """

    cluster_id: str
    similarity: float
    margin: float
    margin_needed: float


class ValueTest(TypedDict):
    """Whether a text is on the topic of a cluster, and the metrics: distances are 1 - cosine to the centroid.

    `checked`: only the topic was. `similar` lists values that say nearly the same; `nearest_lessons` and
    `nearest_falsified`, what to compare the text with.
    """

    valid: bool
    checked: str
    similarity: float
    centroid_distance: float
    threshold: float
    rival: NotRequired[RivalView]
    reason: str
    similar: NotRequired[list[SimilarValue]]
    nearest_lessons: NotRequired[list[NearestLesson]]
    nearest_falsified: NotRequired[list[NearestFalsified]]
    stored_text: NotRequired[str]


class ValueToJudge(TypedDict):
    """A value that the entry may support or contradict, and what to call if it does."""

    id: str
    text: str
    next: str


def to_judge(value: Value, ghap_id: str, *, helped: bool = False) -> ValueToJudge:
    """Return a value that an entry may support or contradict, or one that is said to have helped."""
    why = "That it helped is no verdict yet" if helped else "If this entry supports or contradicts it"
    call = f"call judge_value with value_id {value.id}, ghap_id {ghap_id} and your verdict"
    return {"id": value.id, "text": value.text, "next": f"{why}{':' if helped else ','} {call}."}


def listed(standing: Standing) -> dict[str, Any]:
    """Return a value as a concise list shows it."""
    counts = {name: getattr(standing.support, name) or None for name in ("supporting", "contradicting")}
    parts = fields(StandingValue, standing.value, standing=standing.support.status)
    return without_empty({**parts, **counts, "superseded_by": standing.superseded_by})


def value(standing: Standing) -> dict[str, Any]:
    """Return a value with its support and its evidence, without the vector."""
    stored = standing.value
    evidence = stored.evidence
    tested_against = _rounded(ValueEvidence, evidence)
    return without_empty(
        fields(
            FullValue,
            stored,
            standing=standing.support.status,
            axis=stored.cluster_id.axis,
            cluster_id=str(stored.cluster_id),
            cluster_size=len(evidence.member_ids),
            evidence={**tested_against, "member_ids": list(evidence.member_ids[: limits.IDS_SHOWN])},
            support=_support(standing),
            superseded_by=standing.superseded_by,
        )
    )


def similar(found: Iterable[Likeness]) -> list[dict[str, Any]]:
    """Return values that say nearly the same as a text."""
    return [fields(SimilarValue, each.value, similarity=round(each.similarity, 4)) for each in found]


def judged(ghap_id: str, stance: Stance, standing: Standing) -> dict[str, Any]:
    """Return a verdict that was recorded, and the value's standing."""
    return fields(
        JudgedValue,
        standing,
        value_id=standing.value.id,
        ghap_id=ghap_id,
        verdict=stance,
        standing=standing.support.status,
        support=_support(standing),
    )


def _support(standing: Standing) -> dict[str, Any]:
    support = standing.support
    view = fields(
        SupportView,
        support,
        interval=[round(bound, 3) for bound in support.interval],
        supported_by=standing.supporting[: -limits.IDS_SHOWN - 1 : -1],
        contradicted_by=standing.contradicting[: -limits.IDS_SHOWN - 1 : -1],
    )
    return without_empty(view)


def _rounded(view: type, source: object, **given: object) -> dict[str, Any]:
    found = fields(view, source, **given)
    return {name: round(each, 4) if isinstance(each, float) else each for name, each in found.items()}


def tested(trial: Validation) -> dict[str, Any]:
    """Return what testing a text as a value found."""
    topic = trial.topic
    rival = topic.rival and _rounded(RivalView, topic.rival, cluster_id=topic.rival.name)
    lessons = [
        fields(NearestLesson, entry, lesson=entry.learned, outcome_status=entry.outcome.status)
        for entry in trial.closest.lessons
    ]
    falsified = [
        without_empty(
            fields(NearestFalsified, entry, root_cause=(cause := entry.outcome.root_cause) and cause.description)
        )
        for entry in trial.closest.falsified
    ]
    return without_empty(
        _rounded(
            ValueTest,
            topic,
            checked="the topic only: compare the text with the lessons and the falsified hypotheses",
            rival=rival,
            similar=similar(trial.similar),
            nearest_lessons=lessons,
            nearest_falsified=falsified,
        )
    )
