"""What recurs and what it teaches: clusters, the principles drawn from them, and the dashboard."""

from typing import Annotated, Any, Final, NotRequired, cast

from pydantic import Field

from learning_memory_server.capture.entries.collector import ObservationCollector
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.lessons.clusters.clusterer import ExperienceClusterer
from learning_memory_server.lessons.values.store import CitedEntries, ValueStore
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.lines import counted
from learning_memory_server.model.moment import utc_now
from learning_memory_server.model.value import ClusterId, Status, ValueOrder
from learning_memory_server.model.vocabulary import Axis, Stance
from learning_memory_server.server.composition.stores import Projects
from learning_memory_server.server.tools import arguments as args
from learning_memory_server.server.tools.toolset import STORED_TEXT, TextWire, ToolSet, page, with_more
from learning_memory_server.server.views import entry_views, fields, value_views

toolset = ToolSet()
of_apps = ToolSet()  # What only clients that render pages (MCP Apps) see

DASHBOARD_URI: Final = "ui://learning-memory/dashboard"


class ClusterList(value_views.AxisView):
    """The clusters of an axis, largest first, and how many of `total` experiences are noise.

    They were computed at `fitted_at`. `stale` experiences have come or gone since: a large axis is being clustered
    again, and another call a few seconds later shows the result. `noise` has the newest 50 experiences in no cluster,
    after the last cluster.
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
    include_noise: Annotated[bool, Field(description="Also list experiences in no cluster.")] = False,
    offset: args.Offset = 0,
) -> ClusterList:
    """Show what keeps recurring: clusters of similar experiences on one axis, largest first.

    A retrospective starts here; axis root_cause shows recurring mistakes. get_cluster_members comes next. A project's
    clusters have other ids.
    """
    found = await clusterer.cluster_axis(axis, projects.named(project, caller))
    now = utc_now()
    shown = [value_views.cluster(cluster, now) for cluster in found.clusters[offset:]]
    reply = page(
        "clusters",
        shown,
        offset=offset,
        axis=axis.value,
        noise_count=len(found.noise),
        total=found.total,
        fitted_at=found.fitted_at.isoformat(timespec="seconds"),
        stale=found.stale or None,
        explanation=found.explanation,
    )
    if include_noise and "offset" not in reply:
        noise = [fields(value_views.Exemplar, entry) for entry in found.noise[: limits.NOISE_SHOWN]]
        reply = with_more(reply, "noise", noise, offset=offset, before=len(found.clusters))
    return cast("ClusterList", reply)


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

    If the cluster is gone, the error names its successors.
    """
    wanted = ClusterId.parse(cluster_id)
    cluster = (await clusterer.clusters_with(wanted)).get(wanted)
    shown = [entry_views.member(entry) for entry in cluster.members[offset : offset + limit]]
    return cast(
        "ClusterMembers",
        page("members", shown, offset=offset, of=len(cluster.members), cluster_id=str(wanted), axis=wanted.axis.value),
    )


@of_apps.tool("Show the dashboard", changes=False, wire=TextWire("The dashboard cannot be shown"), shows=DASHBOARD_URI)
async def show_dashboard(caller: Caller, collector: ObservationCollector, /) -> dict[str, str]:
    """Show the user what was learned, as a page: clusters of experiences, calibration, values and advice."""
    experiences = counted(len(collector.list_resolved(EntryQuery(project=caller.project))), "experience")
    # Whether it does, the client alone knows: it may refuse a long page.
    return {"text": f"The client shows the user the dashboard of this project's {experiences}, if it can."}


Cites = Annotated[list[args.Identifier], Field(min_length=1, max_length=limits.CITED_MAX)]


class ValueList(entry_views.Paged):
    """Values in the requested order; with a query, `mode` says how they were matched."""

    results: list[value_views.ListedValue]
    mode: NotRequired[str]


