"""Retrospectives: what recurs, and the principles drawn from it."""

from __future__ import annotations

from typing import Any, NotRequired, cast

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.clustering.experiences import ExperienceClusterer
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.server.replies import page
from learning_memory_server.server.tools import views
from learning_memory_server.server.tools.arguments import (
    Identifier,
    Offset,
    ProjectName,
    UpTo100,
    ValueText,
    named_project,
)
from learning_memory_server.server.tools.toolset import ToolSet
from learning_memory_server.values.store import ValueStore

toolset = ToolSet()


class Exemplar(TypedDict):
    """An experience that stands for its cluster."""

    id: str
    goal: str


class ClusterView(TypedDict):
    """A group of experiences that belong together."""

    cluster_id: str
    label: str
    size: int
    avg_weight: float
    exemplars: list[Exemplar]


class ClusterList(TypedDict):
    """The clusters of an axis, largest first, and how many of `total` experiences are in none."""

    axis: str
    clusters: list[ClusterView]
    count: int
    noise_count: int
    total: int
    explanation: NotRequired[str]
    offset: NotRequired[int]
    truncated: NotRequired[bool]


class ClusterMembers(views.Paged):
    """The experiences of a cluster, most central first."""

    cluster_id: str
    axis: str
    members: list[views.Experience]


class Verdict(TypedDict):
    """Whether a text holds as a value, and the figures: distances are 1 - cosine."""

    valid: bool
    similarity: float
    centroid_distance: float
    threshold: float
    seed_threshold: float
    reason: str


class ValueList(views.Paged):
    """Values, those of the largest clusters first."""

    results: list[views.StoredValue]


@toolset.tool("Show clusters of experiences", changes=False)
async def get_clusters(clusterer: ExperienceClusterer, /, *, axis: Axis, offset: Offset = 0) -> ClusterList:
    """Show what keeps recurring: experiences grouped by meaning along one axis, largest group first.

    The start of a retrospective. axis says what to compare: full (the whole story), strategy (how it was
    gone about), surprise (what was unexpected), root_cause (why it went wrong). Read a group with
    get_cluster_members, then write down what it teaches with validate_value and store_value.
    """
    found = await clusterer.cluster_axis(axis)
    shown = [
        {
            "cluster_id": str(cluster.id),
            "label": cluster.label,
            "size": len(cluster.members),
            "avg_weight": round(cluster.mean_weight, 3),
            "exemplars": [{"id": entry.id, "goal": entry.goal} for entry in cluster.exemplars],
        }
        for cluster in found.clusters[offset:]
    ]
    return cast(
        "ClusterList",
        page(
            "clusters",
            shown,
            offset=offset,
            axis=axis.value,
            noise_count=found.noise_count,
            total=found.total,
            explanation=found.explanation,
        ),
    )


@toolset.tool("Show a cluster's experiences", changes=False)
async def get_cluster_members(
    clusterer: ExperienceClusterer, /, *, cluster_id: Identifier, limit: UpTo100 = 50, offset: Offset = 0
) -> ClusterMembers:
    """Read the experiences of one cluster, most central first, to see what they have in common.

    cluster_id comes from get_clusters, such as full_0.
    """
    wanted = ClusterId.parse(cluster_id)
    cluster = (await clusterer.cluster_axis(wanted.axis)).get(wanted)
    shown = [views.experience(entry) for entry in cluster.members[offset : offset + limit]]
    return cast(
        "ClusterMembers",
        page(
            "members",
            shown,
            offset=offset,
            of=len(cluster.members),
            cluster_id=str(wanted),
            axis=wanted.axis.value,
        ),
    )


@toolset.tool("Try a value", changes=False)
async def validate_value(values: ValueStore, /, *, text: ValueText, cluster_id: Identifier) -> Verdict:
    """Try a value before storing it: does this short principle sit in the middle of the cluster's evidence?

    The reply has the figures and a reason in words, also when it is valid. A good value says, in the words
    of its experiences, what to do in such situations.
    """
    verdict = await values.validate(text, ClusterId.parse(cluster_id))
    return {
        "valid": verdict.valid,
        "similarity": round(verdict.similarity, 4),
        "centroid_distance": round(verdict.centroid_distance, 4),
        "threshold": round(verdict.threshold, 4),
        "seed_threshold": round(verdict.seed_threshold, 4),
        "reason": verdict.reason,
    }


@toolset.tool("Store a value", changes=True)
async def store_value(
    values: ValueStore, caller: Caller, /, *, text: ValueText, cluster_id: Identifier, axis: Axis
) -> views.StoredValue:
    """Keep a value: a short principle that a cluster of experiences teaches, with its evidence.

    It is validated first, as by validate_value, and refused if it does not hold.
    """
    value = await values.store(caller, text, ClusterId.parse(cluster_id), axis)
    return cast("views.StoredValue", views.value(value))


@toolset.tool("List values", changes=False)
async def list_values(
    values: ValueStore,
    caller: Caller,
    /,
    *,
    axis: Axis | None = None,
    limit: UpTo100 = 20,
    project: ProjectName | None = None,
    offset: Offset = 0,
) -> ValueList:
    """List the values learned so far, those with the most experiences behind them first.

    Call it at the start of a task to know the principles that past work taught.
    """
    found = values.list_values(axis, named_project(project, caller))
    shown: list[dict[str, Any]] = [views.value(value) for value in found[offset : offset + limit]]
    return cast("ValueList", page("results", shown, offset=offset, of=len(found)))
