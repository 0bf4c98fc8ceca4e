"""The lift of advice, on outcomes whose truth is known."""

import math
import random

import pytest

from learning_memory_server.learning.calibration import Trial, lift

RUNS = 500
NOMINAL = 0.95
"""The interval's level. With 500 runs the observed share has a standard error of 0.01."""


def outcomes(draw: random.Random, effect: float, *, count: int, probability: float) -> list[Trial]:
    """Entries that hold half the time, and more often by the effect with advice."""
    trials = []
    for _ in range(count):
        withheld = draw.random() < probability
        trials.append(Trial(withheld, probability, draw.random() < (0.5 if withheld else 0.5 + effect)))
    return trials


@pytest.mark.slow
@pytest.mark.parametrize("effect", [0.1, 0.0, -0.1])
@pytest.mark.parametrize(("count", "probability"), [(400, 0.5), (120, 0.2)])
def test_the_interval_covers_the_truth_as_often_as_it_says(effect: float, count: int, probability: float) -> None:
    draw = random.Random(f"{effect} {count}")  # noqa: S311 - a simulation
    found = [lift(outcomes(draw, effect, count=count, probability=probability)) for _ in range(RUNS)]
    covered = sum(one.interval[0] <= effect <= one.interval[1] for one in found) / RUNS
    assert NOMINAL - 0.03 <= covered <= NOMINAL + 0.03
    differences = [one.difference for one in found if one.difference is not None]
    assert math.fsum(differences) / RUNS == pytest.approx(effect, abs=0.012)


@pytest.mark.slow
def test_the_interval_also_covers_the_truth_where_the_probability_was_changed_on_the_way() -> None:
    draw = random.Random("changed")  # noqa: S311 - a simulation
    covered = 0
    for _ in range(RUNS):
        trials = [*outcomes(draw, 0.1, count=200, probability=0.5), *outcomes(draw, 0.1, count=200, probability=0.2)]
        low, high = lift(trials).interval
        covered += low <= 0.1 <= high
    assert covered / RUNS == pytest.approx(NOMINAL, abs=0.03)


def test_equal_probabilities_give_the_plain_difference_of_the_shares() -> None:
    trials = [
        *[Trial(False, 0.3, True)] * 6,
        *[Trial(False, 0.3, False)] * 4,
        *[Trial(True, 0.3, True)] * 2,
        *[Trial(True, 0.3, False)] * 3,
    ]
    found = lift(trials)
    assert (found.shown.count, found.shown.held, found.withheld.count, found.withheld.held) == (10, 6, 5, 2)
    assert found.shown.effective == pytest.approx(10)
    assert found.difference == pytest.approx(0.6 - 0.4)
    # Newcombe's method 10, computed by hand from the Wilson intervals 0.3127 to 0.8318 and 0.1176 to 0.7693.
    assert found.interval == pytest.approx((-0.2677, 0.5652), abs=1e-3)


def test_the_interval_is_the_wider_the_less_there_is() -> None:
    few = [Trial(False, 0.5, True)] * 3 + [Trial(True, 0.5, False)] * 3
    small, large = lift(few), lift(few * 200)
    assert small.difference == large.difference == 1
    assert small.interval[0] < large.interval[0]


def test_an_entry_that_could_not_have_come_into_the_other_arm_tells_nothing() -> None:
    fair = [Trial(False, 0.5, True), Trial(True, 0.5, False)]
    assert lift([*fair, Trial(False, 0.0, False), Trial(True, 1.0, True)]) == lift(fair)


@pytest.mark.parametrize("trials", [[], [Trial(False, 0.5, True)], [Trial(True, 0.5, True)]])
def test_without_both_arms_nothing_is_known(trials: list[Trial]) -> None:
    found = lift(trials)
    assert (found.difference, found.interval) == (None, (-1, 1))


def test_a_probability_that_was_changed_between_easy_and_hard_work_is_no_effect() -> None:
    easy = [Trial(False, 0.5, True)] * 10 + [Trial(True, 0.5, True)] * 10
    hard = [Trial(False, 0.9, False)] * 2 + [Trial(True, 0.9, False)] * 18
    found = lift([*easy, *hard])
    assert found.shown.share == pytest.approx(0.5)
    assert found.withheld.share == pytest.approx(0.5)
    assert found.difference == pytest.approx(0)
