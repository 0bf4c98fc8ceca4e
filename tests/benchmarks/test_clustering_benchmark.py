from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.clustering import METHODS, Texts, in_process, measure, scored, summary
from learning_memory_server.embedding.hashing import HashingEmbedder

if TYPE_CHECKING:
    from pathlib import Path

WORDS = "alpha beta gamma delta epsilon zeta".split()  # noqa: SIM905 shorter


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    path = tmp_path / "clusters-words.jsonl"
    rows = [
        {"text": f"{word} {word}s about {word} number {number}", "label": word}
        for word in WORDS
        for number in range(40)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    return Texts(path, HashingEmbedder())


def test_the_measures_are_those_worked_out_by_hand() -> None:
    # One cluster of two a and one b, one of two b, and an a that is noise.
    found = scored(np.array([0, 0, 0, 1, 1, -1]), np.array([0, 0, 1, 1, 1, 0]))

    # Pairs together in both: 1 + 1 of 4 found and 6 true ones, of 15: (2 - 1.6) / (5 - 1.6).
    assert found["ari"] == pytest.approx(0.4 / 3.4)
    assert found["noise"] == pytest.approx(1 / 6)
    assert found["clusters"] == 2
    assert found["purity"] == pytest.approx(4 / 5)


def test_right_clusters_score_one_and_noise_alone_nothing() -> None:
    truth = np.repeat([0, 1, 2], 4)

    assert scored(truth, truth)["ari"] == scored(truth, truth)["nmi"] == 1
    assert scored(np.full(12, -1), truth)["ari"] == 0
    assert scored(np.full(12, -1), truth)["clusters"] == 0


def test_a_draw_has_as_many_texts_of_each_label_and_keeps_the_others(texts: Texts) -> None:
    rows, others = texts.draw(100, 0)

    assert np.bincount(texts.labels[rows])[np.unique(texts.labels[rows])].tolist() == [20] * 5
    assert set(texts.labels[others]) == set(texts.labels[rows])
    assert not set(rows) & set(others)


def test_more_than_the_set_has_draws_all_of_it(texts: Texts) -> None:
    rows, others = texts.draw(1_000, 0)

    assert len(rows) == 240
    assert len(others) == 0


@pytest.mark.slow
def test_the_report_holds_every_method_and_more_than_the_set_has_is_made_of_copies(texts: Texts) -> None:
    reports = {
        f"words {size}": measure(texts, size, range(1), {}, 60) for size in (100, len(texts.texts) + 10)
    }

    found = summary(reports)

    for name in METHODS:
        assert found[name].keys() == {
            "ari", "nmi", "noise", "clusters", "purity", "seconds", "peak_mb"
        }  # fmt: skip
        assert found[name]["peak_mb"] > 20
    assert [report["copies"] for report in reports.values()] == [0, 10]
    assert {"ids +1%", "ids +10%", "members +10%"} <= found["stability"].keys()
    assert {"tpr", "fpr_hard", "fpr_random", "fpr_off_topic", "strict_tpr"} <= found["value_rule"].keys()
    json.dumps(found)


@pytest.mark.slow
def test_a_method_that_takes_too_long_is_ended_and_the_reason_kept(texts: Texts) -> None:
    vectors = texts.vectors(np.arange(100))

    assert in_process("kmeans", vectors, 5, 0.01) == "not done in 0 s"
