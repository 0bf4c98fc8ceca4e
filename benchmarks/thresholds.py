"""Measure the thresholds with several models: `python -m benchmarks.thresholds [--data PATH]`.

The models are the default one, the same with layers of 8 bits, its vectors moved by a constant, their first 128
numbers, its word vectors averaged, and a double of Ollama that has the moved ones. All but the first two have a scale
that is measured here, with the packed texts. They are judged on another store: the experiences of
`benchmarks/data/value-texts.json`, with the questions of `floor-questions.json` and the prompts of `prompts.json`. PATH
is a folder of `retrieval-*.json`, which are searched too.

- silent: the share of off-topic questions that find nothing, of each kind; some are on topic in other stores.
- lost: the share of the relevant results among the first ten that are left out; unanswered: the share of the questions
  with such a result that lose every one.
- prompts: the share of those that no experience bears on at which nothing is said, and of the others at which the right
  one is shown.
- values: the share of experiences' starts that are shown their group's value, and another one if that is absent.
- named: the same for what `resolve_ghap` names.
- copies: the share of texts with one word changed that count as copies, and of other pairs that do.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from benchmarks.population import completed
from benchmarks.ranking import Wrapped, open_ranking
from benchmarks.recurrence import PROMPTS
from benchmarks.retrieval import RetrievalSet
from benchmarks.values import CALLER, groups
from learning_memory_server.advice.constants import VALUE
from learning_memory_server.advice.scorer import Background
from learning_memory_server.embedding import onnx_runtime
from learning_memory_server.embedding.base import Embedder
from learning_memory_server.embedding.extras.ollama import OllamaEmbedder
from learning_memory_server.embedding.graph import TOKENIZER
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.embedding.scale import Scale
from learning_memory_server.embedding.source import packaged_model
from learning_memory_server.index.document import axis_texts
from learning_memory_server.index.queries import ExperienceQuery
from learning_memory_server.index.ranking.threshold import NEAR, NEAR_COPY
from learning_memory_server.lessons.clustering.density import unit_rows
from learning_memory_server.lessons.values.store import learned_text
from learning_memory_server.model.advice import TriggerKind
from learning_memory_server.model.caller import Caller, session_hash
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.trigger import Trigger
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.server.composition.logging import configure_logging
from learning_memory_server.server.composition.services import Services
from tests.embedding.ollama_stub import OllamaStub

QUESTIONS: Final = PROMPTS.with_name("floor-questions.json")
LIMIT: Final = 10
_MOVED: Final = 1.5275  # how far vectors are moved: unrelated texts have a cosine of .73 then
_PAGE: Final = 4096  # what each table of the weights begins at a multiple of

Vectors = NDArray[np.float32]
Search = Callable[[str, float | None], list[str]]


class Varied(Wrapped):
    """The default model with other vectors, and so another model."""

    def __init__(self, inner: Embedder, name: str, change: Callable[[Sequence[str], Vectors], Vectors]) -> None:
        super().__init__(inner)
        self._change = change
        self.identity = replace(inner.identity, model=name, dimension=self.embed_queries(["x"]).shape[1])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return unit_rows(self._change(texts, self._inner.embed_documents(texts)))

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return an array of shape (len(texts), dimension)."""
        return self.embed_documents(texts)


def models(opened: ExitStack) -> Iterator[tuple[str, Embedder]]:
    """Yield the models."""
    default, exact = load_packaged(), onnx_runtime.unpack
    yield "default", default
    onnx_runtime.unpack = lambda *packed: in_eight_bits(exact(*packed))
    try:
        yield "8 bits", load_packaged()
    finally:
        onnx_runtime.unpack = exact
    drawn = np.random.default_rng(7).normal(size=default.identity.dimension)
    moved = Varied(default, "moved", lambda _, made: made + _MOVED * drawn / np.linalg.norm(drawn))
    yield "moved", moved
    yield "first 128", Varied(default, "first 128", lambda _, made: made[:, :128])
    yield "averaged", Varied(default, "averaged", averaging(default.identity.dimension))
    double = opened.enter_context(OllamaStub("moved:latest", embedder=moved))
    yield "Ollama", OllamaEmbedder(double.name, double.url)


def in_eight_bits(matrix: Vectors) -> Vectors:
    """Return a matrix as it is with 8 bits for each number, and one scale for a column."""
    scale = np.abs(matrix).max(0, keepdims=True) / 127
    return np.ascontiguousarray(np.rint(matrix / scale) * scale, dtype=np.float32)


