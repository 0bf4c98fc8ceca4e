from dataclasses import replace
from typing import Any

import pytest

from learning_memory_server.embedding.base import EmbeddingIdentity

IDENTITY = EmbeddingIdentity("provider", "model", "weights", 384, 256)


@pytest.mark.parametrize(
    "change",
    [{"provider": "x"}, {"model": "x"}, {"weights": "x"}, {"dimension": 385}, {"max_tokens": 128}, {"definition": "x"}],
)
def test_whatever_decides_about_vectors_changes_the_digest(change: dict[str, Any]) -> None:
    assert replace(IDENTITY, **change).digest != IDENTITY.digest


def test_the_digest_is_stable_because_stored_collections_bear_it() -> None:
    assert IDENTITY.digest == "9488e6faa965"
    assert len(IDENTITY.digest) == 12
