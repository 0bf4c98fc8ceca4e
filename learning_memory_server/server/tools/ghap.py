"""The GHAP loop: start, update, resolve, review."""

import asyncio
from typing import Annotated, Any, Final, NotRequired, Required, TypeVar, cast

import structlog
from pydantic import Field
from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.advice import text
from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.advice.citing import Citing
from learning_memory_server.advice.ties import Ties
from learning_memory_server.capture.entries.collector import ObservationCollector, ObservationPersister
from learning_memory_server.capture.entries.open_entries import EntryOwner, named
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.journal.kinds import without_empty
from learning_memory_server.lessons.calibration import track_record
from learning_memory_server.lessons.files.anchoring import Anchoring
from learning_memory_server.lessons.notes import EntryNotes
from learning_memory_server.lessons.values.store import ValueStore
from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.moment import parse_moment
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, Strategy
from learning_memory_server.server.composition.stores import Projects
from learning_memory_server.server.tools import arguments as args
from learning_memory_server.server.tools.toolset import STORED_TEXT, ToolSet, fitted, page
from learning_memory_server.server.views import entry_views, fields, value_views
from learning_memory_server.sharing.shared import SharedLessons
from learning_memory_server.system.waiting import end_turn

toolset = ToolSet()
log = structlog.get_logger()
T = TypeVar("T")
_PENDING: Final = "The entry is saved. It will be indexed as soon as the model and the engine are ready."


class StartedEntry(TypedDict):
    """The new entry; `warning` and `orphaned_id` if the previous one was left open.

    `track_record`: what share of similar hypotheses held. `notice`: why nothing was searched for `related`.
    """

    id: str
    domain: str
    strategy: str
    goal: str
    hypothesis: str
    action: str
    prediction: str
    created_at: str
    confidence: NotRequired[float]
    track_record: NotRequired[str]
    warning: NotRequired[str]
    orphaned_id: NotRequired[str]
    related: NotRequired[list[text.RelatedItem]]
    notice: NotRequired[str]
    stored_text: NotRequired[str]
    redacted: NotRequired[dict[str, int]]


class UpdatedEntry(TypedDict):
    """The entry that was changed; `also_open`: the others of your session, if you gave no ghap_id."""

    success: bool
    id: str
    iteration_count: int
    also_open: NotRequired[list[str]]
    related: NotRequired[list[text.RelatedItem]]
    notice: NotRequired[str]
    stored_text: NotRequired[str]
    redacted: NotRequired[dict[str, int]]


class ResolvedEntry(TypedDict):
    """The entry that was closed; `indexed` tells whether semantic search can find it yet.

    `owner`: who worked on it, if not you. `runs`: how the last test and build commands ended while it was open.
    `not_recorded`: what of helped and misled does not count. `also_open`: the others of your session, if you gave no
    ghap_id.
    """

    id: str
    status: str
    confidence_tier: str
    resolved_at: str
    indexed: bool
    owner: NotRequired[str]
    not_recorded: NotRequired[list[str]]
    warning: NotRequired[str]
    runs: NotRequired[list[str]]
    also_open: NotRequired[list[str]]
    value: NotRequired[value_views.ValueToJudge]
    stored_text: NotRequired[str]
    redacted: NotRequired[dict[str, int]]


class ActiveEntry(entry_views.OpenEntry, total=False):
    """The whole open entry, if there is one, and the other open entries of the project.

    At those in `open_elsewhere` somebody else is at work.
    """

    has_active: Required[bool]
    orphaned: list[entry_views.EntryKey]
    open_elsewhere: list[entry_views.EntryKey]
    hint: str
    stored_text: str
    left_out: dict[str, str]


class ReadEntry(entry_views.WholeEntry, total=False):
    """The whole entry."""

    stored_text: Required[str]


class EntryList(entry_views.Paged):
    """Resolved entries, newest first."""

    results: list[entry_views.Summary]


@toolset.tool("Start a GHAP entry", changes=True)
async def start_ghap(
    collector: ObservationCollector,
    advisor: Advisor,
    caller: Caller,
    /,
    *,
    domain: Annotated[Domain, Field(description="The kind of task.")],
    strategy: Annotated[Strategy, Field(description="How you approach the task.")],
    goal: args.Goal,
    hypothesis: Annotated[args.Hypothesis, Field(examples=["The price cache returns stale totals after a deploy."])],
    action: args.Action,
    prediction: args.Prediction,
    confidence: args.Confidence | None = None,
) -> StartedEntry:
    """Record a belief before you act on it, in debugging, design or optimisation.

    Read the `related` lessons in the reply before you act. State an honest confidence: `track_record` checks it.
    Then update_ghap if your belief changes, resolve_ghap when you know.
    """
    started = collector.start(
        caller,
        domain=domain,
        strategy=strategy,
        goal=goal,
        hypothesis=hypothesis,
        action=action,
        prediction=prediction,
        confidence=confidence,
    )
    entry = started.entry
    reply = cast("StartedEntry", without_empty(fields(StartedEntry, entry)))
    if record := track_record(entry, collector.timeline.outcomes(entry)):
        reply["track_record"] = record
    if started.orphan is not None:
        reply["orphaned_id"] = started.orphan.id
        reply["warning"] = (
            f"{'Your' if caller.agent else 'If no other agent is at work on it, your'} previous entry is still open. "
            "Close it with resolve_ghap and its id as ghap_id; status abandoned is an honest end."
        )
    reply |= await _related(advisor, Trigger(TriggerKind.ENTRY_START, entry=entry), caller)
    return reply