def averaging(dimension: int) -> Callable[[Sequence[str], Vectors], Vectors]:
    """Return what makes the mean of a text's token vectors, which come first in the default model's file of weights."""
    tokenizer = Tokenizer.from_file(str(packaged_model() / TOKENIZER))
    tokenizer.no_padding()
    data = np.fromfile(packaged_model() / onnx_runtime.WEIGHTS, dtype=np.uint8)
    count, blocks = tokenizer.get_vocab_size(), dimension // onnx_runtime.BLOCK
    at = -(-count * dimension // _PAGE) * _PAGE
    scales = data[at : at + 2 * count * blocks].view("<f2").astype(np.float32).reshape(count, blocks, 1)
    words = data[: count * dimension].view(np.int8).reshape(count, blocks, -1) * scales

    def averaged(texts: Sequence[str], _made: Vectors) -> Vectors:
        encoded = tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return np.array([words[each.ids].mean(axis=0).ravel() for each in encoded])

    return averaged


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    configure_logging("error")
    paths = sorted(options.data.glob("retrieval-*.json")) if options.data else []
    with ExitStack() as opened, asyncio.Runner() as runner:
        for name, model in models(opened):
            found = {"own": runner.run(of_own(model))}
            found |= {path.stem: of_set(RetrievalSet.read(path, None), model) for path in paths}
            for store, figures in found.items():
                shown = "  ".join(f"{key} {share:.3f}" for key, share in figures.items())
                print(f"{name:10}{store:24}{shown}")


async def of_own(model: Embedder) -> dict[str, float]:
    """Return the figures of a model in the store of our own experiences."""
    entries = {each.id: (group, place) for group in groups() for place, each in enumerate(group.members)}
    names = {name: f"{group.name}/{place}" for name, (group, place) in entries.items()}
    members = [group.members[place] for group, place in entries.values()]
    good = [
        (each["text"], {f"{each['group']}/{place}" for place in each["answers"]})
        for each in json.loads(QUESTIONS.read_text("utf-8"))["good"]
    ]
    found: dict[tuple[str, float | None], list[str]] = {}
    async with completed(members, load=lambda: model) as services:
        scale = services.index.scale.known
        if scale is None:
            raise RuntimeError(services.index.scale.failure)
        for text in (*dict(good), *itertools.chain.from_iterable(off_topic().values())):
            for least in (None, 0.0):
                query = ExperienceQuery(text, limit=LIMIT, min_score=least)
                result = await services.searcher.search_experiences(query)
                found[text, least] = [names[each.entry.id] for each in result.found]
        figures = shares(good, lambda text, least: found[text, least])
        figures |= await of_prompts(services, names)
    return {"unrelated": scale.unrelated, "spread": scale.spread, **figures, **of_pairs(model, scale, members)}


def of_set(judged: RetrievalSet, model: Embedder) -> dict[str, float]:
    """Return the figures of a model in a retrieval set, whose texts are memories."""
    vectors = model.embed_documents([text for _, text in judged.documents])
    with open_ranking(judged.documents, vectors, model) as ranking:
        return shares(
            judged.queries, lambda text, least: (ranking.search if least is None else ranking.search_all)(text, LIMIT)
        )


def off_topic() -> dict[str, list[str]]:
    """Return the questions that a store of software work cannot answer, by kind."""
    return dict(json.loads(QUESTIONS.read_text("utf-8"))["off_topic"])


def shares(good: Sequence[tuple[str, set[str]]], search: Search) -> dict[str, float]:
    """Return what is silent, lost and unanswered."""
    silent = {kind: float(np.mean([not search(text, None) for text in texts])) for kind, texts in off_topic().items()}
    pairs = [(right.intersection(search(text, 0.0)), right.intersection(search(text, None))) for text, right in good]
    return {
        **{f"silent: {kind}": share for kind, share in silent.items()},
        "lost": 1 - sum(len(after) for _, after in pairs) / sum(len(before) for before, _ in pairs),
        "unanswered": float(np.mean([not after for before, after in pairs if before])),
    }


async def of_prompts(services: Services, names: dict[str, str]) -> dict[str, float]:
    """Return at what share of prompts nothing, and the right thing, is said."""
    services.room.has_deadline = False

    async def told(text: str) -> str | None:
        caller = Caller(CALLER.project, session_hash(text))
        shown = await services.advisor.at(Trigger(TriggerKind.PROMPT, text=text), caller)
        return names[shown.candidates[0].id] if shown.candidates else None

    data = json.loads(PROMPTS.read_text("utf-8"))
    right = [
        await told(each["text"]) in [f"{each['group']}/{at}" for at in each["answers"]] for each in data["related"]
    ]
    silent = [await told(text) is None for text in data["unrelated"]]
    return {"prompts silent": float(np.mean(silent)), "prompts right": float(np.mean(right))}


def of_pairs(model: Embedder, scale: Scale, members: Sequence[Ghap]) -> dict[str, float]:
    """Return how often values are shown at a start and named at an end, and how often texts count as copies."""
    near = np.vectorize(scale.closeness)
    values = model.embed_documents([group.texts["good"] for group in groups()])
    own = np.repeat(np.eye(len(values), dtype=bool), [len(group.members) for group in groups()], axis=0)
    texts = [axis_texts(each)[Axis.FULL] for each in members]
    vectors = model.embed_documents(texts)
    changed = model.embed_documents([text.replace(text.split()[9], "something", 1) for text in texts])
    others = near(vectors @ vectors.T)[~np.eye(len(texts), dtype=bool)]
    figures = {"copies": near((vectors * changed).sum(axis=1)) >= NEAR_COPY, "others": others >= NEAR_COPY}
    begun = model.embed_queries([f"{each.goal}\n{each.hypothesis}" for each in members])
    ended = model.embed_documents(list(map(learned_text, members)))
    for name, made, least in (("values", begun, VALUE), ("named", ended, NEAR)):
        around = [np.delete(row, at) for at, row in enumerate(near(made @ vectors.T))]
        usual = [Background(set(), [], row.tolist()).usual if name == "values" else row.mean() for row in around]
        above = near(made @ values.T) - np.array(usual)[:, None]
        wrong = np.where(own, -1, above).max(axis=1)
        figures |= {f"{name} right": above[own] >= least, f"{name} absent": wrong >= least}
    figures["named right"] &= above[own] > wrong
    return {name: float(share.mean()) for name, share in figures.items()}


if __name__ == "__main__":
    main()
