"""The packaged model is loaded while the hub imports the rest; other models wait for the first call."""

from __future__ import annotations

import pytest

from learning_memory_server.composition.backends import start_loading
from learning_memory_server.embedding.source import packaged_source
from learning_memory_server.settings import Settings


@pytest.mark.slow
def test_the_packaged_model_is_loaded_early() -> None:
    load = start_loading(Settings())

    assert load is not None
    assert load().identity.weights == packaged_source().weights
    assert load() is load()


@pytest.mark.parametrize(
    "changes", [{"embedding_backend": "hashing"}, {"embedding_model": "/models/another"}], ids=str
)
def test_no_other_model_is_loaded_early(changes: dict[str, str]) -> None:
    assert start_loading(Settings().model_copy(update=changes)) is None
