"""The whole algorithm on small committed sets of vectors, whose groups depend on every step and constant."""

import numpy as np
import pytest

from tests.lessons.clustering.making import FILE, ONE_TOPIC, TOPICS
from tests.lessons.clustering.parts import fit, places_of

SETS = range(len(TOPICS) + len(ONE_TOPIC))


@pytest.mark.parametrize("rounding", [0.0, 1e-5], ids=["as committed", "rounded"])
@pytest.mark.parametrize("number", SETS)
def test_the_committed_vectors_have_the_committed_groups(number: int, rounding: float) -> None:
    with np.load(FILE) as sets:
        vectors, groups = sets[f"vectors_{number}"], sets[f"groups_{number}"]
    rounded = vectors * (1 + rounding * np.random.default_rng(number).standard_normal(vectors.shape))

    np.testing.assert_array_equal(places_of(fit(rounded.astype(np.float32))), groups)