@toolset.tool("Update a GHAP entry", changes=True)
async def update_ghap(
    collector: ObservationCollector,
    advisor: Advisor,
    caller: Caller,
    /,
    *,
    hypothesis: args.Hypothesis | None = None,
    action: args.Action | None = None,
    prediction: args.Prediction | None = None,
    strategy: Annotated[Strategy, Field(description="How you approach the task now.")] | None = None,
    note: Annotated[args.Narrative, Field(description="A fact about the work.")] | None = None,
    confidence: args.Confidence | None = None,
    ghap_id: args.GhapId | None = None,
) -> UpdatedEntry:
    """Change your open GHAP entry when evidence changes what you believe; the earlier hypothesis is kept.

    An entry that ghap_id names becomes yours if you have none.
    """
    changes = any((hypothesis, action, prediction, strategy, note, confidence is not None))
    if not changes and not ghap_id:
        raise InvalidInputError(
            "Nothing to change: give at least one of hypothesis, action, prediction, strategy, note, confidence; "
            "or an orphaned entry's ghap_id alone, to adopt it."
        )
    entry = collector.update(
        caller,
        ghap_id,
        hypothesis=hypothesis,
        action=action,
        prediction=prediction,
        strategy=strategy,
        note=note,
        confidence=confidence,
    )
    if not changes and entry != collector.still_open.current(caller):
        raise InvalidInputError(
            f"{entry.id} was not adopted: you already have an open entry, it belongs to another project, or somebody "
            "else is at work on it.",
            hint="Resolve your own entry first, or give the changes together with ghap_id.",
        )
    reply: UpdatedEntry = {"success": True, "id": entry.id, "iteration_count": entry.iteration_count}
    reply |= _also_open(collector, caller, ghap_id)
    if hypothesis and entry.has_new_hypothesis:
        reply |= await _related(advisor, Trigger(TriggerKind.ENTRY_UPDATE, entry=entry), caller)
    return reply


async def _related(advisor: Advisor, trigger: Trigger, caller: Caller) -> Any:
    """Return what a reply shows of the past for a hypothesis, or why it shows nothing if nothing was searched."""
    shown = await advisor.at(trigger, caller)
    if shown.candidates:
        related = text.related(shown.candidates, advisor.room.notes(caller))
        return {"related": related, "stored_text": STORED_TEXT["stored_text"]}
    return {"notice": shown.notice} if shown.notice else {}


@toolset.tool("Resolve a GHAP entry", changes=True)
async def resolve_ghap(
    collector: ObservationCollector,
    citing: Citing,
    persister: ObservationPersister,
    values: ValueStore,
    anchoring: Anchoring,
    ties: Ties,
    caller: Caller,
    /,
    *,
    status: Annotated[OutcomeStatus, Field(description="How the hypothesis ended.")],
    result: Annotated[args.Narrative, Field(description="What happened.")],
    surprise: Annotated[args.Narrative, Field(description="What contradicted the prediction.")] | None = None,
    root_cause: Annotated[args.RootCauseArgument, Field(description="Why you were wrong.")] | None = None,
    lesson: Annotated[args.LessonArgument, Field(description="The part worth doing again.")] | None = None,
    helped: args.HelpedIds | None = None,
    misled: args.MisledIds | None = None,
    ghap_id: args.GhapId | None = None,
) -> ResolvedEntry:
    """Close your GHAP entry with the real outcome.

    confirmed: the prediction came true. falsified: it did not; surprise and root_cause are then required. abandoned:
    you stopped before you knew. Add a lesson, and say what helped or misled. Be honest: wrong guesses teach most.
    """
    target = collector.get_target(caller, ghap_id)
    owner = collector.still_open.owner(target, caller)
    cited = citing.sort(target, helped or (), misled or ())
    entry = collector.resolve(
        caller,
        ghap_id,
        ties.met,
        status=status,
        result=result,
        surprise=surprise,
        root_cause=root_cause.to_domain() if root_cause else None,
        lesson=lesson.to_domain() if lesson else None,
        cited=tuple(cited.found),
    )
    anchoring.anchor(entry, caller)
    end_turn()
    # A server is asked for both at once.
    done = await asyncio.gather(persister.persist(entry), values.find_near(entry), return_exceptions=True)
    indexed, near = _or_none(done[0]), _or_none(done[1])
    cites = next((found for name in helped or () if (found := citing.values.find(name))), None)
    told = fields(
        ResolvedEntry,
        entry.outcome,
        id=entry.id,
        confidence_tier=entry.tier,
        indexed=bool(indexed),
        owner=None if owner is EntryOwner.CALLER else owner,
        not_recorded=cited.not_recorded,
        warning=None if indexed else _PENDING,
        runs=[str(run) for run in entry.runs[-limits.RUNS_SHOWN :]],
        value=(value := cites or near) and value_views.to_judge(value, entry.id, helped=cites is not None),
        stored_text=STORED_TEXT["stored_text"] if value else None,
    )
    return cast("ResolvedEntry", without_empty(told) | _also_open(collector, caller, ghap_id))


