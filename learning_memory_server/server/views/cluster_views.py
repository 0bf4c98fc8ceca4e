"""Clusters as replies show them: topic, outcomes and dates."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.model import limits
from learning_memory_server.model.lines import shortened

if TYPE_CHECKING:
    from learning_memory_server.learning.clusters.clusters import ExperienceCluster
    from learning_memory_server.model.entry import Ghap


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


def exemplar(entry: Ghap) -> Exemplar:
    """Return what a listing shows of an experience."""
    return {"id": entry.id, "goal": entry.goal}


def cluster(found: ExperienceCluster, now: datetime) -> dict[str, Any]:
    """Return a cluster as a listing shows it. Its last 30 days end `now`."""
    outcomes = found.outcomes
    view: dict[str, Any] = {
        "cluster_id": str(found.id),
        "label": found.label,
        "size": len(found.members),
        "avg_weight": round(found.mean_weight, 3),
        "exemplars": [exemplar(entry) for entry in found.exemplars],
        "outcomes": {status.value: count for status, count in outcomes.by_status.items()},
        "first_seen": outcomes.times[0].date().isoformat(),
        "last_seen": outcomes.times[-1].date().isoformat(),
        "last_30_days": outcomes.recent(now),
    }
    lessons = (member.outcome.lesson for member in found.members)
    if taken := next((lesson.takeaway for lesson in lessons if lesson and lesson.takeaway), None):
        view["takeaway"] = shortened(taken, limits.TAKEAWAY_SHOWN)
    if outcomes.by_root_cause:
        view["root_causes"] = {cause.value: count for cause, count in outcomes.by_root_cause.items()}
    return view
