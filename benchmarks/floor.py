"""Measure the floor of search: `python -m benchmarks.floor [--data PATH] [--json]`.

`benchmarks/data/floor-questions.json` has questions that a store of software work cannot answer, of several kinds, and
questions that the experiences of `benchmarks/data/value-texts.json` answer. The store of these experiences is always
measured. PATH is one more: a retrieval set, GHAP entries (the subject of `benchmarks/data/experience-questions.json`),
or a folder of `retrieval-*.json` and `ghap-*.jsonl`; such a store has good questions of its own.

- silent: how many off-topic questions find nothing, of each kind. Where a store is about daily life, or answers
  technical questions in general, those kinds are not off-topic.
- lost: the share of the relevant results among a method's own first ten that it leaves out.
- unanswered: the share of the questions with such a result that lose every one.

Questions at even places are for tuning, those at odd places check. Our floor has constants; each baseline gets the
threshold that silences nine tenths of the off-topic questions for tuning: on the cosine of a plain scan, on the score
of the bm25s package, and on random scores.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import tempfile
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.baselines import at_random, plain_bm25, plain_dense
from benchmarks.ranking import open_ranking
from benchmarks.retrieval import RetrievalSet
from benchmarks.values import groups
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.index.entry_documents import axis_texts
from learning_memory_server.index.entry_query import ExperienceQuery
from learning_memory_server.journal.archive.entries_importing import parse_entries
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import open_services
from learning_memory_server.server.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from benchmarks.baselines import Documents, Method
    from learning_memory_server.embedding.base import Embedder
    from learning_memory_server.model.entry import Ghap

    Good = list[tuple[str, set[str]]]
    Search = Callable[[str], list[str]]

QUESTIONS = Path(__file__).parent / "data" / "floor-questions.json"
OF_ENTRIES = Path(__file__).parent / "data" / "experience-questions.json"
HALVES = ("tuning", "check")
LIMIT = 10
SILENT = 0.9
"""The goal: the share of off-topic questions that find nothing."""
LOST = 0.05
"""The goal: the most relevant results that are left out."""


@dataclass(frozen=True, slots=True)
class Store:
    """A filled store.

    Args:
        name: What the store is called.
        documents: (id, text) pairs.
        good: Questions, and the ids of what answers them.
        search: Returns the ids that our search shows.
        search_all: The same, without a floor.
    """

    name: str
    documents: Documents
    good: Good
    search: Search
    search_all: Search


@dataclass(frozen=True, slots=True)
class Answer:
    """What one method found for a question: the ids it shows, and its first ten before anything is left out."""

    shown: list[str]
    found: list[str]


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    configure_logging("error")
    embedder = load_packaged()
    reports = {}
    for store in stores(options.data, embedder):
        with store as opened:
            print(f"\n{opened.name}: {len(opened.documents)} texts, {len(opened.good)} good questions")
            reports[opened.name] = measure(opened, embedder)
    if options.json:
        print(json.dumps(reports))


def stores(data: Path | None, embedder: Embedder) -> Iterator[Any]:
    """Return the stores to measure, each to be opened."""
    good = [
        (each["text"], {f"{each['group']}/{place}" for place in each["answers"]})
        for each in json.loads(QUESTIONS.read_text("utf-8"))["good"]
    ]
    written = {
        f"{group.name}/{place}": member for group in groups() for place, member in enumerate(group.members)
    }
    yield open_entries("our own experiences", written, good)
    folder = data is not None and data.is_dir()
    paths = (
        sorted([*data.glob("retrieval-*.json"), *data.glob("ghap-*.jsonl")]) if data and folder else [data]
    )
    for path in filter(None, paths):
        if path.suffix == ".jsonl":
            with path.open("rb") as lines:
                entries = parse_entries(lines, project="benchmark").entries
            queries = json.loads(OF_ENTRIES.read_text("utf-8"))["queries"]
            asked = [(query["text"], set(query["relevant"])) for query in queries]
            yield open_entries(path.stem, entries, asked)
        else:
            yield open_memories(RetrievalSet.read(path, None), embedder)


@contextmanager
def open_entries(name: str, entries: dict[str, Ghap], good: Good) -> Iterator[Store]:
    """Import entries, and search them as `search_experiences` does.

    Args:
        name: What to call the store.
        entries: By the ids that `good` names.
        good: Questions, and the ids of what answers them.
    """
    names = {entry.id: key for key, entry in entries.items()}
    with tempfile.TemporaryDirectory() as folder, asyncio.Runner() as runner:
        settings = Settings(storage_path=Path(folder))
        opened = AsyncExitStack()
        try:
            services = runner.run(
                opened.enter_async_context(open_services(settings, purpose="a benchmark", load=load_packaged))
            )
            services.collector.add_resolved(list(entries.values()))
            runner.run(services.writer.complete())

            def search(text: str, min_score: float | None = None) -> list[str]:
                query = ExperienceQuery(text, Axis.FULL, limit=LIMIT, min_score=min_score)
                result = runner.run(services.searcher.search_experiences(query))
                if result.mode is not SearchMode.HYBRID:
                    raise RuntimeError(f"the search was {result.mode}")
                return [names[found.entry.id] for found in result.found]

            documents = [(key, axis_texts(entry)[Axis.FULL]) for key, entry in entries.items()]
            yield Store(name, documents, good, search, lambda text: search(text, 0.0))
        finally:
            runner.run(opened.aclose())


@contextmanager
def open_memories(judged: RetrievalSet, embedder: Embedder) -> Iterator[Store]:
    """Add a set's texts as memories, and search them as `search_memory` does."""
    vectors = embedder.embed_documents([text for _, text in judged.documents])
    with open_ranking(judged.documents, vectors, embedder) as ranking:
        yield Store(
            judged.name,
            judged.documents,
            judged.queries,
            lambda text: ranking.search(text, LIMIT),
            lambda text: ranking.search_all(text, LIMIT),
        )


