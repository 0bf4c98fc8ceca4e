import numpy as np
import pytest

from learning_memory_server.embedding.hashing import HashingEmbedder


def test_the_numbers_are_the_same_on_every_machine() -> None:
    vector = HashingEmbedder(8).embed_queries(["Read the error, then read the code"])[0]

    np.testing.assert_allclose(vector, PINNED, atol=1e-6)


PINNED = [0.0, -0.5773503, 0.0, 0.0, 0.0, 0.0, -0.5773503, -0.5773503]


def test_vectors_have_the_dimension_and_length_one() -> None:
    vectors = HashingEmbedder(64).embed_documents(["one two", "", "!!!", "three " * 500])

    assert vectors.shape == (4, 64)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_no_texts_make_no_rows() -> None:
    assert HashingEmbedder(16).embed_documents([]).shape == (0, 16)


def test_words_that_cancel_out_still_make_a_unit_vector() -> None:
    for dimension in (1, 2):
        embedder = HashingEmbedder(dimension)
        for number in range(30):
            vector = embedder.embed_queries([f"a{number} b{number}"])[0]
            assert np.linalg.norm(vector) == pytest.approx(1)


def test_case_order_and_punctuation_do_not_matter_and_words_do() -> None:
    embedder = HashingEmbedder()
    base = embedder.embed_queries(["stale cache header"])[0]

    np.testing.assert_array_equal(base, embedder.embed_queries(["Header: CACHE, stale!"])[0])
    near = base @ embedder.embed_queries(["stale cache entry"])[0]
    assert near == pytest.approx(2 / 3, abs=1e-5)
    assert abs(base @ embedder.embed_queries(["something unrelated entirely"])[0]) < 0.3


def test_queries_and_documents_are_alike() -> None:
    embedder = HashingEmbedder()

    np.testing.assert_array_equal(embedder.embed_documents(["a text"])[0], embedder.embed_queries(["a text"])[0])


def test_the_dimension_is_part_of_the_identity() -> None:
    assert HashingEmbedder(8).identity == HashingEmbedder(8).identity
    assert HashingEmbedder(8).identity.digest != HashingEmbedder(16).identity.digest
    assert HashingEmbedder().identity.dimension == 384
