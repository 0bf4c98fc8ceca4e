"""Retrospectives: what recurs, and the dashboard."""

from typing import Annotated, Final, NotRequired, cast

from pydantic import Field

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.learning.clusters.clusterer import ExperienceClusterer
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.cluster import ClusterId
from learning_memory_server.model.moment import utc_now
from learning_memory_server.server.composition.services import Projects
from learning_memory_server.server.tools import arguments as args
from learning_memory_server.server.tools.toolset import ToolSet
from learning_memory_server.server.views import cluster_views, entry_views
from learning_memory_server.server.wire import TextWire, page

toolset = ToolSet()
of_apps = ToolSet()
"""What only clients that render pages (MCP Apps) see."""

DASHBOARD_URI: Final = "ui://learning-memory/dashboard"


class ClusterList(cluster_views.AxisView):
    """The clusters of an axis, largest first, and how many of `total` experiences are noise.

    They were computed at `fitted_at`. `stale` experiences have come or gone since: a large axis is being clustered
    again, and another call a few seconds later shows the result. `noise` has the newest 50 experiences in no cluster.
    """

    offset: NotRequired[int]
    truncated: NotRequired[bool]


class ClusterMembers(entry_views.Paged):
    """The experiences of a cluster, most central first."""

    cluster_id: str
    axis: str
    members: list[entry_views.Member]


@toolset.tool("Show clusters of experiences", changes=False)
async def get_clusters(
    clusterer: ExperienceClusterer,
    projects: Projects,
    caller: Caller,
    /,
    *,
    axis: args.AxisToCompare,
    project: args.ProjectName | None = None,
    include_noise: Annotated[bool, Field(description="List those in no cluster, too.")] = False,
    offset: args.Offset = 0,
) -> ClusterList:
    """Show what keeps recurring: clusters of similar experiences on one axis, largest first.

    A retrospective starts here; axis root_cause shows recurring mistakes. get_cluster_members comes next. With project,
    only its experiences are clustered, under other ids.
    """
    found = await clusterer.cluster_axis(axis, projects.named(project, caller))
    now = utc_now()
    noise = [cluster_views.exemplar(entry) for entry in found.noise[: limits.NOISE_SHOWN]] if include_noise else None
    shown = [cluster_views.cluster(cluster, now) for cluster in found.clusters[offset:]]
    return cast(
        "ClusterList",
        page(
            "clusters",
            shown,
            offset=offset,
            axis=axis.value,
            noise_count=len(found.noise),
            noise=noise,
            total=found.total,
            fitted_at=found.fitted_at.isoformat(timespec="seconds"),
            stale=found.stale or None,
            explanation=found.explanation,
        ),
    )


@toolset.tool("Show a cluster's experiences", changes=False)
async def get_cluster_members(
    clusterer: ExperienceClusterer,
    /,
    *,
    cluster_id: args.ClusterName,
    limit: args.ListingLimit = 50,
    offset: args.Offset = 0,
) -> ClusterMembers:
    """Read the experiences of one cluster, most central first.

    If the cluster is gone, the error says what became of it, and which one to ask for.
    """
    wanted = ClusterId.parse(cluster_id)
    cluster = (await clusterer.clusters_with(wanted)).get(wanted)
    shown = [entry_views.member(entry) for entry in cluster.members[offset : offset + limit]]
    return cast(
        "ClusterMembers",
        page("members", shown, offset=offset, of=len(cluster.members), cluster_id=str(wanted), axis=wanted.axis.value),
    )


@of_apps.tool("Show the dashboard", changes=False, wire=TextWire("The dashboard cannot be shown"), shows=DASHBOARD_URI)
async def show_dashboard(caller: Caller, collector: ObservationCollector, /) -> str:
    """Show the user what was learned, as a page: a map of experiences, calibration, values and advice."""
    count = len(collector.list_resolved(EntryQuery(project=caller.project)))
    experiences = f"{count:,} experience{'' if count == 1 else 's'}"
    # Whether it does, the client alone knows: it may refuse a long page.
    return f"The client shows the user the dashboard of this project's {experiences}, if it can."
