"""What a new entry is told of earlier ones: `python -m benchmarks.advice --data FILE [--sessions FILE]`.

FILE is the file of 81 GHAP entries that `benchmarks/data/advice-judgements.json` is about. They are resolved one after
the other, and before each the advice for its goal and hypothesis is taken from a real index of the earlier ones.

- reach: of the entries to which an earlier lesson applies, the share for which one is shown.
- precision: of what is shown, the share that applies.
- dense, bm25, search: the two best by cosine, by BM25, and by search's own score, down to the score at which as much is
  shown; random: two drawn from all earlier ones, the mean of 200 draws.

`--sessions` adds recorded agent sessions in time order, with the task as goal and its first line as hypothesis: for how
many of those that edited a file which an earlier session of the repository edited such a session is shown.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import random
import tempfile
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from learning_memory_server.advice.finder import AdviceFinder
from learning_memory_server.advice.ranking import AT_MOST, best
from learning_memory_server.composition.services import open_services
from learning_memory_server.domain.ghap import Ghap, Lesson, Resolution
from learning_memory_server.domain.vocabulary import Axis, Domain, OutcomeStatus, Strategy
from learning_memory_server.embedding.packaged import load_packaged
from learning_memory_server.indexing.document import Collection, point_id
from learning_memory_server.observation.documents import axis_texts
from learning_memory_server.observation.importing import parse_entries
from learning_memory_server.observation.query import EntryQuery
from learning_memory_server.search import lexical
from learning_memory_server.search.hybrid import Query
from learning_memory_server.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from learning_memory_server.composition.services import Services

JUDGEMENTS = Path(__file__).parent / "data" / "advice-judgements.json"
LEVELS = (0.9, 0.8, 0.75, 0.7, 0.66, 0.6, 0.5)
"""The precisions at which the curve is read."""
DRAWS = 200
BASELINES = ("dense", "bm25", "search")
_TEXT = 1000
"""Characters of a task that fit into a goal."""

Applicable = dict[str, set[str]]
"""The ids of the earlier entries that apply, by the later one's."""


@dataclass
class Moment:
    """What could be shown at the start of one entry: (score, id) pairs by ranking, best first; and what is shown."""

    id: str
    earlier: list[str]
    shown: list[str] = field(default_factory=list)
    ranked: dict[str, list[tuple[float, str]]] = field(default_factory=dict)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--sessions", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    reports: dict[str, Any] = {}
    if options.data:
        with options.data.open("rb") as lines:
            parsed = parse_entries(lines, project="predecessor")
        entries = sorted(parsed.entries.values(), key=lambda entry: (entry.created_at, entry.id))
        applicable: Applicable = {}
        for pair in json.loads(JUDGEMENTS.read_text("utf-8"))["pairs"]:
            applicable.setdefault(pair["later"], set()).add(pair["earlier"])
        reports["entries"] = show("entries", applicable, walk(entries))
    if options.sessions:
        entries, applicable = sessions(options.sessions)
        reports["sessions"] = show("sessions", applicable, walk(entries))
    if options.json:
        print(json.dumps(reports))


