"""What a collection records of its recipe: the same as before, and other numbers if anything changes."""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.base import PROBE
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.embedding.tokens import EstimatedTokens
from learning_memory_server.index.document import SHAPES, Collection, Document, WholeDocument, documents_of
from learning_memory_server.index.engines.edge import EdgeStore
from learning_memory_server.index.engines.vectors import TERMS, VECTOR
from learning_memory_server.index.memory_chunks import SHAPES as MEMORY_SHAPES, Chunker, documents_of as chunks_of
from learning_memory_server.index.ranking.terms import encode_document
from learning_memory_server.index.recipe import Recipe, embed, embed_question
from learning_memory_server.model.memory import Memory as Text
from learning_memory_server.system.waiting import BACKGROUND
from tests.support import NOON, Parts, full_ghap, numbered, open_parts

FULL = Collection.EXPERIENCES_FULL
MADE_BEFORE = {"layout": 4, "terms": 3, "vectors": 2, "model": "words", "identity": "ffd9d46348c3", "form": ""}
"""What is kept with a collection of experiences, except the probe, since November 2026."""


async def test_a_collection_records_the_same_as_before(tmp_path: Path) -> None:
    async with open_parts(tmp_path, store_in=EdgeStore) as parts:
        await parts.index.open()
    about = json.loads((tmp_path / "index" / FULL / "about.json").read_text("utf-8"))
    assert {name: value for name, value in about.items() if name != "probe"} == MADE_BEFORE


@pytest.mark.slow
async def test_an_index_made_before_opens_without_a_rebuild(tmp_path: Path) -> None:
    async with open_parts(tmp_path, store_in=EdgeStore) as parts:
        await parts.index.open()
        await parts.learn(numbered(1))
    for collection in Collection:
        about = MADE_BEFORE | {"probe": HashingEmbedder().embed_documents([PROBE])[0].tolist()}
        (tmp_path / "index" / collection / "about.json").write_text(json.dumps(about), "utf-8")

    async with open_parts(tmp_path) as parts:
        await parts.index.open()
        assert parts.index.notices == []
        assert (await parts.index.counts())[FULL] == 1


@pytest.mark.slow
async def test_an_index_with_terms_of_before_is_rebuilt_and_finds_words_without_their_marks(tmp_path: Path) -> None:
    async with open_parts(tmp_path, store_in=EdgeStore) as parts:
        await parts.index.open()
        await parts.learn(numbered(1))
    path = tmp_path / "index" / FULL / "about.json"
    about = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps(about | {"terms": about["terms"] - 1}), "utf-8")

    async with open_parts(tmp_path, store_in=EdgeStore) as parts:
        await parts.index.open()
        assert [FULL in notice for notice in parts.index.notices] == [True]
        assert json.loads(path.read_text("utf-8"))["terms"] == about["terms"]


async def test_the_origin_of_vectors_has_the_same_name_as_before_and_changes_with_the_texts(parts: Parts) -> None:
    assert await parts.index.origin(FULL) == "ffd9d46348c3.2"
    identity = await parts.index.embeddings.identity()
    origins = {Recipe(form, vectors).origin(identity) for form in ("", "texts 2") for vectors in (2, 3)}
    assert len(origins) == 4


def of_documents(documents: list[Document]) -> list[Any]:
    return [(each.collection, each.point_id, each.text, each.parts, each.payload) for each in documents]


# Both were pinned again when payloads lost the texts: fields that nobody reads any more need no rebuild.
def entries() -> list[Any]:
    return of_documents([*documents_of(full_ghap()), *documents_of(numbered(1))])


def memories() -> list[Any]:
    text = "# Setup\n\n" + "One word after another. " * 60 + "\n\n## Linux\n\n```\nmake install\n```\n"
    chunker = Chunker(EstimatedTokens())
    metadata = {"title": "Handbook", "tags": ["a"], "source": "docs", "timestamp": "2026-02-03"}
    memory = Text("m1", text, metadata, NOON, "garden", NOON, chunking=chunker.chunk(text))
    return of_documents(list(chunks_of(memory, chunker)))


