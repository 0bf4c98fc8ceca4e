"""What advice saves, on sessions whose truth is known, looked at daily."""

import math
import random
from collections.abc import Callable
from datetime import timedelta

import pytest

from learning_memory_server.lessons.calibration import LEAST, Saving, saving
from learning_memory_server.model.advice import Trial
from tests.support import NOON

STORES = 1_000
SESSIONS = 100
A_DAY = 5
"""Sessions of a day, after which somebody looks."""
LATER = NOON + timedelta(days=1_000)

Outcome = Callable[[random.Random, int], float]


def trial(number: int, failed: int | None, *, withheld: bool, probability: float = 0.5) -> Trial:
    at = NOON + timedelta(days=number // A_DAY, minutes=number)
    return Trial(f"session {number:04}", "garden", at, withheld, probability, failed)


def few(draw: random.Random, _number: int) -> float:
    return draw.gammavariate(2, 1.5)


def mostly_none(draw: random.Random, _number: int) -> float:
    """Three of four sessions have no failing call, the others many."""
    return draw.expovariate(1 / 20) if draw.random() < 0.25 else 0.0


def more_and_more(draw: random.Random, number: int) -> float:
    return draw.expovariate(1 / (1 + 0.05 * number))


def store(seed: str, outcome: Outcome, probability: float, saved: int, sessions: int = SESSIONS) -> list[Trial]:
    """Sessions that are told, or not, at random; those that are told have so many failing calls less."""
    draw = random.Random(seed)
    made = []
    for number in range(sessions):
        withheld = draw.random() < probability
        failed = int(outcome(draw, number)) + (saved if withheld else 0)
        made.append(trial(number, failed, withheld=withheld, probability=probability))
    return made


def looks(trials: list[Trial]) -> list[Saving]:
    """What is said on each day. The sessions of that day are not over yet."""
    days = range(LEAST // A_DAY, len(trials) // A_DAY + 1)
    return [saving(trials[: (day + 1) * A_DAY], NOON + timedelta(days=day, hours=2)) for day in days]


@pytest.mark.slow
@pytest.mark.parametrize(("outcome", "probability"), [(few, 0.5), (few, 0.2), (mostly_none, 0.2), (more_and_more, 0.2)])
def test_no_saving_is_claimed_in_at_most_five_percent_of_stores_that_are_looked_at_daily(
    outcome: Outcome, probability: float
) -> None:
    stores = (store(f"{number}", outcome, probability, saved=0) for number in range(STORES))
    claims = sum(any(_excludes(each, 0) for each in looks(trials)) for trials in stores)
    assert claims / STORES <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("probability", [0.5, 0.2])
def test_a_saving_is_found_and_covered_on_every_day(probability: float) -> None:
    found = [looks(store(f"{number}", few, probability, saved=2, sessions=300)) for number in range(200)]
    assert sum(any(_excludes(each, 2) for each in days) for days in found) / len(found) <= 0.05
    assert sum((days[-1].interval or (0, 0))[0] > 0 for days in found) / len(found) >= 0.9
    assert math.fsum(days[-1].saved or 0 for days in found) / len(found) == pytest.approx(2, abs=0.1)


def _excludes(found: Saving, truth: float) -> bool:
    return found.interval is not None and not found.interval[0] <= truth <= found.interval[1]


def test_it_is_the_weighted_difference_with_the_published_interval() -> None:
    # The sessions before each have 1 failing call on average; the first one counts whole.
    trials = [trial(number, 1, withheld=number % 2 == 0) for number in range(LEAST)]
    found = saving(trials, LATER)
    assert found.saved == pytest.approx(2 / LEAST)
    # Variance: 4 of the first estimate's square, over 20. Width by the theorem's formula, by hand.
    squared = (5.9915 + math.log(6.9915)) / 100
    width = math.sqrt(2 * (20 * squared + 1) / (400 * squared) * math.log(math.sqrt(20 * squared + 1) / 0.05))
    assert found.interval is not None
    assert found.interval[1] - 2 / LEAST == pytest.approx(math.sqrt(4 / 20 * 20 / 19) * width, rel=1e-3)


@pytest.mark.parametrize("count", [0, LEAST - 1])
def test_of_too_few_sessions_nothing_is_said(count: int) -> None:
    found = saving([trial(number, 3, withheld=number % 2 == 0) for number in range(count)], LATER)
    assert (found.saved, found.interval, found.needed) == (None, None, None)


def test_only_sessions_count_that_are_over_and_could_have_been_told_or_not() -> None:
    fair = [trial(number, number % 3, withheld=number % 2 == 0) for number in range(30)]
    others = [
        trial(40, None, withheld=True),
        trial(41, 9, withheld=False, probability=0.0),
        Trial("running", "garden", LATER - timedelta(hours=23), True, 0.5, 9),
    ]
    assert saving([*others, *reversed(fair)], LATER) == saving(fair, LATER)


def test_how_many_sessions_it_takes_grows_with_what_differs_anyway() -> None:
    calm, wild = (saving(store("one", few, 0.5, saved=0), LATER), saving(store("one", mostly_none, 0.5, 0), LATER))
    assert calm.needed is not None
    assert wild.needed is not None
    assert LEAST < calm.needed < wild.needed
