"""Retrospectives: what recurs, and the principles drawn from it."""

from __future__ import annotations

from typing import Any, NotRequired, cast

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.clustering.experiences import ExperienceClusterer
from learning_memory_server.domain.caller import Caller
from learning_memory_server.domain.cluster import ClusterId
from learning_memory_server.domain.moment import utc_now
from learning_memory_server.domain.value import ValueOrder
from learning_memory_server.domain.vocabulary import Axis
from learning_memory_server.server.replies import page
from learning_memory_server.server.tools import cluster_views, value_views, views
from learning_memory_server.server.tools.arguments import (
    Identifier,
    ListingLimit,
    Offset,
    ProjectName,
    ValueText,
    named_project,
)
from learning_memory_server.server.tools.cluster_views import ClusterView
from learning_memory_server.server.tools.toolset import ToolSet
from learning_memory_server.values.store import ValueStore

toolset = ToolSet()


class ClusterList(TypedDict):
    """The clusters of an axis, largest first, and how many of `total` experiences are in none.

    They were found at `fitted_at`. `placed_since` experiences came later and were placed by their neighbours; with
    `refitting` clusters are being looked for anew, and another call a few seconds later shows those.
    """

    axis: str
    clusters: list[ClusterView]
    count: int
    noise_count: int
    total: int
    fitted_at: str
    placed_since: NotRequired[int]
    refitting: NotRequired[bool]
    explanation: NotRequired[str]
    offset: NotRequired[int]
    truncated: NotRequired[bool]


class ClusterMembers(views.Paged):
    """The experiences of a cluster, most central first."""

    cluster_id: str
    axis: str
    members: list[views.Experience]


class ValueList(views.Paged):
    """Values, in the order that was asked for.

    `unjudged` experiences may count for them and do not yet; `note` says when they will.
    """

    results: list[value_views.ListedValue]
    unjudged: NotRequired[int]
    note: NotRequired[str]


@toolset.tool("Show clusters of experiences", changes=False)
async def get_clusters(clusterer: ExperienceClusterer, /, *, axis: Axis, offset: Offset = 0) -> ClusterList:
    """Show what keeps recurring: experiences grouped by meaning along one axis, largest group first.

    The start of a retrospective. axis says what to compare: full (the whole story), strategy (how it was
    gone about), surprise (what was unexpected), root_cause (why it went wrong). Read a group with
    get_cluster_members, then write down what it teaches with validate_value and store_value. A group has a
    label and exemplars, counts of outcomes and root causes, and first_seen, last_seen and last_30_days, which
    show whether it still happens. A group keeps its cluster_id while it keeps its members.
    """
    found = await clusterer.cluster_axis(axis)
    now = utc_now()
    shown = [cluster_views.cluster(cluster, now) for cluster in found.clusters[offset:]]
    return cast(
        "ClusterList",
        page(
            "clusters",
            shown,
            offset=offset,
            axis=axis.value,
            noise_count=found.noise_count,
            total=found.total,
            fitted_at=found.fitted_at.isoformat(timespec="seconds"),
            placed_since=found.placed_since or None,
            refitting=clusterer.is_refitting(axis) or None,
            explanation=found.explanation,
        ),
    )


@toolset.tool("Show a cluster's experiences", changes=False)
async def get_cluster_members(
    clusterer: ExperienceClusterer, /, *, cluster_id: Identifier, limit: ListingLimit = 50, offset: Offset = 0
) -> ClusterMembers:
    """Read the experiences of one cluster, most central first, to see what they have in common.

    cluster_id comes from get_clusters, such as full_0. For one that is gone the error says what became of it and
    which present one to ask for.
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
async def validate_value(
    values: ValueStore, /, *, text: ValueText, cluster_id: Identifier
) -> value_views.Verdict:
    """Try a value before storing it: does this short principle sit in the middle of the cluster's evidence?

    The reply has the figures and a reason in words, also when it is valid, and in similar the values that say nearly
    the same. A good value says, in the words of its experiences, what to do in such situations.
    """
    trial = await values.validate(text, ClusterId.parse(cluster_id))
    return cast("value_views.Verdict", value_views.verdict(trial))


@toolset.tool("Store a value", changes=True)
async def store_value(
    values: ValueStore,
    caller: Caller,
    /,
    *,
    text: ValueText,
    cluster_id: Identifier,
    axis: Axis,
    supersedes: Identifier | None = None,
) -> value_views.StoredValue:
    """Keep a value: a short principle that a cluster of experiences teaches, with its evidence.

    It is validated first, as by validate_value, and refused if it does not hold. To put one that validate_value shows
    as similar, or a contested one, into better words, give its id as supersedes: it leaves the list and is kept.
    A text that your project has on this axis already is not stored again: the reply is that value, with existing.
    """
    stored = await values.store(caller, text, ClusterId.parse(cluster_id), axis, supersedes)
    reply = value_views.value(stored.standing)
    if stored.similar:
        reply["similar"] = value_views.similar(stored.similar)
    if not stored.is_new:
        reply["existing"] = True
    return cast("value_views.StoredValue", reply)


@toolset.tool("List values", changes=False)
async def list_values(
    values: ValueStore,
    caller: Caller,
    /,
    *,
    axis: Axis | None = None,
    sort: ValueOrder = ValueOrder.CLUSTER_SIZE,
    include_superseded: bool = False,
    limit: ListingLimit = 20,
    project: ProjectName | None = None,
    offset: Offset = 0,
) -> ValueList:
    """List the values learned so far, and how they have held: those with the most experiences behind them first.

    Call it at the start of a task to know the principles that past work taught. support counts the experiences that
    bear a value out and those that went the other way; doubt a contested one, and store a better one that supersedes
    it. unjudged counts experiences that are not in these figures yet. sort: cluster_size, strength or newest.
    """
    found = await values.list_values(
        axis, named_project(project, caller), order=sort, superseded=include_superseded
    )
    shown: list[dict[str, Any]] = [value_views.value(value) for value in found[offset : offset + limit]]
    unjudged = values.count_unjudged(found)
    return cast(
        "ValueList",
        page(
            "results",
            shown,
            offset=offset,
            of=len(found),
            unjudged=unjudged or None,
            note=value_views.note_on_unjudged(unjudged) if unjudged else None,
        ),
    )
