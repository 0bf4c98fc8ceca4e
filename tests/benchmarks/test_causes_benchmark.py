from __future__ import annotations

import numpy as np
import pytest

from benchmarks.causes import FIGURES, drawn, scored

CAUSES = np.array(["order", "order", "edge", "edge", "logic", "logic"])
TASKS = np.array(["sort", "sum", "sort", "sum", "sort", "sum"])


def test_clusters_of_causes_agree_with_the_causes_and_not_with_the_tasks() -> None:
    figures = scored(np.array([0, 0, 1, 1, 2, 2]), CAUSES, TASKS)

    assert set(figures) == set(FIGURES)
    assert figures["cause"] == figures["explicit"] == figures["cause + noise"] == pytest.approx(1)
    assert figures["task"] < 0.1


def test_noise_claims_nothing_unless_it_is_counted() -> None:
    figures = scored(np.array([0, 0, 1, 1, -1, -1]), CAUSES, TASKS)

    assert figures["cause"] == figures["explicit + noise"] == pytest.approx(1)
    assert figures["cause + noise"] < 1
    assert figures["clusters"] == 2
    assert figures["noise"] == pytest.approx(1 / 3)


def test_draws_differ_and_have_their_share_of_the_rows() -> None:
    first, second = drawn(100, 0.8, 2)

    assert len(set(first.tolist())) == len(set(second.tolist())) == 80
    assert first.tolist() == sorted(first.tolist()) != second.tolist()
