"""Calibration as commands and statistics show it. Shares and scores are not rounded."""

from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from learning_memory_server.capture.entries.timeline import Tally
from learning_memory_server.lessons.calibration import Score, bins, forecasts_of, rate, score, verdict
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.vocabulary import OutcomeStatus
from learning_memory_server.server.views import fields

_DIGITS: Final = 4


class RateView(TypedDict):
    """How many hypotheses held of `total` that were confirmed or falsified, with the 95 % interval of the share."""

    held: int
    total: int
    share: float | None
    interval: list[float]


class ScoreView(TypedDict):
    """How well stated confidence fits what happened: its mean, the share that held, and the Brier score.

    `interval` is the 95 % interval of the share.
    """

    count: int
    confidence: float
    share: float
    interval: list[float]
    brier: float


BinView = TypedDict(
    "BinView", {"from": float, "to": float, "count": int, "confidence": float, "share": float, "interval": list[float]}
)


class CalibrationView(TypedDict):
    """Whether predictions come true, and as often as agents state. `verdict` says it in a sentence.

    `first` and `last` are scores of the first and the last confidence that was stated for each entry; null if none was.
    `bins` are of the last: what a reliability diagram shows. The judged entries that were written `afterwards`, when
    the outcome was known, are counted apart, and nowhere else.
    """

    verdict: str
    overall: RateView
    first: ScoreView | None
    last: ScoreView | None
    bins: list[BinView]
    afterwards: int


class CalibrationStats(TypedDict):
    """The short form. Of `judged` entries, confirmed or falsified, `share` held, and `stated` had a confidence.

    Those that were written `afterwards` are not among them.
    """

    judged: int
    stated: int
    afterwards: int
    share: NotRequired[float]
    confidence: NotRequired[float]
    brier_first: NotRequired[float]
    brier_last: NotRequired[float]


def calibration(entries: Sequence[Ghap]) -> dict[str, Any]:
    """Return a `CalibrationView` of resolved entries."""
    first, last = (forecasts_of(entries, attrgetter(name)) for name in ("first_confidence", "last_confidence"))
    return {
        "verdict": verdict(score(last)),
        "overall": fields(RateView, rate(_statuses(entries, afterwards=False))),
        "first": _score(score(first)),
        "last": _score(score(last)),
        "bins": [{"from": each.low, "to": each.high, **fields(BinView, each.score)} for each in bins(last)],
        "afterwards": rate(_statuses(entries, afterwards=True)).total,
    }


def calibration_stats(tally: Tally) -> dict[str, Any]:
    """Return `CalibrationStats` of resolved entries; share and mean confidence are of those with a confidence."""
    figures = {}
    judged = rate(tally.predicted).total
    if (first := tally.first.means()) and (last := tally.last.means()):
        figures = dict(zip(("confidence", "share", "brier_last"), last, strict=True)) | {"brier_first": first[2]}
    return {
        "judged": judged,
        "stated": tally.last.count,
        "afterwards": rate(tally.outcomes).total - judged,
        **{name: round(figure, _DIGITS) for name, figure in figures.items()},
    }


def _statuses(entries: Sequence[Ghap], *, afterwards: bool) -> Counter[OutcomeStatus]:
    return Counter(entry.outcome.status for entry in entries if entry.afterwards is afterwards)


def _score(found: Score | None) -> dict[str, Any] | None:
    return fields(ScoreView, found) if found else None
