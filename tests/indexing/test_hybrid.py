from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.terms import encode_document, encode_query
from learning_memory_server.errors import StorageUnavailableError
from learning_memory_server.indexing.document import Collection, Document, Query, WholeDocument, point_id
from learning_memory_server.indexing.fusion import DEPTH, relevance
from learning_memory_server.storage.base import Filter
from tests.support import open_memory

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

    from tests.support import Memory

NOTES = Collection.MEMORIES
WORDS = ("pool", "cache", "token", "retry", "queue", "shard", "index", "proxy", "build", "socket", "thread")


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[Memory]:
    async with open_memory(tmp_path) as opened:
        await opened.index.open()
        yield opened


def note(number: int, text: str) -> Document:
    return WholeDocument(NOTES, point_id("memory", str(number)), text, {"number": number})


def query(text: str, limit: int = 10) -> Query:
    return Query(NOTES, text, limit, Filter())


def brute_force(documents: Sequence[Document], text: str) -> list[tuple[str, float]]:
    """Every document's relevance, computed without an engine, best first."""
    encoded = [dict(zip(*encode_document(document.text), strict=True)) for document in documents]
    vector = HashingEmbedder().embed_query(text)
    vectors = HashingEmbedder().embed_documents([document.text for document in documents])
    scores = []
    for document, weights, row in zip(documents, encoded, vectors, strict=True):
        bm25 = 0.0
        for term in set(encode_query(text)[0]) & weights.keys():
            having = sum(term in other for other in encoded)
            bm25 += weights[term] * math.log(1 + (len(encoded) - having + 0.5) / (having + 0.5))
        scores.append((document.point_id, relevance(float(vector @ row), bm25)))
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))


async def test_every_score_is_exact_whichever_search_found_the_text(memory: Memory) -> None:
    documents = [
        note(n, " ".join((WORDS[n % 11], WORDS[n % 7], WORDS[n % 5], f"case{n}", "again " * (n % 4))))
        for n in range(4 * DEPTH)
    ]
    await memory.index.write(documents)

    for text in ("pool cache", "the retry of the index again", "case17 queue", "again and again"):
        expected = dict(brute_force(documents, text))
        matches = await memory.index.search_hybrid(query(text, 10))
        assert len(matches) == 10
        assert [m.score for m in matches] == pytest.approx([expected[m.id] for m in matches], abs=1e-4)
        # All are asked for, so none can be missed.
        ranked = await memory.index.search_hybrid(query(text, 4 * DEPTH))
        assert [m.score for m in ranked] == pytest.approx(sorted(expected.values(), reverse=True), abs=1e-4)


async def test_a_text_that_only_one_search_finds_is_found(memory: Memory) -> None:
    # All of the crowd is nearer by meaning, as far as words that are written alike go.
    crowd = [note(n, f"restart {' '.join(f'filler{n}x{k}' for k in range(9))}") for n in range(2 * DEPTH)]
    named = note(999, "readFile parseHeader")
    await memory.index.write([*crowd, named])
    text = "restart, read the file, parse the header"
    near = await memory.nearest(query(text).collection, text, DEPTH)
    assert named.point_id not in [hit.id for hit in near]

    best = (await memory.index.search_hybrid(query(text)))[0]

    vector, row = HashingEmbedder().embed_documents([text, named.text])
    assert (best.id, best.payload) == (named.point_id, {"number": 999})
    assert best.cosine == pytest.approx(float(vector @ row), abs=1e-4)


async def test_a_query_without_terms_is_answered_by_meaning(memory: Memory) -> None:
    await memory.index.write([note(n, f"text {n}") for n in range(3)])

    matches = await memory.index.search_hybrid(query("?!"))

    assert len(matches) == 3
    assert [m.score for m in matches] == pytest.approx([0.6 * max(m.cosine, 0) for m in matches])


async def test_equal_texts_are_ordered_by_id(memory: Memory) -> None:
    await memory.index.write([note(n, "the very same words") for n in range(2 * DEPTH)])

    matches = await memory.index.search_hybrid(query("same words", 5))

    assert [m.id for m in matches] == sorted(point_id("memory", str(n)) for n in range(2 * DEPTH))[:5]


async def test_what_may_not_be_shown_takes_no_place(memory: Memory) -> None:
    await memory.index.write([note(n, f"pool of connections {n % 7}") for n in range(3 * DEPTH)])
    everything = await memory.index.search_hybrid(query("pool of connections 3", 3 * DEPTH))
    hidden = {match.payload["number"] for match in everything[: 2 * DEPTH + 5]}

    shown = await memory.index.search_hybrid(
        query("pool of connections 3"), lambda payload: payload["number"] not in hidden
    )
    none = await memory.index.search_hybrid(query("pool of connections 3"), lambda _: False)

    assert [match.id for match in shown] == [match.id for match in everything[2 * DEPTH + 5 :][:10]]
    assert none == []


async def test_an_empty_collection_has_no_matches(memory: Memory) -> None:
    assert await memory.index.search_hybrid(query("pool")) == []


async def test_a_failing_engine_is_told(memory: Memory) -> None:
    memory.store.down = StorageUnavailableError("down")
    with pytest.raises(StorageUnavailableError, match="down"):
        await memory.index.search_hybrid(query("pool"))
