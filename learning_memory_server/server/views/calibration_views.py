"""Calibration as commands and statistics show it. Shares and scores are not rounded."""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from learning_memory_server.capture.entries.timeline import Tally
from learning_memory_server.journal.codec import without_empty
from learning_memory_server.lessons.calibration import Score, forecasts_of, rate, rates_by, score
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.views import fields

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
    """The Brier score of the stated confidence, and what came true in each bin. Only `count` if it is 0."""

    count: int
    confidence: NotRequired[float]
    share: NotRequired[float]
    brier: NotRequired[float]
    bins: NotRequired[list[BinView]]


class CalibrationStats(TypedDict):
    """The short form. Of `judged` entries, confirmed or falsified, `share` held, and `stated` had a confidence."""

    judged: int
    stated: int
    share: NotRequired[float]
    confidence: NotRequired[float]
    brier_first: NotRequired[float]
    brier_last: NotRequired[float]


def calibration(entries: Sequence[Ghap]) -> dict[str, Any]:
    """Return the calibration of resolved entries."""
    groups = ("domain", "strategy", "project")
    return {
        "overall": fields(RateView, rate(entries)),
        "first": _score(score(forecasts_of(entries, attrgetter("first_confidence")))),
        "last": _score(score(forecasts_of(entries, attrgetter("last_confidence")))),
        **{f"by_{name}": [fields(RateView, one) for one in rates_by(entries, attrgetter(name))] for name in groups},
    }


def calibration_stats(tally: Tally) -> dict[str, Any]:
    """Return `CalibrationStats` of resolved entries; share and mean confidence are of those with a confidence."""
    figures = {}
    if (first := tally.first.means()) and (last := tally.last.means()):
        figures = dict(zip(("confidence", "share", "brier_last"), last, strict=True)) | {"brier_first": first[2]}
    return {
        "judged": tally.outcomes[OutcomeStatus.CONFIRMED] + tally.outcomes[OutcomeStatus.FALSIFIED],
        "stated": tally.last.count,
        **{name: round(figure, _DIGITS) for name, figure in figures.items()},
    }


def _score(one: Score) -> dict[str, Any]:
    bins = [
        {"from": each.low, "to": each.high, **fields(BinView, each, count=len(each.forecasts))} for each in one.bins
    ]
    return without_empty(fields(ScoreView, one, bins=bins))
