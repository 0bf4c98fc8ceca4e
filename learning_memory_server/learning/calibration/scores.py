"""How well the stated confidence of agents fits what happened: the Brier score and its decomposition.

A forecast is a stated confidence and whether the prediction came true: an entry that was confirmed counts as 1, a
falsified one as 0, an abandoned one not at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.model.support import wilson_interval
from learning_memory_server.model.vocabulary import OutcomeStatus

if TYPE_CHECKING:
    from learning_memory_server.model.entry import Ghap

BINS: Final = 10
"""Bins of equal width: from 0 to below 0.1, and so on; the last, from 0.9, includes 1."""


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
        """The share of them that came true."""
        return self.held / len(self.forecasts)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's 95 % interval of that share."""
        return wilson_interval(self.held, len(self.forecasts))


@dataclass(frozen=True, slots=True)
class Score:
    """The Brier score of forecasts, and its parts. All but `bins` are None without a forecast.

    `brier = reliability - resolution + uncertainty + within_bin_variance - 2 * within_bin_covariance`, exactly.

    Sources: A. H. Murphy, A new vector partition of the probability score, J. Appl. Meteor. 12 (1973), 595-600; the two
    parts within bins: D. B. Stephenson et al., Two extra components in the Brier score decomposition, Weather and
    Forecasting 23 (2008), 752-757.
    """

    count: int  # the number of forecasts
    confidence: float | None = None  # their mean confidence
    share: float | None = None  # the share that came true. Confidence above it is overconfidence.
    brier: float | None = None
    """The mean squared difference between confidence and outcome: 0 is perfect, 0.25 is what always saying 0.5 gets."""
    reliability: float | None = None
    """How far the confidence in each bin is from the share that held there; 0 is best."""
    resolution: float | None = None  # how far the bins' shares are from the overall share; more is better
    uncertainty: float | None = None  # what always saying the overall share would get
    within_bin_variance: float | None = None  # how much confidence varies within bins
    within_bin_covariance: float | None = None  # how much of that variation goes along with the outcome
    bins: tuple[Bin, ...] = ()  # the bins that have forecasts, by confidence


def first_stated(entries: Iterable[Ghap]) -> list[Forecast]:
    """Return a forecast of each entry that was judged, with the first confidence stated for it."""
    return _forecasts(entries, lambda entry: entry.first_confidence)


def last_stated(entries: Iterable[Ghap]) -> list[Forecast]:
    """Return a forecast of each entry that was judged, with the last confidence stated for it."""
    return _forecasts(entries, lambda entry: entry.last_confidence)


def score(forecasts: Sequence[Forecast]) -> Score:
    """Return the Brier score of the forecasts and its parts."""
    if not forecasts:
        return Score(0)
    count = len(forecasts)
    bins = _binned(forecasts)
    share = _mean([float(forecast.held) for forecast in forecasts])
    return Score(
        count=count,
        confidence=_mean([forecast.confidence for forecast in forecasts]),
        share=share,
        brier=_mean([(forecast.confidence - forecast.held) ** 2 for forecast in forecasts]),
        reliability=math.fsum(len(b.forecasts) * (b.confidence - b.share) ** 2 for b in bins) / count,
        resolution=math.fsum(len(b.forecasts) * (b.share - share) ** 2 for b in bins) / count,
        uncertainty=share * (1 - share),
        within_bin_variance=math.fsum((f.confidence - b.confidence) ** 2 for b in bins for f in b.forecasts)
        / count,
        within_bin_covariance=math.fsum(
            (f.held - b.share) * (f.confidence - b.confidence) for b in bins for f in b.forecasts
        )
        / count,
        bins=bins,
    )


def _forecasts(entries: Iterable[Ghap], confidence_of: Callable[[Ghap], float | None]) -> list[Forecast]:
    stated = (
        (confidence_of(entry), entry.outcome.status is OutcomeStatus.CONFIRMED)
        for entry in entries
        if entry.outcome.status is not OutcomeStatus.ABANDONED
    )
    return [Forecast(confidence, held) for confidence, held in stated if confidence is not None]


def _binned(forecasts: Sequence[Forecast]) -> tuple[Bin, ...]:
    contents: dict[int, list[Forecast]] = {}
    for forecast in forecasts:
        contents.setdefault(min(int(forecast.confidence * BINS), BINS - 1), []).append(forecast)
    return tuple(Bin(n / BINS, (n + 1) / BINS, tuple(contents[n])) for n in sorted(contents))


def _mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)
