"""The model that comes with the package: made from the original, the same vectors, without torch."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from learning_memory_server.embedding.base import DEFAULT_MODEL, Embedder
from learning_memory_server.embedding.extras.sentence import SentenceEmbedder
from learning_memory_server.embedding.loading import load_embedder
from learning_memory_server.embedding.onnx_runtime import BLOCK, open_packaged, unpack
from learning_memory_server.embedding.source import file_digest, find_source, packaged_model, packaged_source
from learning_memory_server.errors import EmbeddingUnavailableError
from scripts.packing import pack
from tests.original_model import ORIGINAL

FILES = {"model.onnx", "weights.bin", "tokenizer.json", "meta.json"}

TEXTS = [
    "x",
    "",
    " \t\n ",
    "Why did the nightly import fail?",
    "  Upper CASE, naïve café, Ünïcödé e\u0301 and\u00a0odd\u2003spaces \u200b inside ",
    "接続プールが枯渇した。数据库连接没有关闭。",
    "🚀🔥 shipped it 👩‍👩‍👧‍👦 ✅",
    "def close(self) -> None:\n    if self._pool[0] != 'open':\n        raise RuntimeError(f\"{self!r}\")\n",
    "[CLS] text with [SEP] special [MASK] tokens <s> </s> <pad> [UNK]",
    "https://example.org/a/b?c=d&e=%20f#g 0x7fffdeadbeef 2026-01-01T00:00:00Z 3.14e-10",
    "word " * 2000,
    "x" * 20_000,
    *("word " * length for length in (120, 253, 254, 255, 256, 300)),
    "The connection pool ran out because a transaction was never closed.",
    "Привет, мир! Почему тест падает через раз?",
    "A" * 99 + " " + "b" * 101,
]


@pytest.fixture(scope="module")
def packaged() -> Embedder:
    return load_embedder(DEFAULT_MODEL)


def damaged(tmp_path: Path, name: str) -> Path:
    folder = Path(shutil.copytree(packaged_model(), tmp_path / "damaged"))
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    return folder


@pytest.mark.slow
@pytest.mark.torch
def test_the_files_are_what_the_script_makes_of_the_original(tmp_path: Path) -> None:
    from scripts.default_model import make

    make(tmp_path)

    assert {path.name for path in tmp_path.iterdir()} == FILES
    for name in FILES:
        assert file_digest(tmp_path / name) == file_digest(packaged_model() / name), name


def test_files_licence_and_description_are_small_enough_to_come_along() -> None:
    assert {path.name for path in packaged_model().iterdir()} == FILES | {"LICENSE", "README.md"}
    assert sum(path.stat().st_size for path in packaged_model().iterdir()) < 30_000_000


@pytest.mark.slow
@pytest.mark.torch
def test_vectors_are_nearly_the_original_s(packaged: Embedder) -> None:
    original = SentenceEmbedder(find_source(str(ORIGINAL)))
    documents = packaged.embed_documents(TEXTS)

    assert documents.shape == (len(TEXTS), 384)
    assert np.sum(documents * original.embed_documents(TEXTS), axis=1).min() > 0.9999
    assert np.sum(packaged.embed_queries(TEXTS) * original.embed_queries(TEXTS), axis=1).min() > 0.9999


@pytest.mark.slow
def test_vectors_have_length_1_and_do_not_depend_on_their_batch(packaged: Embedder) -> None:
    texts = TEXTS[-3:]
    together = packaged.embed_documents(texts)

    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_allclose(packaged.embed_queries([text])[0], vector, atol=1e-5)


def test_the_identity_is_the_weights_not_the_original_s(packaged: Embedder) -> None:
    identity = packaged.identity

    assert packaged.runtime == "onnxruntime"
    assert (identity.provider, identity.model) == ("sentence-transformers", DEFAULT_MODEL)
    assert (identity.dimension, identity.max_tokens) == (384, 256)
    assert identity.weights == file_digest(packaged_model() / "weights.bin") == packaged_source().weights
    # Collections on users' machines have it in their names.
    assert identity.digest == "3fc78b9452ac"


@pytest.mark.parametrize("name", ["model.onnx", "weights.bin", "tokenizer.json"])
def test_a_file_of_which_one_bit_changed_is_not_used(tmp_path: Path, name: str) -> None:
    with pytest.raises(EmbeddingUnavailableError, match=f"^{name} of the model is damaged"):
        open_packaged(replace(packaged_source(), folder=damaged(tmp_path, name)))


def test_a_packed_matrix_differs_by_less_than_its_scales() -> None:
    matrix = np.random.default_rng(0).normal(size=(3 * BLOCK, 8)).astype(np.float32)
    matrix[0, 0] = 50
    data = np.frombuffer(pack(matrix), dtype=np.uint8)

    unpacked = unpack(data, *matrix.shape)

    assert len(data) == matrix.size * 10 // 8 + 2 * 3 * 8
    largest = np.abs(matrix.reshape(3, BLOCK, 8)).max(axis=1, keepdims=True).repeat(BLOCK, axis=1).reshape(matrix.shape)
    assert (np.abs(unpacked - matrix) <= largest / 511 * 0.51 + largest * 2**-11).all()
