"""The principles that experience teaches: test, store, judge, list."""

from typing import Annotated, Any, Final, NotRequired, cast

from pydantic import Field

from learning_memory_server.learning.values.store import Cited, ValueStore
from learning_memory_server.model import limits
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.cluster import ClusterId
from learning_memory_server.model.support import Status
from learning_memory_server.model.value import ValueOrder
from learning_memory_server.model.vocabulary import Axis, Stance
from learning_memory_server.server.composition.services import Projects
from learning_memory_server.server.tools import arguments as args
from learning_memory_server.server.tools.toolset import ToolSet
from learning_memory_server.server.views import entry_views, value_views
from learning_memory_server.server.wire import STORED_TEXT, page

toolset = ToolSet()

_UNATTESTED: Final = (
    "Unattested: no entry supports it yet. Name entries in supported_by, or call judge_value when one bears on it."
)

Cites = Annotated[list[args.Identifier], Field(min_length=1, max_length=limits.CITED_MAX)]


class ValueList(entry_views.Paged):
    """Values in the requested order; with a query, `mode` says how they were matched."""

    results: list[value_views.ListedValue]
    mode: NotRequired[str]
    note: NotRequired[str]


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
    axis: Annotated[Axis, Field(description="The cluster's.")],
    supported_by: Annotated[Cites, Field(description="Ids of resolved entries.")] | None = None,
    contradicted_by: Annotated[Cites, Field(description="Ids of resolved entries.")] | None = None,
    supersedes: Annotated[args.Identifier, Field(description="The value it replaces.")] | None = None,
) -> value_views.StoredValue:
    """Keep a value: a short principle that a cluster of experiences teaches.

    Off-topic texts are refused, as by validate_value. Without entries that support it, it is unattested. supersedes
    replaces a similar or contested value.
    """
    cited = Cited(tuple(supported_by or ()), tuple(contradicted_by or ()))
    wanted = ClusterId.parse(cluster_id)
    stored = await values.store(caller, text, wanted, axis, supersedes, cited)
    reply = value_views.value(stored.standing)
    if stored.similar:
        reply["similar"] = value_views.similar(stored.similar)
    if not stored.is_new:
        reply["existing"] = True
    notes = []
    if (kept := stored.standing.value.cluster_id) != wanted:
        notes.append(f"This text is stored as a value of {kept} already, and stays there.")
    if stored.standing.support.status is Status.UNATTESTED:
        notes.append(_UNATTESTED)
    if notes:
        reply["note"] = " ".join(notes)
    return cast("value_views.StoredValue", reply)


@toolset.tool("Judge a value", changes=True, idempotent=True)
async def judge_value(
    values: ValueStore,
    caller: Caller,
    /,
    *,
    value_id: Annotated[args.Identifier, Field(description="From list_values.")],
    ghap_id: Annotated[args.Identifier, Field(description="A resolved entry.")],
    verdict: Annotated[Stance, Field(description="What the entry shows.")],
) -> value_views.JudgedValue:
    """Record what a resolved entry shows about a value; the last verdict on a pair counts.

    Call it when work bore a value out or proved it wrong.
    """
    judged = values.judge(caller, value_id, ghap_id, verdict)
    return cast("value_views.JudgedValue", value_views.judged(judged))


@toolset.tool("List values", changes=False)
async def list_values(
    values: ValueStore,
    projects: Projects,
    caller: Caller,
    /,
    *,
    query: Annotated[args.QueryText, Field(description="Your task: best matches first.")] | None = None,
    axis: Annotated[Axis, Field(description="Only this axis.")] | None = None,
    sort: Annotated[ValueOrder, Field(description="Without query.")] = ValueOrder.SUPPORT,
    include_superseded: Annotated[bool, Field(description="Replaced ones, too.")] = False,
    full: Annotated[bool, Field(description="Show the evidence.")] = False,
    limit: args.ListingLimit = 20,
    project: args.ProjectName | None = None,
    offset: args.Offset = 0,
) -> ValueList:
    """List the principles that past work taught, with their standing: supported, contested or unattested.

    Call it at the start of a task, with query. Doubt what is contested, or supersede it.
    """
    found = values.list_values(axis, projects.named(project, caller), order=sort, superseded=include_superseded)
    mode = None
    if query is not None:
        found, mode = await values.by_relevance(query, found)
    show = value_views.value if full else value_views.listed
    shown: list[dict[str, Any]] = [show(value) for value in found[offset : offset + limit]]
    return cast(
        "ValueList",
        page("results", shown, offset=offset, of=len(found), mode=mode and mode.value, note=values.notice(found)),
    )