def walk(entries: Sequence[Ghap]) -> list[Moment]:
    """Return what could be shown at the start of each entry, from those resolved before."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_walk(entries, Path(folder)))


async def _walk(entries: Sequence[Ghap], storage: Path) -> list[Moment]:
    moments = []
    async with open_services(
        Settings(storage_path=storage), purpose="benchmark", load=load_packaged
    ) as services:
        finder = AdviceFinder(
            services.collector, services.index, services.value_log, services.verdicts, is_everywhere=False
        )
        await services.writer.complete()
        for entry in entries:
            moments.append(await _moment(services, finder, entry))
            services.collector.add_resolved([entry])
            if not await services.persister.persist(entry):
                raise RuntimeError(f"{entry.id} was not indexed")
    return moments


async def _moment(services: Services, finder: AdviceFinder, entry: Ghap) -> Moment:
    here = EntryQuery(project=entry.project)
    earlier = services.collector.list_resolved(here)
    moment = Moment(entry.id, [each.id for each in earlier])
    if not earlier:
        return moment
    ranked = await finder.rank(entry, {})
    if ranked is None:
        raise RuntimeError("the index is not open, or the model was not measured")
    by_point = {point_id("ghap", each.id): each.id for each in earlier}
    text = f"{entry.goal}\n{entry.hypothesis}"
    near = await services.index.nearest(
        Collection.of(Axis.FULL),
        await services.index.embed_query(text),
        limit=AT_MOST,
        where=here.for_engine(),
    )
    found = await services.index.search_hybrid(
        Query(
            Collection.of(Axis.FULL),
            text,
            AT_MOST,
            here.for_engine(),
            tuple(Collection.of(axis) for axis in Axis if axis is not Axis.FULL),
        )
    )
    texts = [(each.id, axis_texts(each)[Axis.FULL]) for each in earlier]
    moment.shown = [each.entry.id for each in best(ranked.experiences, ranked.least)]
    moment.ranked = {
        "advice": [(each.score, each.entry.id) for each in best(ranked.experiences, float("-inf"))],
        "dense": [(hit.score, by_point[hit.id]) for hit in near],
        "bm25": [(score, key) for key, score in lexical.rank(text, texts, AT_MOST)],
        "search": [(match.score, by_point[match.id]) for match in found],
    }
    return moment


def show(name: str, applicable: Applicable, moments: Sequence[Moment]) -> dict[str, Any]:
    """Print and return the metrics of one set."""
    shown = {moment.id: set(moment.shown) for moment in moments}
    count = sum(map(len, shown.values()))
    answerable = sum(1 for moment in moments if applicable.get(moment.id, set()) & set(moment.earlier))
    spoken = sum(1 for found in shown.values() if found)
    print(f"\n{name}: {len(moments)}, {answerable} of them with something that applies")
    print(f"shown: {count} items at {spoken} of them")
    report: dict[str, Any] = {
        "shown": count,
        "moments": spoken,
        "advice": reach_and_precision(applicable, shown),
        "random": drawn(applicable, moments, count),
    }
    for ranking in BASELINES:
        report[ranking] = reach_and_precision(applicable, cut(moments, ranking, count))
    print(
        f"  {'':8}{'reach':>8}{'precision':>11}{'first':>8}   (first: of these, the best one applies, if all is shown)"
    )
    for ranking in ("advice", *BASELINES, "random"):
        first = hit_rate(applicable, moments, ranking)
        report[ranking]["first"] = first
        print(f"  {ranking:8}{report[ranking]['reach']:8.2f}{report[ranking]['precision']:11.2f}{first:8.2f}")
    print("  reach at a precision of" + "".join(f"{level:7.2f}" for level in LEVELS))
    for ranking in ("advice", *BASELINES):
        curve = report[ranking]["curve"] = reach_at(applicable, moments, ranking)
        print(f"  {ranking:23}" + "".join(f"{reach:7.2f}" for reach in curve))
    return report


def reach_and_precision(applicable: Applicable, shown: Mapping[str, AbstractSet[str]]) -> dict[str, float]:
    """Return reach and precision of what is shown, the ids by moment."""
    useful = {name: found & applicable.get(name, set()) for name, found in shown.items()}
    count = sum(map(len, shown.values()))
    return {
        "reach": round(sum(1 for found in useful.values() if found) / max(len(applicable), 1), 4),
        "precision": round(sum(map(len, useful.values())) / max(count, 1), 4),
    }


def cut(moments: Sequence[Moment], ranking: str, count: int) -> dict[str, set[str]]:
    """Return the `count` best of what a ranking could show at all moments, by moment."""
    everything = sorted(
        ((score, moment.id, key) for moment in moments for score, key in moment.ranked.get(ranking, ())),
        reverse=True,
    )
    shown: dict[str, set[str]] = {}
    for _, name, key in everything[:count]:
        shown.setdefault(name, set()).add(key)
    return shown


def reach_at(applicable: Applicable, moments: Sequence[Moment], ranking: str) -> list[float]:
    """Return the largest reach at each of the levels of precision, whatever the threshold."""
    total = sum(len(moment.ranked.get(ranking, ())) for moment in moments)
    points = [reach_and_precision(applicable, cut(moments, ranking, count)) for count in range(1, total + 1)]
    return [
        max((point["reach"] for point in points if point["precision"] >= level), default=0.0)
        for level in LEVELS
    ]


def hit_rate(applicable: Applicable, moments: Sequence[Moment], ranking: str) -> float:
    """Return for how many of the moments with something that applies the best one does."""
    rates = []
    for moment in moments:
        right = applicable.get(moment.id, set()) & set(moment.earlier)
        if not right:
            continue
        if ranking == "random":
            rates.append(len(right) / len(moment.earlier))
        else:
            rates.append(float(bool(moment.ranked[ranking]) and moment.ranked[ranking][0][1] in right))
    return round(sum(rates) / max(len(rates), 1), 4)


def drawn(applicable: Applicable, moments: Sequence[Moment], count: int) -> dict[str, float]:
    """Return reach and precision of as many items drawn at random, the mean of many draws."""
    generator = random.Random(1)
    pairs = [(moment.id, key) for moment in moments for key in moment.earlier]
    results = []
    for _ in range(DRAWS):
        shown: dict[str, set[str]] = {}
        for name, key in generator.sample(pairs, min(count, len(pairs))):
            shown.setdefault(name, set()).add(key)
        results.append(reach_and_precision(applicable, shown))
    return {name: round(sum(each[name] for each in results) / DRAWS, 4) for name in ("reach", "precision")}


def sessions(path: Path) -> tuple[list[Ghap], Applicable]:
    """Return recorded sessions as entries, and which earlier ones of the repository edited a same file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    entries, edited = [], {}
    for number, row in enumerate(rows):
        at = datetime.fromisoformat(row["at"])
        task = row["task"].strip()
        entry = Ghap(
            id=f"ghap_{at:%Y%m%d_%H%M%S}_{number:06d}",
            project=row["repo"],
            agent_session="benchmark",
            created_at=at,
            domain=Domain.DEBUGGING,
            strategy=Strategy.READ_THE_ERROR,
            goal=task[:_TEXT],
            hypothesis=task.split("\n")[0][:_TEXT],
            action="Work on the task",
            prediction="The tests pass",
            resolution=Resolution(
                OutcomeStatus.CONFIRMED, "Worked on it", at, lesson=Lesson("See which files were edited")
            ),
        )
        entries.append(entry)
        edited[entry.id] = entry.project, _edited_files(row["calls"])
    applicable: Applicable = {}
    for place, later in enumerate(entries):
        project, files = edited[later.id]
        same = {
            each.id
            for each in entries[:place]
            if edited[each.id][0] == project and edited[each.id][1] & files
        }
        if same:
            applicable[later.id] = same
    return entries, applicable


def _edited_files(calls: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the files of the repository that a session edited, without scratch files next to it."""
    edits = [call["input"].strip() for call in calls if call["tool"] == "Edit" and not call["error"]]
    paths = [name.split("testbed/", 1)[-1] for name in edits]
    return {name for name in paths if "/" in name and not name.startswith((".", "/"))}


if __name__ == "__main__":
    main()
