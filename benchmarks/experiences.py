"""Questions to a real journal that were written before any search was: `python -m benchmarks.experiences --data PATH`.

PATH is a file of GHAP entries that the questions in `benchmarks/data` are about. They are imported and asked for as a
server does it. No setting of the search was chosen by these questions, and none may be.

capped@5 is recall@5 where it counts as all to find five of more: no five results can hold eight.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.ranking import measures
from learning_memory_server.domain.vocabulary import Axis, SearchMode
from learning_memory_server.embedding.base import DEFAULT_MODEL
from learning_memory_server.embedding.loading import load_embedder
from learning_memory_server.indexing.document import Collection
from learning_memory_server.observation.documents import entry_of
from learning_memory_server.observation.importing import parse_entries
from learning_memory_server.search.searcher import ExperienceQuery
from learning_memory_server.server.config import Settings
from learning_memory_server.server.services import open_services

if TYPE_CHECKING:
    from collections.abc import Sequence

    from learning_memory_server.server.services import Services

    Questions = list[tuple[str, set[str]]]

QUESTIONS = Path(__file__).parent / "data" / "experience-questions.json"
MEASURES = ("recall@1", "recall@5", "capped@5", "recall@10", "mrr")
TARGET = 0.9
"""The least recall@5 of the search by meaning and by words."""
LIMIT = 20
CAP = 5


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--models", type=Path, help="where the exported model is kept, for a faster run")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    asked = json.loads(QUESTIONS.read_text("utf-8"))["queries"]
    questions = [(question["text"], set(question["relevant"])) for question in asked]
    with tempfile.TemporaryDirectory() as folder:
        answers = asyncio.run(ask(questions, options.data, Path(folder), options.models))
    reports = {name: report(questions, found) for name, found in answers.items()}
    for kind in next(iter(reports.values())):
        print(f"\n{kind}: {sum(_is_of(kind, relevant) for _, relevant in questions)} questions")
        print(f"  {'':9}" + "".join(f"{name:>11}" for name in MEASURES))
        for name, figures in reports.items():
            print(f"  {name:9}" + "".join(f"{100 * figures[kind][key]:11.1f}" for key in MEASURES))
    reached = reports["hybrid"]["all"]["recall@5"]
    print(f"\nrecall@5 of hybrid {reached:.3f}, wanted {TARGET}: {'yes' if reached >= TARGET else 'no'}")
    if options.json:
        print(json.dumps(reports))


async def ask(
    questions: Questions, data: Path, storage: Path, models: Path | None
) -> dict[str, list[list[str]]]:
    """Import the entries and return, for each way of searching, the ids found for each question.

    Args:
        questions: (text, relevant ids) pairs.
        data: The entries, one on a line.
        storage: An empty folder.
        models: Where the exported model is kept.
    """
    settings = Settings(storage_path=storage)
    async with open_services(
        settings,
        purpose="benchmark",
        load=lambda: load_embedder(DEFAULT_MODEL, None, models or storage / "models"),
    ) as services:
        with data.open("rb") as lines:
            parsed = parse_entries(lines, project="predecessor")
        kept = services.collector.add_resolved(list(parsed.entries.values()))
        print(f"{len(kept)} entries, {len(parsed.rejections)} lines rejected, {len(questions)} questions")
        # Before there is an index, the search goes by words.
        answers = {"lexical": await _search(services, questions, SearchMode.LEXICAL)}
        await services.writer.complete()
        answers["dense"] = [await _by_meaning(services, text) for text, _ in questions]
        answers["hybrid"] = await _search(services, questions, SearchMode.HYBRID)
        return answers


def report(questions: Questions, found: Sequence[Sequence[str]]) -> dict[str, dict[str, float]]:
    """Return the figures for each kind of question."""
    reports = {}
    for kind in ("all", "one answer", "several answers"):
        of_kind = [
            (ids, relevant)
            for ids, (_, relevant) in zip(found, questions, strict=True)
            if _is_of(kind, relevant)
        ]
        figures = measures([ids for ids, _ in of_kind], [relevant for _, relevant in of_kind])
        capped = [
            len(relevant.intersection(ids[:CAP])) / min(CAP, len(relevant)) for ids, relevant in of_kind
        ]
        reports[kind] = {**figures, "capped@5": round(sum(capped) / len(capped), 4)}
    return reports


async def _search(services: Services, questions: Questions, expected: SearchMode) -> list[list[str]]:
    answers = []
    for text, _ in questions:
        result = await services.searcher.search_experiences(ExperienceQuery(text, Axis.FULL, limit=LIMIT))
        if result.mode is not expected:
            raise RuntimeError(f"the search was {result.mode}, not {expected}")
        answers.append([found.entry.id for found in result.found])
    return answers


async def _by_meaning(services: Services, text: str) -> list[str]:
    store = await services.index.open()
    vector = await services.embeddings.embed_query(text)
    hits = await store.search(Collection.of(Axis.FULL), vector, limit=LIMIT)
    records = await store.retrieve(Collection.of(Axis.FULL), [hit.id for hit in hits])
    return [entry_of(record.payload).id for record in records]


def _is_of(kind: str, relevant: set[str]) -> bool:
    return kind == "all" or (len(relevant) == 1) == (kind == "one answer")


if __name__ == "__main__":
    main()
