"""Calibration: shares of predictions that held, and stated confidence. Pure functions.

A forecast is a stated confidence and its outcome: 1 if confirmed, 0 if falsified.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.value import wilson_interval
from learning_memory_server.model.vocabulary import OutcomeStatus

ENOUGH: Final = 10  # The least judged entries for a share: the 95 % interval of five of ten is 0.24 to 0.76


@dataclass(frozen=True, slots=True)
class Rate:
    """How many of the entries of a group were confirmed; the others were falsified."""

    name: str
    held: int
    total: int

    @property
    def share(self) -> float | None:
        """The share that held; None of an empty group."""
        return self.held / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of the share."""
        return wilson_interval(self.held, self.total)


def rate(entries: Iterable[Ghap], name: str = "all") -> Rate:
    """Return how many of the resolved entries held."""
    return _rate_of(Counter(entry.outcome.status for entry in entries), name)


def rates_by(entries: Iterable[Ghap], name_of: Callable[[Ghap], str]) -> list[Rate]:
    """Return how many held in each group that has a judged entry, the largest first."""
    groups: dict[str, list[Ghap]] = {}
    for entry in entries:
        groups.setdefault(name_of(entry), []).append(entry)
    rates = (rate(members, name) for name, members in groups.items())
    return sorted((one for one in rates if one.total), key=lambda one: (-one.total, one.name))


def track_record(entry: Ghap, alike: Mapping[OutcomeStatus, int]) -> str | None:
    """Return one line on the outcomes of similar resolved entries, or None with too few judged ones."""
    past = _rate_of(alike, "alike")
    if past.total < ENOUGH:
        return None
    return (
        f"{past.held} of {past.total} earlier hypotheses held ({past.held / past.total:.0%}) "
        f"in this project with {entry.domain} and {entry.strategy}."
    )


def _rate_of(statuses: Mapping[OutcomeStatus, int], name: str) -> Rate:
    held = statuses.get(OutcomeStatus.CONFIRMED, 0)
    return Rate(name, held, held + statuses.get(OutcomeStatus.FALSIFIED, 0))


BINS: Final = 10  # Bins of equal width: from 0 to below 0.1, and so on; the last, from 0.9, includes 1


@dataclass(frozen=True, slots=True)
class Forecast:
    """A stated confidence, 0 to 1, and whether the prediction came true."""

    confidence: float
    held: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """The forecasts of similar confidence: those from `low` to below `high`; the last bin includes 1."""

    low: float
    high: float
    forecasts: tuple[Forecast, ...]

    @property
    def confidence(self) -> float:
        """Their mean confidence."""
        return _mean([forecast.confidence for forecast in self.forecasts])

    @property
    def held(self) -> int:
        """How many came true."""
        return sum(forecast.held for forecast in self.forecasts)

    @property
    def share(self) -> float:
        """The share that came true."""
        return self.held / len(self.forecasts)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of that share."""
        return wilson_interval(self.held, len(self.forecasts))


@dataclass(frozen=True, slots=True)
class Score:
    """The Brier score of forecasts, and what came true in each bin. All but `bins` are None without a forecast."""

    count: int  # the number of forecasts
    confidence: float | None = None  # their mean confidence
    share: float | None = None  # the share that came true. Confidence above it is overconfidence.
    brier: float | None = None  # The mean squared error of confidence: 0 is perfect, 0.25 is always saying 0.5
    bins: tuple[Bin, ...] = ()  # the bins that have forecasts, by confidence


def forecasts_of(entries: Iterable[Ghap], confidence_of: Callable[[Ghap], float | None]) -> list[Forecast]:
    """Return a forecast of each entry that was judged, and for which a confidence was stated."""
    stated = (
        (confidence_of(entry), entry.outcome.status is OutcomeStatus.CONFIRMED)
        for entry in entries
        if entry.outcome.status is not OutcomeStatus.ABANDONED
    )
    return [Forecast(confidence, held) for confidence, held in stated if confidence is not None]


def score(forecasts: Sequence[Forecast]) -> Score:
    """Return the Brier score of the forecasts, and their bins."""
    if not forecasts:
        return Score(0)
    return Score(
        count=len(forecasts),
        confidence=_mean([forecast.confidence for forecast in forecasts]),
        share=_mean([float(forecast.held) for forecast in forecasts]),
        brier=_mean([(forecast.confidence - forecast.held) ** 2 for forecast in forecasts]),
        bins=_binned(forecasts),
    )


def _binned(forecasts: Sequence[Forecast]) -> tuple[Bin, ...]:
    contents: dict[int, list[Forecast]] = {}
    for forecast in forecasts:
        contents.setdefault(min(int(forecast.confidence * BINS), BINS - 1), []).append(forecast)
    return tuple(Bin(n / BINS, (n + 1) / BINS, tuple(contents[n])) for n in sorted(contents))


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)
