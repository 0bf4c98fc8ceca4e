"""The Brier score and its bins, against their definitions."""

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter

import pytest
from hypothesis import given, strategies as st

from learning_memory_server.lessons.calibration import Forecast, Score, forecasts_of, score
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
    brier = sum((f.confidence - f.held) ** 2 for f in forecasts) / len(forecasts)
    assert found.brier is not None
    assert math.isclose(found.brier, brier, abs_tol=1e-12)


@given(FORECASTS)
def test_every_forecast_is_in_the_bin_of_its_confidence(forecasts: Sequence[Forecast]) -> None:
    bins = score(forecasts).bins
    assert sum(len(part.forecasts) for part in bins) == len(forecasts)
    for part in bins:
        assert part.interval[0] <= part.share <= part.interval[1]
        for forecast in part.forecasts:
            # 0.3 is below 3 / 10 in no arithmetic that matters, but 0.7 * 10 may round up.
            assert part.low - 1e-9 <= forecast.confidence <= part.high


def test_certain_and_right_is_perfect_and_certain_and_wrong_is_the_worst() -> None:
    assert score([Forecast(1.0, True), Forecast(0.0, False)]).brier == 0
    assert score([Forecast(0.0, True), Forecast(1.0, False)]).brier == 1


def test_a_confidence_of_one_is_in_the_last_bin() -> None:
    (part,) = score([Forecast(0.9, True), Forecast(1.0, True)]).bins
    assert (part.low, part.high, part.held) == (0.9, 1.0, 2)


def test_nothing_stated_has_no_score() -> None:
    assert score([]) == Score(0)


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
