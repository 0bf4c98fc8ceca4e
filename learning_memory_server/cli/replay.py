"""`replay`: what past entries would have been told, had advice been there; without any language model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learning_memory_server.cli.access.reading import open_settings, read_entries
from learning_memory_server.cli.options import chosen_project, chosen_time
from learning_memory_server.cli.recurring import compare, sessions_in
from learning_memory_server.cli.replaying import Past, at_its_start, replay
from learning_memory_server.cli.terminal import counted, output, show_json, show_notice, working
from learning_memory_server.errors import InvalidInputError
from learning_memory_server.index.entry_query import EntryQuery
from learning_memory_server.journal.journal import Journal
from learning_memory_server.learning.values.log import ValueLog
from learning_memory_server.learning.values.verdict_log import VerdictLog
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.views import entry_views

if TYPE_CHECKING:
    from learning_memory_server.cli.replaying import Moment, Replayed
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.value import Value

Pair = tuple[str, str]
"""The ids of a later entry, and of an earlier one or a value that would have been shown."""
_UNMEASURED = "No threshold was measured for this embedding model, so nothing would be shown."


async def show_replay(
    since: str | None,
    project: str | None,
    judgements: Path | None,
    transcripts: Path | None = None,
    *,
    as_json: bool,
) -> None:
    """Print for how many failures something would have been shown, and each case.

    Args:
        since: The value of `--since`: only entries started then or later are told something.
        project: The value of `--project`.
        judgements: A file of judged pairs, to which the pairs that are not in it are added.
        transcripts: Also replay the sessions of these transcripts.
        as_json: Print a `ReplayDocument`.

    Raises:
        InvalidInputError: If `since` is not a date, the file is not one of judgements, or transcripts cannot be read.
        JournalUnavailableError: If the journal cannot be read.
    """
    settings = open_settings()
    start = chosen_time(since)
    judged = read_judgements(judgements) if judgements else {}
    entries = read_entries(settings).list_resolved(EntryQuery(project=chosen_project(project, settings)))
    journal = Journal(settings.journal_directory)
    past = Past(entries, ValueLog(journal.values).all(), VerdictLog(journal.verdicts).all())
    with working("replaying") as report:
        replayed = await replay(settings, past, since=start, report=report)
    document = document_of(replayed, judged)
    if transcripts:
        with working("replaying sessions"):
            document["recurring"] = await compare(settings, sessions_in(transcripts))
    if judgements:
        write_judgements(judgements, judged, document["cases"])
    if as_json:
        show_json(document)
        return
    _show(document)
    for way, found in document.get("recurring", {}).items():
        told, right = (f"{found[part] or 0:.0%}" for part in ("told", "right"))
        output().print(
            f"{way}: told at {told} of {counted(found['moments'], 'error')} that came again, right in {right} of "
            f"{found['judged']:,}; {found['speech']:,} bytes; {found['calls'] or 0:g} calls until it worked."
        )
    if judgements and document["unjudged"]:
        pairs = counted(document["unjudged"], "pair")
        show_notice(
            f"{pairs} in {judgements} not judged yet: set `applies` to true or false, and run it again."
        )


def document_of(replayed: Replayed, judged: dict[Pair, bool]) -> dict[str, Any]:
    """Return a `ReplayDocument`; precision only counts pairs that were judged."""
    cases = [_case(moment, judged) for moment in replayed.moments if moment.is_told]
    pairs = [(case["later"]["id"], each["id"]) for case in cases for each in case["shown"]]
    known = [judged[pair] for pair in pairs if pair in judged]
    return {
        "entries": _reach(replayed.moments),
        "failures": _reach([moment for moment in replayed.moments if _failed(moment.entry)]),
        "pairs": len(pairs),
        "judged": len(known),
        "unjudged": len(pairs) - len(known),
        "precision": sum(known) / len(known) if known else None,
        "cases": cases,
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


def _failed(entry: Ghap) -> bool:
    return entry.outcome.status is OutcomeStatus.FALSIFIED


def _reach(moments: Sequence[Moment]) -> dict[str, int]:
    return {"total": len(moments), "shown": sum(moment.is_told for moment in moments)}


def _case(moment: Moment, judged: dict[Pair, bool]) -> dict[str, Any]:
    later = moment.entry
    shown = [
        *(entry_views.short_experience(each.entry, each.score) for each in moment.experiences),
        *(_value(value, cosine) for value, cosine in moment.values),
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


def _value(value: Value, cosine: float) -> dict[str, Any]:
    return {
        "id": value.id,
        "score": round(cosine, 4),
        "learned": value.text,
        "project": value.project,
        "created_at": value.created_at.isoformat(),
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
            kind = each.get("outcome_status", "value")
            said = [one_line(each[part]) for part in ("goal", "learned") if part in each]
            output().print(f"  {each['score']:.2f}  {each['id']}  {kind}")
            output().print(f"        {': '.join(said)}")
