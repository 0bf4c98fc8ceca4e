"""The scale of a model: measured once, kept, and named if that failed."""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from learning_memory_server.embedding.base import EmbeddingIdentity, Runtime
from learning_memory_server.embedding.hashing import HashingEmbedder
from learning_memory_server.embedding.loading import load_packaged
from learning_memory_server.embedding.scale import DEFAULT_SCALE, ModelScale, Scale, known_scale, measured
from learning_memory_server.embedding.service import EmbeddingService


class Unknown(HashingEmbedder):
    """A model that nobody has seen, to which all texts are somewhat alike."""

    runtime: Runtime = "onnxruntime"

    def __init__(self) -> None:
        super().__init__()
        self.identity = EmbeddingIdentity("onnxruntime", "acme/crowded", "1", 384, 0)
        self.calls = 0
        self.is_broken = False

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        if self.is_broken:
            raise RuntimeError
        vectors = super().embed_documents(texts) + np.float32(0.06)
        crowded: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return crowded


class Same(Unknown):
    """A model that makes one vector of everything."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed_documents(["same"] * len(texts))


Open = Callable[[HashingEmbedder, Path | None], Awaitable[ModelScale]]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Open the scale of a model. The threads of the models end with the test."""
    with ExitStack() as services:

        async def scale_of(model: HashingEmbedder, file: Path | None) -> ModelScale:
            embeddings = services.enter_context(closing(EmbeddingService(lambda: model)))
            scale = ModelScale(embeddings, file)
            scale.look_up(await embeddings.identity())
            return scale

        yield scale_of


def test_unrelated_and_equal_texts_have_the_closeness_of_the_default_model() -> None:
    scale = Scale(0.7, 0.05)
    assert scale.closeness(0.7) == pytest.approx(DEFAULT_SCALE.unrelated)
    assert scale.closeness(1.0) == 1


def test_the_closeness_of_the_default_model_is_its_cosine() -> None:
    assert DEFAULT_SCALE.closeness(0.1234567) == pytest.approx(0.1234567, abs=1e-15)


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_the_scale_of_the_default_model_is_known_by_its_name_and_dimension(name: str) -> None:
    assert known_scale(EmbeddingIdentity("any", name, "1", 384, 0), None) == DEFAULT_SCALE
    assert known_scale(EmbeddingIdentity("any", name, "1", 256, 0), None) is None


@pytest.mark.slow
async def test_measuring_the_default_model_gives_its_known_scale() -> None:
    embeddings = EmbeddingService(load_packaged)
    found = await measured(embeddings)
    embeddings.close()
    assert (found.unrelated, found.spread) == pytest.approx((0.088, 0.065), abs=0.001)


async def test_an_unknown_model_is_measured_once_and_kept(opened: Open, tmp_path: Path) -> None:
    model, file = Unknown(), tmp_path / "scales.json"
    scale = await opened(model, file)
    assert (scale.known, scale.scale) == (None, DEFAULT_SCALE)
    await scale.ensure()
    first, calls = scale.known, model.calls
    assert first
    assert first.unrelated > 0.5
    await scale.ensure()
    again = await opened(model, file)
    await again.ensure()
    assert (again.known, model.calls) == (first, calls)
    assert json.loads(file.read_text())[model.identity.digest]["model"] == "acme/crowded"


async def test_other_weights_are_another_model(opened: Open, tmp_path: Path) -> None:
    model, file = Unknown(), tmp_path / "scales.json"
    await (await opened(model, file)).ensure()
    model.identity = EmbeddingIdentity("onnxruntime", "acme/crowded", "2", 384, 0)
    assert (await opened(model, file)).known is None


async def test_a_failure_is_named_and_tried_again(opened: Open) -> None:
    model = Unknown()
    scale = await opened(model, None)
    model.is_broken = True
    await scale.ensure()
    assert (scale.known, scale.failure) == (None, "The embedding model failed (RuntimeError).")
    model.is_broken = False
    await scale.ensure()
    assert scale.known
    assert scale.failure == ""


async def test_a_model_that_tells_no_texts_apart_has_no_scale(opened: Open) -> None:
    scale = await opened(Same(), None)
    await scale.ensure()
    assert (scale.known, scale.failure) == (None, "The embedding model does not tell texts apart.")


async def test_hashed_words_have_no_scale(opened: Open) -> None:
    scale = await opened(HashingEmbedder(), None)
    await scale.ensure()
    assert (scale.known, scale.failure) == (None, "")


@pytest.mark.parametrize("content", ["", "[]", '{"x": 1}', '{"DIGEST": {"unrelated": "a"}}'])
def test_a_file_that_cannot_be_read_knows_nothing(tmp_path: Path, content: str) -> None:
    identity = Unknown().identity
    (file := tmp_path / "scales.json").write_text(content.replace("DIGEST", identity.digest))
    assert known_scale(identity, file) is None