def measure(store: Store, embedder: Embedder) -> dict[str, dict[str, Any]]:
    """Print and return every method's figures in a store, for each half."""
    kinds: dict[str, list[str]] = json.loads(QUESTIONS.read_text("utf-8"))["off_topic"]
    vectors = embedder.embed_documents([text for _, text in store.documents])
    off_topic = [text for texts in kinds.values() for text in texts[::2]]
    methods: dict[str, Callable[[str], Answer]] = {
        "ours": lambda text: Answer(store.search(text), store.search_all(text)),
        "cosine": cut(plain_dense(store.documents, vectors, embedder), off_topic),
        "bm25": cut(plain_bm25(store.documents), off_topic),
        "random": cut(at_random(store.documents), off_topic),
    }
    report = {}
    width = max(map(len, kinds)) + 2
    print(f"  {'':10}{'':8}" + "".join(f"{name:>{width}}" for name in (*kinds, "all", "lost", "unanswered")))
    for name, method in methods.items():
        asked = {kind: [method(text) for text in texts] for kind, texts in kinds.items()}
        good = [(method(text), relevant) for text, relevant in store.good]
        for place, half in enumerate(HALVES):
            silent = {kind: [not answer.shown for answer in found[place::2]] for kind, found in asked.items()}
            silent["all"] = list(itertools.chain.from_iterable(silent.values()))
            figures = {"silent": {kind: sum(each) / len(each) for kind, each in silent.items()}}
            report[f"{name} {half}"] = figures | losses(good[place::2])
            counts = "".join(f"{f'{sum(each)} of {len(each)}':>{width}}" for each in silent.values())
            shares = "".join(f"{f'{share:.1%}':>{width}}" for share in losses(good[place::2]).values())
            print(f"  {name:10}{half:8}{counts}{shares}")
    return report


def cut(method: Method, off_topic: Sequence[str]) -> Callable[[str], Answer]:
    """Return a method with the threshold that silences nine tenths of the off-topic questions."""
    best = sorted(found[0][1] if (found := method(text, 1)) else -math.inf for text in off_topic)
    least = math.nextafter(best[math.ceil(SILENT * len(best)) - 1], math.inf)

    def search(text: str) -> Answer:
        found = method(text, LIMIT)
        return Answer([key for key, score in found if score >= least], [key for key, _ in found])

    return search


def losses(good: Sequence[tuple[Answer, set[str]]]) -> dict[str, float]:
    """Return the shares of relevant results that were left out, and of questions that lost every one."""
    pairs = [
        (relevant.intersection(each.found), relevant.intersection(each.shown)) for each, relevant in good
    ]
    found = sum(len(before) for before, _ in pairs)
    answered = [after for before, after in pairs if before]
    return {
        "lost": 1 - sum(len(after) for _, after in pairs) / found,
        "unanswered": sum(not after for after in answered) / len(answered),
    }


if __name__ == "__main__":
    main()
