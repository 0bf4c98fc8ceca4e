"""The packaged model is loaded while the hub imports the rest; other models wait for the first call."""

import pytest

from learning_memory_server.embedding.base import DEFAULT_MODEL, Embedder
from learning_memory_server.embedding.loading import load_ahead, load_packaged
from learning_memory_server.embedding.source import packaged_source
from learning_memory_server.errors import EmbeddingUnavailableError
from learning_memory_server.server.composition.backends import load_model
from learning_memory_server.server.settings import Settings


@pytest.mark.slow
@pytest.mark.parametrize("raw", [{}, {"embedding_model": DEFAULT_MODEL, "log_level": "debug"}], ids=str)
def test_the_packaged_model_is_loaded_ahead_once(raw: dict[str, object]) -> None:
    load = load_ahead(raw)
    model = load_model(Settings(), packaged=load)

    assert model.identity.weights == packaged_source().weights
    assert load() is load() is model


@pytest.mark.parametrize("raw", [{"embedding_backend": "hashing"}, {"embedding_model": "/models/another"}], ids=str)
def test_no_other_model_is_loaded_ahead(raw: dict[str, object]) -> None:
    assert load_ahead(raw) is load_packaged


def test_a_model_that_could_not_be_loaded_ahead_is_tried_again() -> None:
    attempts: list[str] = []

    def fail() -> Embedder:
        attempts.append("failed")
        raise EmbeddingUnavailableError("It is damaged.")

    load = load_ahead({}, fail)
    for _ in range(2):
        with pytest.raises(EmbeddingUnavailableError):
            load()
    assert len(attempts) > 1
