"""The probe: a model agrees with itself, and with no other vector."""

import json
from typing import Any

import numpy as np
import pytest

from learning_memory_server.embedding.base import PROBE, agrees
from learning_memory_server.embedding.hashing import HashingEmbedder


def test_a_model_agrees_with_what_was_kept_of_it() -> None:
    probe = HashingEmbedder(384).embed_documents([PROBE])[0]
    kept = json.loads(json.dumps(probe.tolist()))

    assert agrees(kept, probe)
    assert agrees(probe * 2, probe + np.float32(1e-4))


def test_another_model_disagrees() -> None:
    probe = HashingEmbedder(384).embed_documents([PROBE])[0]

    assert not agrees(np.roll(probe, 1), probe)
    assert not agrees(-probe, probe)
    assert not agrees(probe + np.random.default_rng(1).normal(0, 0.003, 384), probe)


@pytest.mark.parametrize(
    "kept", [[], [1.0], [[1.0, 0.0]], [0.0, 0.0], [float("nan"), 1.0], ["x", "y"], None, {}, "text", [1.0, [2.0]]]
)
def test_anything_but_a_vector_agrees_with_nothing(kept: Any) -> None:
    assert not agrees(kept, np.array([1.0, 0.0]))
