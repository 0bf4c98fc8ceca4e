"""Whatever the filters, the embedded engine finds what an exhaustive search finds."""

import asyncio
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.typing import NDArray

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.tokens import without_names
from learning_memory_server.index.document import Collection, Document, documents_of
from learning_memory_server.index.queries import EntryQuery, ExperienceQuery, FoundExperience, SearchResult
from learning_memory_server.index.ranking.fusion import DEPTH, Basis, contrast, relevance
from learning_memory_server.index.ranking.terms import encode_document, encode_query
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, SearchMode, Strategy
from learning_memory_server.recall.recall import search_lexical
from tests.support import CONFIRMED, NOON, TOPICS, Parts, numbered, open_parts

COUNT = 60
# Values of other fields, and what looks like a condition, must match only as a project.
PROJECTS = ["acme/shop", "acme/site", "debugging", "confirmed", "domain=debugging", "größe 日本"]
WORDS = " ".join(TOPICS.values()).split()
TOLERANCE = 1e-4


def made(number: int) -> Ghap:
    draw = random.Random(number)
    words = draw.sample(WORDS, 8)
    return numbered(
        number,
        project=draw.choice(PROJECTS),
        domain=draw.choice(list(Domain)[:4]),
        strategy=draw.choice(list(Strategy)[:3]),
        goal=" ".join(words),
        hypothesis=f"{words[0]} number {number}",
        resolution=replace(
            CONFIRMED,
            status=draw.choice(list(OutcomeStatus)),
            # Some at exactly the same moment, some a microsecond apart.
            resolved_at=NOON + timedelta(minutes=number // 3, microseconds=draw.randrange(2)),
        ),
    )


ENTRIES = [made(number) for number in range(COUNT)]
MOMENTS = sorted({entry.outcome.resolved_at for entry in ENTRIES})
TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Opened:
    """Services with the entries, and their event loop."""

    runner: asyncio.Runner
    parts: Parts

    def search(self, query: ExperienceQuery) -> SearchResult[FoundExperience]:
        return self.runner.run(self.parts.searcher.search_experiences(query))


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with asyncio.Runner() as runner:
        opening = open_parts(tmp_path_factory.mktemp("filters"))
        parts = runner.run(opening.__aenter__())
        runner.run(parts.ready())
        runner.run(parts.learn(*ENTRIES))
        yield Opened(runner, parts)
        runner.run(opening.__aexit__(None, None, None))


@dataclass(frozen=True, slots=True)
class Worth:
    """The relevance of an entry, computed from its texts alone."""

    cosine: float
    bm25: float
    nearest: float


def worth(axis: Axis, text: str) -> dict[str, Worth]:
    documents: dict[Collection, list[Document]] = {each.collection: [] for each in documents_of(ENTRIES[0])}
    for entry in ENTRIES:
        for document in documents_of(entry):
            documents[document.collection].append(document)
    asked = [each for each in dict.fromkeys((text, without_names(text))) if each]
    question = HashingEmbedder().embed_queries(asked).sum(axis=0)
    question /= np.linalg.norm(question)
    cosines = {name: vectors_of(those) @ question for name, those in documents.items()}
    own = cosines[Collection.of(axis)]
    nearest = np.max(list(cosines.values()), axis=0) if axis is Axis.FULL else own
    encoded = [dict(zip(*encode_document(document.text), strict=True)) for document in documents[Collection.of(axis)]]
    rarity = {}
    for term in encode_query(text)[0]:
        having = sum(term in weights for weights in encoded)
        rarity[term] = math.log(1 + (COUNT - having + 0.5) / (having + 0.5))
    bm25 = [sum(rarity[term] * weights[term] for term in rarity.keys() & weights) for weights in encoded]
    return {entry.id: Worth(float(own[row]), bm25[row], float(nearest[row])) for row, entry in enumerate(ENTRIES)}


def vectors_of(documents: list[Document]) -> NDArray[np.float32]:
    """Return vectors half-way between those of the texts and the means of their parts'."""

    def unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        length: NDArray[np.float32] = np.linalg.norm(vectors, axis=-1, keepdims=True)
        return vectors / length

    model = HashingEmbedder()
    whole = model.embed_documents([document.text for document in documents])
    if not documents[0].parts:
        return whole
    means = np.array([model.embed_documents(document.parts).mean(axis=0) for document in documents])
    return unit(whole + unit(means))


def surely_looked_at(every: dict[str, Worth], limit: int) -> set[str]:
    """The ids that are among the best however ties are ordered: by either search, and then by both together."""
    candidates = {
        key
        for measure in ("cosine", "bm25")
        for key in surely_best({key: getattr(each, measure) for key, each in every.items()}, max(DEPTH, limit))
    }
    basis = Basis(contrast_of(every), 0.45)
    both = {key: relevance(each.cosine, each.bm25, basis) for key, each in every.items()}
    return candidates & surely_best(both, max(DEPTH, limit))


def contrast_of(every: dict[str, Worth]) -> float:
    return contrast(sorted((each.bm25 for each in every.values() if each.bm25), reverse=True))


def surely_best(values: dict[str, float], count: int) -> set[str]:
    beyond = sorted(values.values(), reverse=True)[count : count + 1]
    return {key for key, value in values.items() if value > max([TOLERANCE, *beyond]) + TOLERANCE}


RESTRICTIONS = st.builds(
    EntryQuery,
    domain=st.none() | st.sampled_from(Domain),
    outcome=st.none() | st.sampled_from(OutcomeStatus),
    strategy=st.none() | st.sampled_from(Strategy),
    project=st.none() | st.sampled_from([*PROJECTS, "acme", "", "ACME/SHOP"]),
    since=st.none() | st.builds(lambda at, step: at + step * TICK, st.sampled_from(MOMENTS), st.integers(-1, 1)),
)


@settings(max_examples=200, deadline=None)
@given(
    restriction=RESTRICTIONS,
    axis=st.sampled_from([Axis.FULL, Axis.STRATEGY]),
    words=st.lists(st.sampled_from([*WORDS, "number", "7", "elsewhere"]), min_size=1, max_size=5),
    limit=st.integers(1, COUNT + 1),
)
@pytest.mark.slow
def test_a_search_finds_exactly_what_its_filters_leave(
    opened: Opened, restriction: EntryQuery, axis: Axis, words: list[str], limit: int
) -> None:
    query = ExperienceQuery(" ".join(words), axis, restriction, limit)
    every = worth(axis, query.text)
    meant = {entry.id: every[entry.id] for entry in ENTRIES if restriction.matches(entry)}

    result = opened.search(query)

    weight = result.found[0].explanation.basis.weight if result.found else 0.0
    basis = Basis(contrast_of(meant), weight)
    expected = {key: relevance(each.nearest, each.bm25, basis) for key, each in meant.items()}

    assert result.mode is SearchMode.HYBRID
    found = {match.entry.id: match.score for match in result.found}
    assert len(found) == len(result.found) == min(limit, len(expected))
    assert found.keys() <= expected.keys()
    assert found == pytest.approx({key: expected[key] for key in found}, abs=TOLERANCE)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    left = [expected[key] for key in surely_looked_at(meant, limit) - found.keys()]
    assert max(left, default=0) <= min(found.values(), default=0) + TOLERANCE
    # A lexical search has the same filters.
    lexical = {
        match.entry.id for match in search_lexical(opened.parts.collector.list_resolved(query.where), query).found
    }
    assert lexical <= expected.keys()


@settings(max_examples=100, deadline=None)
@given(
    axis=st.sampled_from([Axis.FULL, Axis.STRATEGY]),
    words=st.lists(st.sampled_from([*WORDS, "number", "7"]), min_size=1, max_size=5),
    limits=st.lists(st.integers(1, 50), min_size=2, max_size=2).map(sorted),
)
@pytest.mark.slow
def test_a_longer_list_begins_with_the_shorter_one(
    opened: Opened, axis: Axis, words: list[str], limits: list[int]
) -> None:
    shorter, longer = (opened.search(ExperienceQuery(" ".join(words), axis, limit=limit)).found for limit in limits)

    assert longer[: len(shorter)] == shorter
