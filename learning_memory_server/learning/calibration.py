"""How well predictions turn out: shares that held, stated confidence, and what advice changes. Pure functions.

A forecast is a stated confidence and whether the prediction came true: an entry that was confirmed counts as 1, a
falsified one as 0, an abandoned one not at all.

Whether advice helps is read from entries for which it was withheld at random. Advice is shown where something similar
happened before, so entries with and without it differ anyway. Only a coin can make them comparable: an entry's advice
is withheld with a known probability, and both kinds are compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from learning_memory_server.model.advice import Advice
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.support import wilson_interval
from learning_memory_server.model.vocabulary import OutcomeStatus

ENOUGH: Final = 10
"""From this many judged entries on, their share is worth telling: the 95 % interval of five of ten is 0.24 to 0.76."""


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
    """Return one line on what became of resolved entries like this one, or None if too few are judged."""
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
        within_bin_variance=math.fsum((f.confidence - b.confidence) ** 2 for b in bins for f in b.forecasts) / count,
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


@dataclass(frozen=True, slots=True)
class Trial:
    """A judged entry for which there was advice."""

    withheld: bool  # whether the advice was withheld
    probability: float  # the probability with which it was to be withheld, above 0 and below 1
    held: bool  # whether the hypothesis held


@dataclass(frozen=True, slots=True)
class Arm:
    """The entries whose advice was shown, or those whose advice was withheld."""

    count: int  # how many
    held: int  # how many held
    share: float | None
    """The share that held, weighted by the inverse of the probability that an entry came into this arm; None if the arm
    is empty."""
    effective: float  # the number of equally weighted entries that would tell as much: at most `count`


@dataclass(frozen=True, slots=True)
class Lift:
    """By how much more often hypotheses held where advice was shown. Shares are from 0 to 1, lifts from -1 to 1."""

    shown: Arm  # the entries with advice
    withheld: Arm  # the entries whose advice was withheld
    difference: float | None  # the difference of the shares; None if an arm is empty
    interval: tuple[float, float]  # its 95 % interval


def trials_of(advice: Iterable[Advice], entries: Iterable[Ghap]) -> list[Trial]:
    """Return a trial of each judged entry for which there was advice.

    An entry's advice is all shown or all withheld.
    """
    first: dict[str, Advice] = {}
    for each in advice:
        first.setdefault(each.ghap_id, each)
    return [
        Trial(first[entry.id].withheld, first[entry.id].probability, entry.outcome.status is OutcomeStatus.CONFIRMED)
        for entry in entries
        if entry.id in first and entry.outcome.status is not OutcomeStatus.ABANDONED
    ]


def lift(trials: Sequence[Trial]) -> Lift:
    """Return the lift of advice.

    The interval joins the Wilson intervals of both arms. Source: R. G. Newcombe, Interval estimation for the difference
    between independent proportions, Statistics in Medicine 17 (1998), 873-890, method 10. Trials that could not have
    come into the other arm tell nothing and are left out.
    """
    fair = [trial for trial in trials if 0 < trial.probability < 1]
    shown = _arm([(1 / (1 - trial.probability), trial.held) for trial in fair if not trial.withheld])
    withheld = _arm([(1 / trial.probability, trial.held) for trial in fair if trial.withheld])
    if shown.share is None or withheld.share is None:
        return Lift(shown, withheld, None, (-1.0, 1.0))
    difference = shown.share - withheld.share
    shown_low, shown_high = _interval(shown)
    withheld_low, withheld_high = _interval(withheld)
    below = math.hypot(shown.share - shown_low, withheld_high - withheld.share)
    above = math.hypot(shown_high - shown.share, withheld.share - withheld_low)
    return Lift(shown, withheld, difference, (difference - below, difference + above))


def _arm(weighted: Sequence[tuple[float, bool]]) -> Arm:
    total = math.fsum(weight for weight, _ in weighted)
    if not total:
        return Arm(0, 0, None, 0.0)
    return Arm(
        count=len(weighted),
        held=sum(held for _, held in weighted),
        share=math.fsum(weight for weight, held in weighted if held) / total,
        # L. Kish, Survey Sampling (1965): what unequal weights cost.
        effective=total**2 / math.fsum(weight**2 for weight, _ in weighted),
    )


def _interval(arm: Arm) -> tuple[float, float]:
    share = arm.share or 0.0
    # Rounding could take the product above the whole.
    return wilson_interval(min(share * arm.effective, arm.effective), arm.effective)
