import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from learning_memory_server.embedding.base import PROBE, EmbeddingIdentity, same_model
from learning_memory_server.embedding.hashing import HashingEmbedder

IDENTITY = EmbeddingIdentity("provider", "model", "weights", 384, 256)


@pytest.mark.parametrize(
    "change",
    [{"provider": "x"}, {"model": "x"}, {"weights": "x"}, {"dimension": 385}, {"max_tokens": 128}, {"definition": "x"}],
)
def test_whatever_decides_about_vectors_changes_the_digest(change: dict[str, Any]) -> None:
    assert replace(IDENTITY, **change).digest != IDENTITY.digest


def test_the_digest_is_stable_because_stored_collections_bear_it() -> None:
    assert IDENTITY.digest == "6a2685acc674"
    assert len(IDENTITY.digest) == 12


def test_a_model_agrees_with_what_was_kept_of_it() -> None:
    probe = HashingEmbedder(384).embed_documents([PROBE])[0]
    kept = json.loads(json.dumps(probe.tolist()))

    assert same_model(kept, probe)
    assert same_model(probe * 2, probe + np.float32(1e-4))


def test_another_model_disagrees() -> None:
    probe = HashingEmbedder(384).embed_documents([PROBE])[0]

    assert not same_model(np.roll(probe, 1), probe)
    assert not same_model(-probe, probe)
    assert not same_model(probe + np.random.default_rng(1).normal(0, 0.003, 384), probe)


@pytest.mark.parametrize(
    "kept", [[], [1.0], [[1.0, 0.0]], [0.0, 0.0], [float("nan"), 1.0], ["x", "y"], None, {}, "text", [1.0, [2.0]]]
)
def test_anything_but_a_vector_agrees_with_nothing(kept: Any) -> None:
    assert not same_model(kept, np.array([1.0, 0.0]))
