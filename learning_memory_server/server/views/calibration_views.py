"""Calibration as commands and statistics show it. Shares and scores are not rounded, so that they add up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NotRequired

from typing_extensions import TypedDict  # pydantic refuses typing's own before Python 3.12

from learning_memory_server.learning.calibration.lift import lift, trials_of
from learning_memory_server.learning.calibration.rates import rate, rates_by
from learning_memory_server.learning.calibration.scores import first_stated, last_stated, score

if TYPE_CHECKING:
    from learning_memory_server.learning.calibration.lift import Arm
    from learning_memory_server.learning.calibration.rates import Rate
    from learning_memory_server.learning.calibration.scores import Score
    from learning_memory_server.model.advice import Advice
    from learning_memory_server.model.entry import Ghap

_DIGITS: Final = 4


class RateView(TypedDict):
    """How many hypotheses held of `total` that were confirmed or falsified, with the 95 % interval of the share."""

    name: str
    held: int
    total: int
    share: float | None
    interval: list[float]


BinView = TypedDict(
    "BinView",
    {
        "from": float,
        "to": float,
        "count": int,
        "confidence": float,
        "held": int,
        "share": float,
        "interval": list[float],
    },
)


class ScoreView(TypedDict):
    """The Brier score of the stated confidence, its parts, and what came true in each bin. Only `count` if it is 0.

    brier = reliability - resolution + uncertainty + within_bin_variance - 2 * within_bin_covariance.
    """

    count: int
    confidence: NotRequired[float]
    share: NotRequired[float]
    brier: NotRequired[float]
    reliability: NotRequired[float]
    resolution: NotRequired[float]
    uncertainty: NotRequired[float]
    within_bin_variance: NotRequired[float]
    within_bin_covariance: NotRequired[float]
    bins: NotRequired[list[BinView]]


class ArmView(TypedDict):
    """Entries whose advice was shown, or withheld at random; `share` of them held, weighted by the probability."""

    count: int
    held: int
    share: float | None


class LiftView(TypedDict):
    """By how much more often hypotheses held with advice: the `difference` and its 95 % interval.

    The difference is null while nothing was withheld, or nothing shown that could have been withheld.
    """

    shown: ArmView
    withheld: ArmView
    difference: float | None
    interval: list[float]


class CalibrationView(TypedDict):
    """The shares of hypotheses that held, and scores of the `first` and the `last` confidence stated for each entry."""

    overall: RateView
    first: ScoreView
    last: ScoreView
    by_domain: list[RateView]
    by_strategy: list[RateView]
    by_project: list[RateView]
    lift: LiftView


class CalibrationStats(TypedDict):
    """The short form. Of `judged` entries, confirmed or falsified, `share` held, and `stated` had a confidence."""

    judged: int
    stated: int
    share: NotRequired[float]
    confidence: NotRequired[float]
    brier_first: NotRequired[float]
    brier_last: NotRequired[float]


def calibration(entries: Sequence[Ghap], advice: Iterable[Advice]) -> dict[str, Any]:
    """Return a `CalibrationView` of resolved entries, and of the advice on them among all advice."""
    found = lift(trials_of(advice, entries))
    return {
        "overall": _rate(rate(entries)),
        "first": _score(score(first_stated(entries))),
        "last": _score(score(last_stated(entries))),
        "by_domain": [_rate(one) for one in rates_by(entries, lambda entry: entry.domain.value)],
        "by_strategy": [_rate(one) for one in rates_by(entries, lambda entry: entry.strategy.value)],
        "by_project": [_rate(one) for one in rates_by(entries, lambda entry: entry.project)],
        "lift": {
            "shown": _arm(found.shown),
            "withheld": _arm(found.withheld),
            "difference": found.difference,
            "interval": list(found.interval),
        },
    }


def calibration_stats(entries: Sequence[Ghap]) -> dict[str, Any]:
    """Return `CalibrationStats` of resolved entries; share and mean confidence are of those with a confidence."""
    first, last = score(first_stated(entries)), score(last_stated(entries))
    figures = {
        "share": last.share,
        "confidence": last.confidence,
        "brier_first": first.brier,
        "brier_last": last.brier,
    }
    return {
        "judged": rate(entries).total,
        "stated": last.count,
        **{name: round(figure, _DIGITS) for name, figure in figures.items() if figure is not None},
    }


def _arm(arm: Arm) -> dict[str, Any]:
    return {"count": arm.count, "held": arm.held, "share": arm.share}


def _rate(one: Rate) -> dict[str, Any]:
    return {
        "name": one.name,
        "held": one.held,
        "total": one.total,
        "share": one.share,
        "interval": list(one.interval),
    }


def _score(one: Score) -> dict[str, Any]:
    if not one.count:
        return {"count": 0}
    return {
        "count": one.count,
        "confidence": one.confidence,
        "share": one.share,
        "brier": one.brier,
        "reliability": one.reliability,
        "resolution": one.resolution,
        "uncertainty": one.uncertainty,
        "within_bin_variance": one.within_bin_variance,
        "within_bin_covariance": one.within_bin_covariance,
        "bins": [
            {
                "from": each.low,
                "to": each.high,
                "count": len(each.forecasts),
                "confidence": each.confidence,
                "held": each.held,
                "share": each.share,
                "interval": list(each.interval),
            }
            for each in one.bins
        ],
    }
