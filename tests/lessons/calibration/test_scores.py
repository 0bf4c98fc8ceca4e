"""The verdict, the Brier score and the bins of the diagram, against their definitions."""

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.lessons.calibration import Forecast, bins, forecasts_of, score, verdict
from learning_memory_server.model.entry import Ghap, Resolution
from learning_memory_server.model.vocabulary import OutcomeStatus
from tests.support import CONFIRMED, NOON, ghap

CONFIDENCES = st.floats(0, 1) | st.sampled_from([n / 10 for n in range(11)])
FORECASTS = st.lists(st.builds(Forecast, CONFIDENCES, st.booleans()), min_size=1, max_size=20)


def resolved(status: OutcomeStatus, confidence: float | None = None) -> Ghap:
    return ghap(resolution=replace(CONFIRMED, status=status), confidence=confidence, first_confidence=confidence)


@given(FORECASTS)
def test_the_score_is_the_mean_squared_difference_of_confidence_and_outcome(forecasts: Sequence[Forecast]) -> None:
    found = score(forecasts)
    assert found is not None
    brier = sum((each.confidence - each.held) ** 2 for each in forecasts) / len(forecasts)
    assert math.isclose(found.brier, brier, abs_tol=1e-12)
    assert found.interval[0] <= found.share <= found.interval[1]


@given(FORECASTS)
def test_every_forecast_is_in_the_bin_of_its_confidence(forecasts: Sequence[Forecast]) -> None:
    found = bins(forecasts)
    assert sum(part.score.count for part in found) == len(forecasts)
    for part in found:
        # 0.3 is below 3 / 10 in no arithmetic that matters, but 0.7 * 10 may round up.
        inside = [each for each in forecasts if part.low - 1e-9 <= each.confidence <= part.high]
        assert len(inside) >= part.score.count
        assert part.low - 1e-9 <= part.score.confidence <= part.high


def test_certain_and_right_is_perfect_and_certain_and_wrong_is_the_worst() -> None:
    right, wrong = (
        score([Forecast(1.0, True), Forecast(0.0, False)]),
        score([Forecast(0.0, True), Forecast(1.0, False)]),
    )
    assert (right and right.brier, wrong and wrong.brier) == (0, 1)


def test_a_confidence_of_one_is_in_the_last_bin() -> None:
    (part,) = bins([Forecast(0.9, True), Forecast(1.0, True)])
    assert (part.low, part.high, part.score.count) == (0.9, 1.0, 2)


def test_nothing_stated_has_no_score() -> None:
    assert score([]) is None
    assert bins([]) == []


@pytest.mark.parametrize(
    ("confidence", "held", "count", "said"),
    [
        (0.8, 12, 22, "Overconfident: said 80% on average, 55% held (22 predictions)."),
        (0.3, 12, 22, "Underconfident: said 30% on average, 55% held (22 predictions)."),
        (0.6, 12, 22, "Well calibrated: said 60% on average, 55% held (22 predictions)."),
        (0.8, 6, 10, "Not clear yet, the difference may be chance: said 80% on average, 60% held (10 predictions)."),
        (0.8, 2, 4, "Too few predictions to say (4; 10 are needed)."),
        (0.8, 0, 0, "No agent has stated its confidence yet."),
    ],
)
def test_the_verdict_names_a_bias_only_if_chance_does_not_explain_it(
    confidence: float, held: int, count: int, said: str
) -> None:
    assert verdict(score([Forecast(confidence, number < held) for number in range(count)])) == said


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (OutcomeStatus.CONFIRMED, [Forecast(0.9, True)]),
        (OutcomeStatus.FALSIFIED, [Forecast(0.9, False)]),
        (OutcomeStatus.ABANDONED, []),
    ],
)
def test_confirmed_came_true_falsified_did_not_and_abandoned_is_left_out(
    status: OutcomeStatus, expected: list[Forecast]
) -> None:
    assert forecasts_of([resolved(status, 0.9)], attrgetter("first_confidence")) == expected


def test_an_entry_without_a_confidence_is_left_out() -> None:
    assert forecasts_of([resolved(OutcomeStatus.CONFIRMED)], attrgetter("first_confidence")) == []
    assert forecasts_of([resolved(OutcomeStatus.CONFIRMED)], attrgetter("last_confidence")) == []


def test_the_first_and_the_last_stated_are_apart() -> None:
    entry = (
        ghap(confidence=0.9, first_confidence=0.9)
        .revised(at=NOON, confidence=0.7)
        .revised(at=NOON, hypothesis="The load balancer queues requests", confidence=0.4)
        .revised(at=NOON, prediction="Its queue is long under load")
    )
    ended = replace(entry, resolution=Resolution(OutcomeStatus.CONFIRMED, "It was.", NOON))
    assert forecasts_of([ended], attrgetter("first_confidence")) == [Forecast(0.9, True)]
    assert forecasts_of([ended], attrgetter("last_confidence")) == [Forecast(0.4, True)]