@toolset.tool("Test a value", changes=False)
async def validate_value(
    values: ValueStore, /, *, text: args.ValueText, cluster_id: args.ClusterName
) -> value_views.ValueTest:
    """Test before you store: is this principle on the cluster's topic? Its truth is not checked.

    Compare it with nearest_lessons and nearest_falsified. A good value says what to do, in its experiences' words.
    """
    trial = await values.validate(text, ClusterId.parse(cluster_id))
    return cast("value_views.ValueTest", value_views.tested(trial) | STORED_TEXT)


@toolset.tool("Store a value", changes=True)
async def store_value(
    values: ValueStore,
    caller: Caller,
    /,
    *,
    text: args.ValueText,
    cluster_id: args.ClusterName,
    axis: Annotated[Axis, Field(description="Its axis.")] | None = None,
    supported_by: Annotated[Cites, Field(description="Resolved entries that support it.")] | None = None,
    contradicted_by: Annotated[Cites, Field(description="Resolved entries that contradict it.")] | None = None,
    supersedes: Annotated[args.Identifier, Field(description="ID of the value it replaces.")] | None = None,
) -> value_views.StoredValue:
    """Keep a value: a short principle that a cluster of experiences teaches.

    Off-topic texts are refused, as by validate_value. Without entries that support it, it is unattested. supersedes
    replaces a similar or contested value.
    """
    cited = CitedEntries(tuple(supported_by or ()), tuple(contradicted_by or ()))
    wanted = ClusterId.parse(cluster_id)
    stored = await values.store(caller, text, wanted, axis or wanted.axis, supersedes, cited)
    reply = value_views.value(stored.standing)
    if stored.similar:
        reply["similar"] = value_views.similar(stored.similar)
    if not stored.is_new:
        reply["existing"] = True
    notes = []
    if (kept := stored.standing.value.cluster_id) != wanted:
        notes.append(f"This text is stored as a value of {kept} already, and stays there.")
    if stored.standing.support.status is Status.UNATTESTED:
        notes.append(
            "Unattested: no entry supports it yet. Name entries in supported_by, or call judge_value when one is about it."
        )
    if notes:
        reply["note"] = " ".join(notes)
    return cast("value_views.StoredValue", reply)


@toolset.tool("Judge a value", changes=True, idempotent=True)
async def judge_value(
    values: ValueStore,
    caller: Caller,
    /,
    *,
    value_id: Annotated[args.Identifier, Field(description="ID from list_values.")],
    ghap_id: Annotated[args.Identifier, Field(description="ID of a resolved entry.")],
    verdict: Annotated[Stance, Field(description="What the entry shows.")],
) -> value_views.JudgedValue:
    """Record what a resolved entry shows about a value; the last verdict on a pair counts.

    Call it when an outcome supports or contradicts a value.
    """
    standing = values.judge(caller, value_id, ghap_id, verdict)
    return cast("value_views.JudgedValue", value_views.judged(ghap_id, verdict, standing))


@toolset.tool("List values", changes=False)
async def list_values(
    values: ValueStore,
    projects: Projects,
    caller: Caller,
    /,
    *,
    query: Annotated[args.QueryText, Field(description="Your task: best matches first.")] | None = None,
    axis: Annotated[Axis, Field(description="Only this axis.")] | None = None,
    sort: Annotated[ValueOrder, Field(description="Order without a query.")] = ValueOrder.SUPPORT,
    include_superseded: Annotated[bool, Field(description="Also show replaced values.")] = False,
    full: Annotated[bool, Field(description="Show the evidence.")] = False,
    limit: args.ListingLimit = 20,
    project: args.ProjectName | None = None,
    offset: args.Offset = 0,
) -> ValueList:
    """List the principles that past work taught, with their standing: supported, contested or unattested.

    Those that apply are shown by themselves. Doubt what is contested, or supersede it.
    """
    found = values.list_values(axis, projects.named(project, caller), order=sort, superseded=include_superseded)
    mode = None
    if query is not None:
        found, mode = await values.by_relevance(query, found)
    show = value_views.value if full else value_views.listed
    shown: list[dict[str, Any]] = [show(value) for value in found[offset : offset + limit]]
    return cast("ValueList", page("results", shown, offset=offset, of=len(found), mode=mode and mode.value))
