"""The GHAP loop: start, update, resolve."""

import asyncio
from typing import Annotated, Any, Final, NotRequired, TypeVar, cast

import structlog
from pydantic import Field
from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.advice import text
from learning_memory_server.advice.advisor import Advisor
from learning_memory_server.advice.citing import Citing
from learning_memory_server.advice.ties import Ties
from learning_memory_server.capture.entries.collector import Belief, ObservationCollector, ObservationPersister
from learning_memory_server.capture.entries.open_entries import EntryOwner, named
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.journal.kinds import without_empty
from learning_memory_server.lessons.calibration import track_record
from learning_memory_server.lessons.files.anchoring import Anchoring
from learning_memory_server.lessons.values.store import ValueStore
from learning_memory_server.model import limits
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller
from learning_memory_server.model.entry import Outcome
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, Strategy
from learning_memory_server.server.tools import arguments as args
from learning_memory_server.server.tools.toolset import STORED_TEXT, ToolSet
from learning_memory_server.server.views import fields, value_views
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
    ghap_id. `afterwards`: a new entry was made, which counts for no calibration; `also_open` has your open one.
    """

    id: str
    status: str
    confidence_tier: str
    resolved_at: str
    indexed: bool
    afterwards: NotRequired[bool]
    owner: NotRequired[str]
    not_recorded: NotRequired[list[str]]
    warning: NotRequired[str]
    runs: NotRequired[list[str]]
    also_open: NotRequired[list[str]]
    value: NotRequired[value_views.ValueToJudge]
    stored_text: NotRequired[str]
    redacted: NotRequired[dict[str, int]]


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
    """Record your first suspicion when something does not work as it should, before you look for proof.

    If you know the outcome already, call resolve_ghap alone. Read `related` in the reply first. State an
    honest confidence: `track_record` checks it.
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
    advisor: Advisor,
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
    goal: Annotated[args.Statement, Field(description="After the fact: what you wanted.")] | None = None,
    hypothesis: Annotated[args.Statement, Field(description="After the fact: what you believed.")] | None = None,
    same_as: args.SameAs | None = None,
) -> ResolvedEntry:
    """Close your GHAP entry with the real outcome; or, with goal and hypothesis, record a belief after the fact.

    confirmed: the prediction came true. falsified: it did not; surprise and root_cause are then required. abandoned:
    you stopped before you knew. Add a lesson, and say what helped or misled.
    """
    belief = _belief(collector, ghap_id, goal, hypothesis, same_as)
    target = None if belief else collector.get_target(caller, ghap_id)
    owner = collector.still_open.owner(target, caller) if target else EntryOwner.CALLER
    cited = citing.sort(target.id if target else "", helped or (), misled or ())
    outcome: Outcome = {
        "status": status,
        "result": result,
        "surprise": surprise,
        "root_cause": root_cause.to_domain() if root_cause else None,
        "lesson": lesson.to_domain() if lesson else None,
        "cited": tuple(cited.found),
        "words": advisor.objection(caller) if status is OutcomeStatus.FALSIFIED else "",
    }
    if belief:
        entry = collector.record(caller, belief, **outcome)
    else:
        entry = collector.resolve(caller, ghap_id, ties.met, **outcome)
    if entry.outcome.words:
        advisor.answered(caller)
    anchoring.anchor(entry, caller)
    end_turn()
    # A server is asked for both at once.
    done = await asyncio.gather(persister.persist(entry), values.find_near(entry), return_exceptions=True)
    indexed, near = _or_none(done[0]), _or_none(done[1])
    cites = citing.first_value(helped or ())
    told = fields(
        ResolvedEntry,
        entry.outcome,
        id=entry.id,
        confidence_tier=entry.tier,
        indexed=bool(indexed),
        afterwards=entry.afterwards or None,
        owner=None if owner is EntryOwner.CALLER else owner,
        not_recorded=cited.not_recorded,
        warning=None if indexed else _PENDING,
        runs=[str(run) for run in entry.runs[-limits.RUNS_SHOWN :]],
        value=(value := cites or near) and value_views.to_judge(value, entry.id, helped=cites is not None),
        stored_text=STORED_TEXT["stored_text"] if value else None,
    )
    still_open = _open_beside(collector, caller) if entry.afterwards else _also_open(collector, caller, ghap_id)
    return cast("ResolvedEntry", without_empty(told) | still_open)


def _belief(
    collector: ObservationCollector, ghap_id: str | None, goal: str | None, hypothesis: str | None, same_as: str | None
) -> Belief | None:
    """Return the belief that a call records afterwards; None if it closes an open entry."""
    if not (goal or hypothesis or same_as):
        return None
    if [bool(ghap_id), bool(goal or hypothesis), bool(same_as)].count(True) > 1:
        raise InvalidInputError(
            "ghap_id, goal and hypothesis, same_as: give one of the three. ghap_id closes an open entry; the others record "
            "a belief after the fact.",
            arguments=["ghap_id", "goal", "hypothesis", "same_as"],
        )
    if same_as:
        return collector.believed_again(same_as)
    if not (goal and hypothesis):
        absent = "hypothesis" if goal else "goal"
        raise InvalidInputError(
            f"{absent}: required to record afterwards what you believed.",
            hint="To close your open entry, give neither goal nor hypothesis.",
            arguments=[absent],
        )
    return Belief(goal, hypothesis)


def _open_beside(collector: ObservationCollector, caller: Caller) -> Any:
    """Return what a reply says of the caller's open entry, which a new one has left open."""
    current = collector.still_open.current(caller)
    return {"also_open": [named(current)], **STORED_TEXT} if current else {}


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
