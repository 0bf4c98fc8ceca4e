"""Clusters as replies show them: what they are about, how they have ended, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

if TYPE_CHECKING:
    from datetime import datetime

    from learning_memory_server.clustering.clusters import ExperienceCluster


class Exemplar(TypedDict):
    """An experience that stands for its cluster."""

    id: str
    goal: str


class ClusterView(TypedDict):
    """A group of experiences that belong together.

    `outcomes` and `root_causes` count members, most frequent first; the dates are those of resolutions.
    """

    cluster_id: str
    label: str
    size: int
    avg_weight: float
    exemplars: list[Exemplar]
    outcomes: dict[str, int]
    root_causes: NotRequired[dict[str, int]]
    first_seen: str
    last_seen: str
    last_30_days: int


def cluster(found: ExperienceCluster, now: datetime) -> dict[str, Any]:
    """Return a cluster as a listing shows it.

    Args:
        found: The cluster.
        now: When the last 30 days end.
    """
    profile = found.profile
    view: dict[str, Any] = {
        "cluster_id": str(found.id),
        "label": found.label,
        "size": len(found.members),
        "avg_weight": round(found.mean_weight, 3),
        "exemplars": [{"id": entry.id, "goal": entry.goal} for entry in found.exemplars],
        "outcomes": {status.value: count for status, count in profile.outcomes.items()},
        "first_seen": profile.times[0].date().isoformat(),
        "last_seen": profile.times[-1].date().isoformat(),
        "last_30_days": profile.recent(now),
    }
    if profile.root_causes:
        view["root_causes"] = {cause.value: count for cause, count in profile.root_causes.items()}
    return view
