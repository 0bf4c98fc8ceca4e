"""`replay`: what past entries would have been told, had advice been there; without any language model.

The entries go through time again, in a temporary store: at the start of each one, only the experiences, values and
verdicts of before can be shown, by the ranking of a session.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from learning_memory_server.cli import out
from learning_memory_server.cli.command import (
    Commands,
    ProjectOption,
    Result,
    Stored,
    chosen_project,
    chosen_time,
    open_settings,
)
from learning_memory_server.cli.recurring import compare, sessions_in
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.learning.advice.finder import AdviceFinder, Scored, best
from learning_memory_server.learning.values.log import Likeness
from learning_memory_server.learning.values.log import document_of as value_document
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.value import Value, Verdict
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.settings import Settings
from learning_memory_server.server.views import entry_views

if TYPE_CHECKING:
    from learning_memory_server.server.composition.services import Services

Pair = tuple[str, str]
"""The ids of a later entry, and of an earlier one or a value that would have been shown."""
_UNMEASURED = "No threshold holds for this embedding model, because its scale is not known, so nothing would be shown."

commands = Commands()


@commands.command()
async def replay(
    since: Annotated[
        str | None, typer.Option("--since", metavar="DATE", help="Only entries started since then: ISO 8601, in UTC.")
    ] = None,
    judgements: Annotated[
        Path | None, typer.Option("--judgements", metavar="FILE", help="Judged pairs; others are added to it.")
    ] = None,
    transcripts: Annotated[
        Path | None,
        typer.Option("--transcripts", metavar="PATH", help="Claude Code's, for the errors that came again."),
    ] = None,
    project: ProjectOption = None,
) -> Result:
    """Show what past entries would have been told, from those resolved before each.

    The journal is walked through time in a temporary folder, with no language
    model: for how many failures something would have been shown, how near it
    was, and the cases side by side. Whether it applied, only a person can say:
    --judgements writes the pairs to a file, and counts those judged in it.

    With --transcripts, past sessions go through time, too: for how many errors that
    an earlier session had something would have been said at the failing command,
    how much of it was right, and how many calls that would have saved, compared
    with silence and with the last success.
    """
    settings = open_settings()
    start = chosen_time(since)
    judged = read_judgements(judgements) if judgements else {}
    stored = Stored(settings)
    entries = stored.entries.list_resolved(EntryQuery(project=chosen_project(project, settings)))
    values, verdicts = stored.values.all(), stored.verdicts.all()
    with out.working("replaying") as report:
        moments, is_measured = await walk(settings, entries, values, verdicts, since=start, report=report)
    document = document_of(moments, judged, is_measured=is_measured)
    if transcripts:
        with out.working("replaying sessions"):
            document["recurring"] = await compare(settings, sessions_in(transcripts))
    if judgements:
        write_judgements(judgements, judged, document["cases"])
    _show(document, judgements)
    return Result(document)


@dataclass(frozen=True, slots=True)
class Moment:
    """The start of an entry, and what would have been shown: experiences and, with their cosines, values."""

    entry: Ghap
    experiences: tuple[Scored, ...] = ()
    values: tuple[Likeness, ...] = ()

    @property
    def is_told(self) -> bool:
        """Whether anything would have been shown."""
        return bool(self.experiences or self.values)


async def walk(
    settings: Settings,
    entries: Sequence[Ghap],
    values: Sequence[Value] = (),
    verdicts: Sequence[Verdict] = (),
    *,
    since: datetime | None = None,
    load: Callable[[], Embedder] | None = None,
    report: out.Report | None = None,
) -> tuple[list[Moment], bool]:
    """Return what would have been shown at the start of each entry, in time order, and whether the model has a scale.

    Told are only those entries that started since then.
    """
    from learning_memory_server.server.composition.services import open_services

    events: list[tuple[datetime, str, Ghap | Value | Verdict]] = sorted(
        [
            *((entry.outcome.resolved_at, entry.id, entry) for entry in entries),
            *((value.created_at, value.id, value) for value in values),
            *((verdict.created_at, verdict.id, verdict) for verdict in verdicts),
        ],
        key=lambda event: event[:2],
    )
    moments, is_measured, learned = list[Moment](), True, 0
    with TemporaryDirectory() as folder:
        here = settings.model_copy(update={"storage_path": Path(folder), "journal_path": None, "qdrant_url": None})
        async with open_services(here, purpose="replay", load=load) as services:
            finder = AdviceFinder(
                services.collector, services.index, services.value_log, services.verdicts, is_everywhere=False
            )
            await services.writer.complete()
            starts = sorted(entries, key=lambda entry: (entry.created_at, entry.id))
            for number, entry in enumerate(starts):
                if report:
                    report("replaying", number, len(starts))
                while learned < len(events) and events[learned][0] <= entry.created_at:
                    await _learn(services, events[learned][2])
                    learned += 1
                if since and entry.created_at < since:
                    continue
                ranked = await finder.rank(at_its_start(entry), {})
                is_measured = is_measured and ranked is not None
                if ranked is None:
                    moments.append(Moment(entry))
                    continue
                experiences = best(ranked.experiences, ranked.least)
                fitting = ranked.best_values()[: limits.ADVICE_SHOWN - len(experiences)]
                moments.append(Moment(entry, tuple(experiences), tuple(fitting)))
    return moments, is_measured


def at_its_start(entry: Ghap) -> Ghap:
    """Return an entry with the hypothesis that it began with."""
    return replace(entry, hypothesis=entry.history[0].hypothesis) if entry.history else entry


async def _learn(services: "Services", event: Ghap | Value | Verdict) -> None:
    if isinstance(event, Ghap):
        services.collector.add_resolved([event])
        await services.persister.persist(event)
    elif isinstance(event, Value):
        services.value_log.add(event)
        await services.writer.write([value_document(event)])
    else:
        services.verdicts.add(event)


def document_of(moments: Sequence[Moment], judged: dict[Pair, bool], *, is_measured: bool = True) -> dict[str, Any]:
    """Return a `ReplayDocument`; precision only counts pairs that were judged."""
    cases = [_case(moment, judged) for moment in moments if moment.is_told]
    pairs = [(case["later"]["id"], each["id"]) for case in cases for each in case["shown"]]
    known = [judged[pair] for pair in pairs if pair in judged]
    return {
        "entries": _reach(moments),
        "failures": _reach([each for each in moments if each.entry.outcome.status is OutcomeStatus.FALSIFIED]),
        "pairs": len(pairs),
        "judged": len(known),
        "unjudged": len(pairs) - len(known),
        "precision": sum(known) / len(known) if known else None,
        "cases": cases,
        **({} if is_measured else {"note": _UNMEASURED}),
    }


def read_judgements(path: Path) -> dict[Pair, bool]:
    """Return which pairs were judged, and whether the earlier one applies; a missing file has none."""
    try:
        pairs = json.loads(path.read_text("utf-8"))["pairs"]
        return {
            (str(pair["later"]), str(pair["earlier"])): pair["applies"]
            for pair in pairs
            if isinstance(pair["applies"], bool)
        }
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError):
        raise InvalidInputError(
            f"{path} is not a file of judgements.", hint="Name a new file: the command writes it."
        ) from None


def write_judgements(path: Path, judged: dict[Pair, bool], cases: Sequence[dict[str, Any]]) -> None:
    """Write the judged pairs, and those that somebody has to judge, with what is needed to do so."""
    shown = {(case["later"]["id"], each["id"]): (case["later"], each) for case in cases for each in case["shown"]}
    pairs = [
        {
            "later": later,
            "earlier": earlier,
            "applies": judged.get((later, earlier)),
            **({"side_by_side": shown[later, earlier]} if (later, earlier) in shown else {}),
        }
        for later, earlier in dict.fromkeys([*judged, *shown])
    ]
    about = "Does the lesson of the earlier entry apply at the start of the later one? applies: true or false."
    try:
        text = json.dumps({"about": about, "pairs": pairs}, ensure_ascii=False, indent=1)
        path.write_text(f"{text}\n", "utf-8")
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written ({error.strerror}).") from None


def _reach(moments: Sequence[Moment]) -> dict[str, int]:
    return {"total": len(moments), "shown": sum(moment.is_told for moment in moments)}


def _case(moment: Moment, judged: dict[Pair, bool]) -> dict[str, Any]:
    later = moment.entry
    shown = [
        *(entry_views.short_experience(each.entry, each.score) for each in moment.experiences),
        *(
            {
                "id": each.value.id,
                "score": round(each.similarity, 4),
                "learned": each.value.text,
                "project": each.value.project,
                "created_at": each.value.created_at.isoformat(),
            }
            for each in moment.values
        ),
    ]
    for each in shown:
        if (applies := judged.get((later.id, each["id"]))) is not None:
            each["applies"] = applies
    return {
        "later": {
            "id": later.id,
            "goal": later.goal,
            "hypothesis": at_its_start(later).hypothesis,
            "outcome_status": later.outcome.status.value,
        },
        "shown": shown,
    }


def _show(document: dict[str, Any], judgements: Path | None) -> None:
    failures, entries = document["failures"], document["entries"]
    out.say(
        f"Something would have been shown for {failures['shown']:,} of {out.counted(failures['total'], 'failure')}, "
        f"and for {entries['shown']:,} of {out.counted(entries['total'], 'entry')} in all."
    )
    if note := document.get("note"):
        out.remark(note)
    if document["precision"] is not None:
        pairs = out.counted(document["judged"], "judged pair")
        out.say(f"Of {pairs}, {document['precision']:.0%} apply.")
    for case in document["cases"]:
        later = case["later"]
        out.say()
        out.say(f"{later['id']}  {later['outcome_status']}")
        out.say(f"  {one_line(later['goal'])}: {one_line(later['hypothesis'])}")
        for each in case["shown"]:
            kind = each.get("outcome_status", "value")
            said = [one_line(each[part]) for part in ("goal", "learned") if part in each]
            out.say(f"  {each['score']:.2f}  {each['id']}  {kind}")
            out.say(f"        {': '.join(said)}")
    for way, found in document.get("recurring", {}).items():
        told, right = (f"{found[part] or 0:.0%}" for part in ("told", "right"))
        out.say(
            f"{way}: told at {told} of {out.counted(found['moments'], 'error')} that came again, right in {right} of "
            f"{found['judged']:,}; {found['speech']:,} bytes; {found['calls'] or 0:g} calls until it worked."
        )
    if judgements and document["unjudged"]:
        out.remark(
            f"{out.counted(document['unjudged'], 'pair')} in {judgements} not judged yet: set `applies` to true or false, and "
            "run it again."
        )