def _also_open(collector: ObservationCollector, caller: Caller, ghap_id: str | None) -> Any:
    """Return what a reply says of the session's other entries, where a call without an id was about the newest."""
    left = [] if ghap_id else [*map(named, collector.still_open.left(caller)[: limits.ENTRIES_NAMED])]
    return {"also_open": left, **STORED_TEXT} if left else {}


def _or_none(result: T | BaseException) -> T | None:
    """Return what came of a resolved entry; None if that failed in any way: the entry is kept, whatever follows."""
    if isinstance(result, BaseException):
        log.error("resolution.unfinished", exc_info=result)
        return None
    return result


@toolset.tool("Show the open GHAP entry", changes=False)
async def get_active_ghap(collector: ObservationCollector, caller: Caller, /) -> ActiveEntry:
    """Show your open GHAP entry, and what else is open in this project.

    Call it when you resume work. To adopt an orphaned entry, update_ghap with its id as ghap_id; to drop it,
    resolve_ghap as abandoned. `open_elsewhere` is others' work.
    """
    entry = collector.still_open.current(caller)
    orphans = collector.still_open.others(caller, elsewhere=False)
    elsewhere = collector.still_open.others(caller, elsewhere=True)
    reply: dict[str, Any] = {"has_active": entry is not None}
    if entry is not None:
        reply |= entry_views.open_entry(entry)
    if orphans:
        reply["orphaned"] = [fields(entry_views.EntryKey, each) for each in reversed(orphans)]
    if elsewhere:
        reply["open_elsewhere"] = [
            fields(entry_views.EntryKey, each) | {"owner": collector.still_open.owner(each, caller).value}
            for each in reversed(elsewhere)
        ]
    if collector.still_open.is_ambiguous(caller):
        reply["hint"] = (
            "Several entries are open in this session: a call without ghap_id is refused. Give the id of yours in each."
        )
    elif entry is not None and collector.still_open.left(caller):
        reply["hint"] = "A call without ghap_id is about this entry, the newest one of this session."
    elif orphans and entry is None:
        reply["hint"] = "Give one of the orphaned ids as ghap_id to update_ghap or resolve_ghap."
    if len(reply) > 1:
        reply |= STORED_TEXT
    shown = fitted(reply, limits.REPLY_MAX)
    # The newest first; the oldest were left out.
    newest_first = {name: shown[name][::-1] for name in ("orphaned", "open_elsewhere") if name in shown}
    return cast("ActiveEntry", shown | newest_first)


@toolset.tool("Show a GHAP entry", changes=False)
async def get_ghap_entry(
    collector: ObservationCollector,
    shared: SharedLessons,
    entry_notes: EntryNotes,
    caller: Caller,
    /,
    *,
    ghap_id: Annotated[args.Identifier, Field(description="The entry's ID.")],
) -> ReadEntry:
    """Read one entry in full, with its notes and earlier hypotheses."""
    entry = shared.entries.get(ghap_id) or collector.get(ghap_id)
    shown = entry_views.whole_entry(entry) | (await entry_notes.present([entry], caller))[entry.id] | STORED_TEXT
    return cast("ReadEntry", fitted(shown, limits.REPLY_MAX))


@toolset.tool("List resolved GHAP entries", changes=False)
async def list_ghap_entries(
    collector: ObservationCollector,
    entry_notes: EntryNotes,
    projects: Projects,
    caller: Caller,
    /,
    *,
    limit: args.ListingLimit = 20,
    domain: args.OnlyDomain | None = None,
    outcome: args.OnlyOutcome | None = None,
    since: args.Since | None = None,
    project: args.ProjectName | None = None,
    offset: args.Offset = 0,
) -> EntryList:
    """List resolved GHAP entries, newest first, in short.

    search_experiences finds those on a topic.
    """
    entries = collector.list_resolved(
        EntryQuery(
            domain=domain,
            outcome=outcome,
            project=projects.named(project, caller),
            since=parse_moment("since", since) if since else None,
        )
    )
    listed = entries[offset : offset + limit]
    notes = await entry_notes.present(listed, caller)
    shown = [entry_views.summary(entry) | notes[entry.id] for entry in listed]
    return cast("EntryList", page("results", shown, offset=offset, of=len(entries)))
