"""Bounds on how well the evidence supports a value."""

import math

import pytest
from hypothesis import example, given, strategies as st

from learning_memory_server.model.value import Status, Support, wilson_interval

COUNTS = st.integers(0, 10_000)


@pytest.mark.parametrize(
    ("successes", "trials", "lower", "upper"),
    # R. G. Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3.
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_the_bounds_are_those_in_literature(successes: int, trials: int, lower: float, upper: float) -> None:
    assert wilson_interval(successes, trials) == pytest.approx((lower, upper), abs=5e-5)


def test_without_trials_nothing_is_known() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert Support().interval == (0.0, 1.0)
    assert Support().status is Status.UNATTESTED


@pytest.mark.parametrize(("successes", "trials"), [(-1, 3), (4, 3), (1, 0)])
def test_more_successes_than_trials_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match="is not a share"):
        wilson_interval(successes, trials)


@given(COUNTS, COUNTS)
def test_the_interval_holds_the_share_and_stays_within_its_range(supporting: int, contradicting: int) -> None:
    trials = supporting + contradicting
    lower, upper = wilson_interval(supporting, trials)

    assert 0 <= lower < upper <= 1
    if trials:
        assert lower - 1e-12 <= supporting / trials <= upper + 1e-12


@given(COUNTS, COUNTS)
def test_the_bounds_solve_the_score_equation(supporting: int, contradicting: int) -> None:
    trials = supporting + contradicting + 1
    share = supporting / trials
    for bound in wilson_interval(supporting, trials):
        if 0 < bound < 1:
            score = abs(share - bound) / math.sqrt(bound * (1 - bound) / trials)
            assert score == pytest.approx(1.959964, abs=1e-3)


@given(COUNTS, COUNTS)
def test_for_and_against_mirror_each_other(supporting: int, contradicting: int) -> None:
    trials = supporting + contradicting
    lower, upper = wilson_interval(supporting, trials)
    other = wilson_interval(contradicting, trials)

    assert (1 - upper, 1 - lower) == pytest.approx(other, abs=1e-9)


@example(0, 2)
@given(COUNTS, COUNTS)
def test_one_more_for_strengthens_and_one_more_against_weakens(supporting: int, contradicting: int) -> None:
    strength = Support(supporting, contradicting).interval[0]

    assert Support(supporting + 1, contradicting).interval[0] > strength
    assert Support(supporting, contradicting + 1).interval[0] <= strength


@given(COUNTS, COUNTS)
def test_an_interval_below_one_half_is_always_contested(supporting: int, contradicting: int) -> None:
    support = Support(supporting, contradicting)
    lower, upper = support.interval

    if upper < 0.5:
        assert support.status is Status.CONTESTED
    if support.status is Status.SUPPORTED:
        assert supporting > contradicting
        assert upper > 0.5
    if support.status is Status.CONTESTED:
        assert contradicting >= supporting
        assert lower < 0.5


def test_one_contradiction_contests_what_nothing_supports() -> None:
    assert Support(0, 1).status is Status.CONTESTED
    assert Support(1, 0).status is Status.SUPPORTED
    assert Support(3, 3).status is Status.CONTESTED
    assert Support(4, 3).status is Status.SUPPORTED