def term_weights() -> list[Any]:
    text = (
        "Why doesn't `open_pool()` in src/app.py:42 retry? HTTPServer raised ORA-00942 after v2.1.0; "
        "retry, retry, retry. Caf\u00e9 \u6570\u636e\u5e93 "
        "หยุดnginx पुराने короткий 캐시를"
    )
    indices, values = encode_document(text)
    return [indices, [round(value, 6) for value in values]]


@pytest.mark.parametrize(
    ("part", "present", "sample", "digest"),
    [
        ("form", SHAPES[FULL].form, entries, "20b13eeff1ba"),
        ("form", MEMORY_SHAPES[Collection.MEMORIES].form, memories, "a0c683109512"),
        ("terms", Recipe().terms, term_weights, "64f35d9884e1"),
        ("layout", Recipe().layout, lambda: [VECTOR, TERMS], "9bb34b3bdf56"),
    ],
)
def test_a_change_of_what_is_stored_requires_another_number_in_the_recipe(
    part: str, present: object, sample: Any, digest: str
) -> None:
    made = json.dumps([part, present, sample()], sort_keys=True)
    assert hashlib.sha256(made.encode()).hexdigest()[:12] == digest, (
        f"Index data changed: raise `{part}`, so that existing collections are rebuilt, then pin the new digest."
    )


async def test_a_change_of_vectors_requires_another_number_in_the_recipe() -> None:
    model = EmbeddingService(HashingEmbedder)
    (vector,) = await embed(model, documents_of(full_ghap())[:1])
    model.close()
    assert Recipe().vectors == 2
    assert np.sort(vector)[-3:] == pytest.approx([0.1097, 0.2095, 0.2145], abs=1e-4)


@pytest.fixture
def model() -> Iterator[EmbeddingService]:
    service = EmbeddingService(HashingEmbedder)
    yield service
    service.close()


def document(text: str, *parts: str) -> WholeDocument:
    return WholeDocument(Collection.VALUES, text, text, {}, parts)


def vector_of(text: str) -> NDArray[np.float32]:
    vector: NDArray[np.float32] = HashingEmbedder().embed_documents([text])[0]
    return vector


async def test_a_document_without_parts_has_the_vector_of_its_text(model: EmbeddingService) -> None:
    vectors = await embed(model, [document("one"), document("two")])

    np.testing.assert_array_equal(vectors, [vector_of("one"), vector_of("two")])


async def test_parts_count_half_whatever_their_number(model: EmbeddingService) -> None:
    few, plain, many = await embed(model, [document("whole", "a"), document("plain"), document("whole", *"aaaaa")])

    middle = vector_of("whole") + vector_of("a")
    np.testing.assert_allclose(few, middle / np.linalg.norm(middle), atol=1e-6)
    np.testing.assert_allclose(many, few, atol=1e-6)
    np.testing.assert_array_equal(plain, vector_of("plain"))


async def test_each_part_counts_the_same(model: EmbeddingService) -> None:
    (vector,) = await embed(model, [document("whole", "a", "b", "c")])

    parts = vector_of("a") + vector_of("b") + vector_of("c")
    middle = vector_of("whole") + parts / np.linalg.norm(parts)
    np.testing.assert_allclose(vector, middle / np.linalg.norm(middle), atol=1e-6)


async def test_no_documents_have_no_vectors(model: EmbeddingService) -> None:
    assert len(await embed(model, [])) == 0


async def test_a_questions_vector_is_half_way_to_that_of_its_words_without_names() -> None:
    model = EmbeddingService(HashingEmbedder)
    whole, words = HashingEmbedder().embed_queries(["no /usr/lib/libpq-fe.h found", "no found"])
    made = await embed_question(model, "no /usr/lib/libpq-fe.h found", BACKGROUND)
    np.testing.assert_allclose(made, (whole + words) / np.linalg.norm(whole + words), atol=1e-6)
    for alone in ("no pool found", "libpq-fe.h"):
        made = await embed_question(model, alone, BACKGROUND)
        np.testing.assert_allclose(made, HashingEmbedder().embed_queries([alone])[0], atol=1e-6)
    await model.stop()
