from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.service import EmbeddingService
from learning_memory_server.index.document import Collection, WholeDocument
from learning_memory_server.index.recipe import embed


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
