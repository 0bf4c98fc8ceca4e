"""`replay`: what past entries would have been told, had advice been there; without any language model.

The entries go through time again, in a temporary store: at the start of each one, only those that were resolved before
can be shown, and the same ranking chooses as in a session.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from learning_memory_server.access.reading import open_settings, read_entries
from learning_memory_server.advice.finder import AdviceFinder
from learning_memory_server.advice.ranking import best
from learning_memory_server.composition.services import open_services
from learning_memory_server.domain.vocabulary import OutcomeStatus
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.observation.query import EntryQuery
from learning_memory_server.options import chosen_project, chosen_time
from learning_memory_server.terminal import counted, one_line, output, show_json, show_notice, working
from learning_memory_server.views import entry_views

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from learning_memory_server.advice.ranking import Scored
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.operations import Report
    from learning_memory_server.settings import Settings

Pair = tuple[str, str]
"""The ids of a later entry and of an earlier one that would have been shown."""
_UNMEASURED = "No threshold was measured for this embedding model, so nothing would be shown."


@dataclass(frozen=True, slots=True)
class Moment:
    """The start of an entry, and the experiences that would have been shown."""

    entry: Ghap
    shown: tuple[Scored, ...]


@dataclass(frozen=True, slots=True)
class Replayed:
    """The starts of entries in time order, and whether a threshold was measured for the model."""

    moments: tuple[Moment, ...]
    is_measured: bool


async def show_replay(
    since: str | None, project: str | None, judgements: Path | None, *, as_json: bool
) -> None:
    """Print for how many failures something would have been shown, and each case.

    Args:
        since: The value of `--since`: only entries started then or later are told something.
        project: The value of `--project`.
        judgements: A file of judged pairs, to which the pairs that are not in it are added.
        as_json: Print a `ReplayDocument`.

    Raises:
        InvalidInputError: If `since` is not a date, or the file is not one of judgements.
        JournalUnavailableError: If the journal cannot be read.
    """
    settings = open_settings()
    start = chosen_time(since)
    judged = read_judgements(judgements) if judgements else {}
    entries = read_entries(settings).list_resolved(EntryQuery(project=chosen_project(project, settings)))
    with working("replaying") as report:
        replayed = await replay(settings, entries, since=start, report=report)
    document = document_of(replayed, judged)
    if judgements:
        write_judgements(judgements, judged, document["cases"])
    if as_json:
        show_json(document)
        return
    _show(document)
    if judgements and document["unjudged"]:
        pairs = counted(document["unjudged"], "pair")
        show_notice(
            f"{pairs} in {judgements} not judged yet: set `applies` to true or false, and run it again."
        )


async def replay(
    settings: Settings,
    entries: Sequence[Ghap],
    *,
    since: datetime | None = None,
    load: Callable[[], Embedder] | None = None,
    report: Report | None = None,
) -> Replayed:
    """Return what would have been shown at the start of each entry.

    Args:
        settings: The settings; only those of the model matter.
        entries: Resolved entries, in any order.
        since: Only entries started then or later are told something.
        load: Returns an embedding model to use instead of the one in the settings.
        report: Is told how many entries are done.
    """
    by_end = sorted(entries, key=lambda entry: (entry.outcome.resolved_at, entry.id))
    moments, is_measured, resolved = [], True, 0
    with TemporaryDirectory() as folder:
        here = settings.model_copy(
            update={"storage_path": Path(folder), "journal_path": None, "qdrant_url": None}
        )
        async with open_services(here, purpose="replay", load=load) as services:
            finder = AdviceFinder(
                services.collector, services.index, services.value_log, services.verdicts, is_everywhere=False
            )
            await services.writer.complete()
            for number, entry in enumerate(sorted(entries, key=lambda entry: (entry.created_at, entry.id))):
                if report:
                    report("replaying", number, len(entries))
                while resolved < len(by_end) and by_end[resolved].outcome.resolved_at <= entry.created_at:
                    services.collector.add_resolved([by_end[resolved]])
                    await services.persister.persist(by_end[resolved])
                    resolved += 1
                if since and entry.created_at < since:
                    continue
                ranked = await finder.rank(_at_its_start(entry), {})
                is_measured = is_measured and ranked is not None
                moments.append(Moment(entry, tuple(best(ranked.experiences, ranked.least)) if ranked else ()))
    return Replayed(tuple(moments), is_measured)


def document_of(replayed: Replayed, judged: dict[Pair, bool]) -> dict[str, Any]:
    """Return a `ReplayDocument`; precision only counts pairs that were judged."""
    shown = [moment for moment in replayed.moments if moment.shown]
    pairs = [(moment.entry.id, each.entry.id) for moment in shown for each in moment.shown]
    known = [judged[pair] for pair in pairs if pair in judged]
    return {
        "entries": _reach(replayed.moments),
        "failures": _reach([moment for moment in replayed.moments if _failed(moment.entry)]),
        "pairs": len(pairs),
        "judged": len(known),
        "unjudged": len(pairs) - len(known),
        "precision": sum(known) / len(known) if known else None,
        "cases": [_case(moment, judged) for moment in shown],
        **({} if replayed.is_measured else {"note": _UNMEASURED}),
    }


def read_judgements(path: Path) -> dict[Pair, bool]:
    """Return which pairs were judged, and whether the earlier one applies; a missing file has none.

    Raises:
        InvalidInputError: If it is not such a file.
    """
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
    shown = {
        (case["later"]["id"], each["id"]): (case["later"], each) for case in cases for each in case["shown"]
    }
    pairs = [
        {
            "later": later,
            "earlier": earlier,
            "applies": judged.get((later, earlier)),
            **({"side_by_side": shown[later, earlier]} if (later, earlier) in shown else {}),
        }
        for later, earlier in dict.fromkeys([*judged, *shown])
    ]
    about = (
        "Does the lesson of the earlier entry apply at the start of the later one? applies: true or false."
    )
    try:
        text = json.dumps({"about": about, "pairs": pairs}, ensure_ascii=False, indent=1)
        path.write_text(f"{text}\n", "utf-8")
    except OSError as error:
        raise InvalidInputError(f"{path} cannot be written ({error.strerror}).") from None


def _at_its_start(entry: Ghap) -> Ghap:
    return replace(entry, hypothesis=entry.history[0].hypothesis) if entry.history else entry


def _failed(entry: Ghap) -> bool:
    return entry.outcome.status is OutcomeStatus.FALSIFIED


def _reach(moments: Sequence[Moment]) -> dict[str, int]:
    return {"total": len(moments), "shown": sum(bool(moment.shown) for moment in moments)}


def _case(moment: Moment, judged: dict[Pair, bool]) -> dict[str, Any]:
    later = moment.entry
    shown = []
    for each in moment.shown:
        view = entry_views.short_experience(each.entry, each.score)
        applies = judged.get((later.id, each.entry.id))
        shown.append(view if applies is None else {**view, "applies": applies})
    return {
        "later": {
            "id": later.id,
            "goal": later.goal,
            "hypothesis": _at_its_start(later).hypothesis,
            "outcome_status": later.outcome.status.value,
        },
        "shown": shown,
    }


def _show(document: dict[str, Any]) -> None:
    failures, entries = document["failures"], document["entries"]
    output().print(
        f"Something would have been shown for {failures['shown']:,} of {counted(failures['total'], 'failure')}, "
        f"and for {entries['shown']:,} of {counted(entries['total'], 'entry')} in all."
    )
    if note := document.get("note"):
        show_notice(note)
    if document["precision"] is not None:
        pairs = counted(document["judged"], "judged pair")
        output().print(f"Of {pairs}, {document['precision']:.0%} apply.")
    for case in document["cases"]:
        later = case["later"]
        output().print()
        output().print(f"{later['id']}  {later['outcome_status']}")
        output().print(f"  {one_line(later['goal'])}: {one_line(later['hypothesis'])}")
        for each in case["shown"]:
            output().print(f"  {each['score']:.2f}  {each['id']}  {each['outcome_status']}")
            output().print(f"        {one_line(each['goal'])}: {one_line(each.get('learned', ''))}")
