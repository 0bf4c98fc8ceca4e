"""What past entries would have been told: `python -m benchmarks.replay [--data FILE] [--judgements FILE] [--json]`.

The entries of FILE (formats: `benchmarks.recorded`), or else of one's own journal, go through time again in a temporary
store: at the start of each one, only the experiences, values and verdicts of before can be shown, by the ranking of a
session. It prints for how many entries something would have been shown, and the cases side by side. Whether a lesson
applied, only a person can say: --judgements writes the pairs to a file, and counts those judged in it;
`benchmarks.recurrence` takes such a file, too.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from learning_memory_server.lessons.finder import AdviceFinder, Scored, best

from benchmarks.measuring import Option, options_of
from benchmarks.recorded import read_entries
from learning_memory_server.cli.command import Offline
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.lessons.values.log import Likeness, document_of as value_document
from learning_memory_server.model import limits
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import one_line
from learning_memory_server.model.value import Value, Verdict
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.settings import Settings, load_settings
from learning_memory_server.server.views import entry_views

Pair = tuple[str, str]
"""The ids of a later entry, and of an earlier one or a value that would have been shown."""
_UNMEASURED = "No threshold holds for this embedding model, because its scale is not known, so nothing would be shown."


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, data=Option(Path, "resolved entries"), judgements=Option(Path, "judged pairs"))
    configure_logging("error")
    judged = read_judgements(options.judgements) if options.judgements else {}
    settings = Settings() if options.data else load_settings()
    if options.data:
        entries, values, verdicts = read_entries(options.data), list[Value](), list[Verdict]()
    else:
        stored = Offline(settings)
        entries, values, verdicts = stored.collector.list_resolved(), stored.value_log.all(), stored.verdicts.all()
    document = document_of(*asyncio.run(walk(settings, entries, values, verdicts)), judged)
    if options.judgements:
        write_judgements(options.judgements, judged, document["cases"])
    if options.json:
        print(json.dumps(document))
    else:
        show(document)


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
    load: Callable[[], Embedder] | None = None,
) -> tuple[list[Moment], bool]:
    """Return what would have been shown at each start of an entry, in time order, and whether the model has a scale."""
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
            for entry in sorted(entries, key=lambda entry: (entry.created_at, entry.id)):
                while learned < len(events) and events[learned][0] <= entry.created_at:
                    await _learn(services, events[learned][2])
                    learned += 1
                ranked = await finder.rank(at_its_start(entry), {})
                is_measured = is_measured and ranked is not None
                if ranked is None:
                    moments.append(Moment(entry))
                    continue
                experiences = best(ranked.experiences, ranked.least)[: limits.ADVICE_SHOWN]
                fitting = ranked.best_values()[: limits.ADVICE_SHOWN - len(experiences)]
                moments.append(Moment(entry, tuple(experiences), tuple(fitting)))
    return moments, is_measured


def at_its_start(entry: Ghap) -> Ghap:
    """Return an entry with the hypothesis that it began with."""
    return replace(entry, hypothesis=entry.history[0].hypothesis) if entry.history else entry


async def _learn(services: Services, event: Ghap | Value | Verdict) -> None:
    if isinstance(event, Ghap):
        services.collector.add_resolved([event])
        await services.persister.persist(event)
    elif isinstance(event, Value):
        services.value_log.add(event)
        await services.writer.write([value_document(event)])
    else:
        services.verdicts.add(event)


def document_of(moments: Sequence[Moment], is_measured: bool, judged: dict[Pair, bool]) -> dict[str, Any]:
    """Return the report; precision only counts pairs that were judged."""
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
    except (ValueError, KeyError, TypeError):
        raise SystemExit(f"{path} is not a file of judgements. Name a new file: it will be written.") from None


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
    text = json.dumps({"about": about, "pairs": pairs}, ensure_ascii=False, indent=1)
    path.write_text(f"{text}\n", "utf-8")


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


def show(document: dict[str, Any]) -> None:
    """Print the report."""
    for name in ("entries", "failures"):
        print(f"{name}: something would have been shown for {document[name]['shown']} of {document[name]['total']}")
    if note := document.get("note"):
        print(note)
    if document["precision"] is not None:
        print(f"of {document['judged']} judged pairs, {document['precision']:.0%} apply")
    for case in document["cases"]:
        later = case["later"]
        print(f"\n{later['id']}  {later['outcome_status']}")
        print(f"  {one_line(later['goal'])}: {one_line(later['hypothesis'])}")
        for each in case["shown"]:
            said = [one_line(each[part]) for part in ("goal", "learned") if part in each]
            print(f"  {each['score']:.2f}  {each['id']}  {each.get('outcome_status', 'value')}")
            print(f"        {': '.join(said)}")
    print(f"{document['unjudged']} of {document['pairs']} pairs are not judged")


if __name__ == "__main__":
    main()
