"""Search a real journal with questions written before the search: `python -m benchmarks.experiences --data PATH`.

PATH is a file of GHAP entries, the subject of the questions in `benchmarks/data`. They are imported and searched as a
server does it. They were written before the search existed; no change to the fusion may lower recall@5 below 0.9. That
is judged without the threshold (`no floor`), because what is left out is no matter of ranking; `hybrid` has it.

capped@5 is recall@5 that counts finding five as complete if more than five are relevant.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measuring import Option, options_of
from benchmarks.ranking import measures
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.index.document import Collection
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.journal.archive.entries_importing import parse_entries
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import Services, open_services
from learning_memory_server.server.settings import Settings

Questions = list[tuple[str, set[str]]]

QUESTIONS = Path(__file__).parent / "data" / "experience-questions.json"
MEASURES = ("recall@1", "recall@5", "capped@5", "recall@10", "mrr")
TARGET = 0.9
"""The minimum recall@5 of hybrid search, without its threshold."""
LIMIT = 20
CAP = 5


def main() -> None:
    """Run the benchmark."""
    options = options_of(__doc__, data=Option(Path, is_needed=True))
    configure_logging("error")
    asked = json.loads(QUESTIONS.read_text("utf-8"))["queries"]
    questions = [(question["text"], set(question["relevant"])) for question in asked]
    with tempfile.TemporaryDirectory() as folder:
        answers = asyncio.run(ask(questions, options.data, Path(folder)))
    reports = {name: report(questions, found) for name, found in answers.items()}
    for kind in next(iter(reports.values())):
        print(f"\n{kind}: {sum(_is_of(kind, relevant) for _, relevant in questions)} questions")
        print(f"  {'':9}" + "".join(f"{name:>11}" for name in MEASURES))
        for name, figures in reports.items():
            print(f"  {name:9}" + "".join(f"{100 * figures[kind][key]:11.1f}" for key in MEASURES))
    reached = reports["no floor"]["all"]["recall@5"]
    print(f"\nrecall@5 without the floor {reached:.3f}, wanted {TARGET}: {'yes' if reached >= TARGET else 'no'}")
    if options.json:
        print(json.dumps(reports))


async def ask(questions: Questions, data: Path, storage: Path) -> dict[str, list[list[str]]]:
    """Import the entries and return, for each search mode, the ids found for each question.

    Args:
        questions: (text, relevant ids) pairs.
        data: The entries, one per line.
        storage: An empty folder.
    """
    settings = Settings(storage_path=storage)
    async with open_services(settings, purpose="benchmark", load=load_packaged) as services:
        with data.open("rb") as lines:
            parsed = parse_entries(lines, project="predecessor")
        kept = services.collector.add_resolved(list(parsed.entries.values()))
        print(f"{len(kept)} entries, {len(parsed.rejections)} lines rejected, {len(questions)} questions")
        # Before there is an index, the search is lexical.
        answers = {"lexical": await _search(services, questions, SearchMode.LEXICAL)}
        await services.writer.complete()
        answers["dense"] = [await _semantic(services, text) for text, _ in questions]
        answers["hybrid"] = await _search(services, questions, SearchMode.HYBRID)
        answers["no floor"] = await _search(services, questions, SearchMode.HYBRID, min_score=0.0)
        return answers


def report(questions: Questions, found: Sequence[Sequence[str]]) -> dict[str, dict[str, float]]:
    """Return the metrics for each kind of question."""
    reports = {}
    for kind in ("all", "one answer", "several answers"):
        of_kind = [
            (ids, relevant) for ids, (_, relevant) in zip(found, questions, strict=True) if _is_of(kind, relevant)
        ]
        figures = measures([ids for ids, _ in of_kind], [relevant for _, relevant in of_kind])
        capped = [len(relevant.intersection(ids[:CAP])) / min(CAP, len(relevant)) for ids, relevant in of_kind]
        reports[kind] = {**figures, "capped@5": round(sum(capped) / len(capped), 4)}
    return reports


async def _search(
    services: Services, questions: Questions, expected: SearchMode, min_score: float | None = None
) -> list[list[str]]:
    answers = []
    for text, _ in questions:
        result = await services.searcher.search_experiences(
            ExperienceQuery(text, Axis.FULL, limit=LIMIT, min_score=min_score)
        )
        if result.mode is not expected:
            raise RuntimeError(f"the search was {result.mode}, not {expected}")
        answers.append([found.entry.id for found in result.found])
    return answers


async def _semantic(services: Services, text: str) -> list[str]:
    vector = await services.embeddings.embed_query(text)
    hits = await services.index.nearest(Collection.of(Axis.FULL), vector, limit=LIMIT)
    records = await services.index.retrieve(Collection.of(Axis.FULL), [hit.id for hit in hits])
    return [str(record.payload["ghap_id"]) for record in records]


def _is_of(kind: str, relevant: set[str]) -> bool:
    return kind == "all" or (len(relevant) == 1) == (kind == "one answer")


if __name__ == "__main__":
    main()
