"""Calibration: whether predictions come true, and as often as agents state. Pure functions.

A forecast is a stated confidence and its outcome: 1 if confirmed, 0 if falsified. What was written afterwards is none.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.value import wilson_interval
from learning_memory_server.model.vocabulary import OutcomeStatus

ENOUGH: Final = 10  # The least judged entries for a share: the 95 % interval of five of ten is 0.24 to 0.76
BINS: Final = 10  # Bins of equal width: from 0 to below 0.1, and so on; the last, from 0.9, includes 1
_CLOSE: Final = 0.1  # Up to which difference of confidence and share agents count as well calibrated


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of some entries were confirmed; the others were falsified."""

    held: int
    total: int

    @property
    def share(self) -> float | None:
        """The share that held; None without entries."""
        return self.held / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        return wilson_interval(self.held, self.total)


def rate(statuses: Mapping[OutcomeStatus, int]) -> Rate:
    """Return how many held, from the number of entries of each status. Abandoned ones do not count."""
    held = statuses.get(OutcomeStatus.CONFIRMED, 0)
    return Rate(held, held + statuses.get(OutcomeStatus.FALSIFIED, 0))


def track_record(entry: Ghap, alike: Mapping[OutcomeStatus, int]) -> str | None:
    """Return one line on the outcomes of similar resolved entries, or None with too few judged ones."""
    past = rate(alike)
    if past.total < ENOUGH:
        return None
    return (
        f"{past.held} of {past.total} earlier hypotheses held ({past.held / past.total:.0%}) "
        f"in this project with {entry.domain} and {entry.strategy}."
    )


@dataclass(frozen=True, slots=True)
class Forecast:
    """A stated confidence, 0 to 1, and whether the prediction came true."""

    confidence: float
    held: bool


@dataclass(frozen=True, slots=True)
class Score:
    """How well forecasts fit what happened."""

    count: int  # the number of forecasts, at least 1
    confidence: float  # their mean confidence
    share: float  # the share that came true
    interval: tuple[float, float]  # Wilson's 95 % interval of that share
    brier: float  # the mean squared error of confidence: 0 is perfect, 0.25 is always saying 0.5


@dataclass(frozen=True, slots=True)
class Bin:
    """A point of the reliability diagram: the forecasts with a confidence from `low` to below `high`.

    The last bin includes 1.
    """

    low: float
    high: float
    score: Score


def forecasts_of(entries: Iterable[Ghap], confidence_of: Callable[[Ghap], float | None]) -> list[Forecast]:
    """Return a forecast of each entry that was judged, and for which a confidence was stated."""
    stated = (
        (confidence_of(entry), entry.outcome.status is OutcomeStatus.CONFIRMED)
        for entry in entries
        if entry.outcome.status is not OutcomeStatus.ABANDONED and not entry.afterwards
    )
    return [Forecast(confidence, held) for confidence, held in stated if confidence is not None]


def score(forecasts: Sequence[Forecast]) -> Score | None:
    """Return how well the forecasts fit what happened; None without any."""
    if not forecasts:
        return None
    held = sum(forecast.held for forecast in forecasts)
    return Score(
        count=len(forecasts),
        confidence=_mean([forecast.confidence for forecast in forecasts]),
        share=held / len(forecasts),
        interval=wilson_interval(held, len(forecasts)),
        brier=_mean([(forecast.confidence - forecast.held) ** 2 for forecast in forecasts]),
    )


def bins(forecasts: Iterable[Forecast]) -> list[Bin]:
    """Return the bins that have forecasts, by confidence."""
    contents: dict[int, list[Forecast]] = {}
    for forecast in forecasts:
        contents.setdefault(min(int(forecast.confidence * BINS), BINS - 1), []).append(forecast)
    scores = {number: score(members) for number, members in sorted(contents.items())}
    return [Bin(number / BINS, (number + 1) / BINS, found) for number, found in scores.items() if found]


def verdict(found: Score | None) -> str:
    """Return one sentence that says whether agents are as sure as they may be.

    They are over- or underconfident if the mean confidence lies outside the interval of the share that held.
    """
    if not found:
        return "No agent has stated its confidence yet."
    if found.count < ENOUGH:
        return f"Too few predictions to say ({found.count}; {ENOUGH} are needed)."
    low, high = found.interval
    if found.confidence > high:
        word = "Overconfident"
    elif found.confidence < low:
        word = "Underconfident"
    elif abs(found.confidence - found.share) <= _CLOSE:
        word = "Well calibrated"
    else:
        word = "Not clear yet, the difference may be chance"
    return f"{word}: said {found.confidence:.0%} on average, {found.share:.0%} held ({found.count:,} predictions)."


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)
