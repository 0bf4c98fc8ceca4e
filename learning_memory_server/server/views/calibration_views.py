"""Calibration as commands and statistics show it. Shares and scores are not rounded."""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from learning_memory_server.capture.entries.timeline import Tally
from learning_memory_server.journal.codec import without_empty
from learning_memory_server.lessons.calibration import LEAST, Score, forecasts_of, rate, rates_by, saving, score
from learning_memory_server.lessons.shown import counts_of
from learning_memory_server.model.advice import Advice, Trial
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.lines import counted
from learning_memory_server.model.moment import utc_now
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


class ArmView(TypedDict):
    """Sessions that were told what there was to tell, or were not, at random, and their failing calls from then on."""

    sessions: int
    failed: int


class SavingView(TypedDict):
    """How many failing calls a session advice saves, and the 95 % interval, which may be looked at daily.

    Both are null while there are too few sessions; `needed` is after how many a saving of one call would show.
    """

    shown: ArmView
    withheld: ArmView
    saved: float | None
    interval: list[float] | None
    needed: int | None


class CalibrationStats(TypedDict):
    """The short form. Of `judged` entries, confirmed or falsified, `share` held, and `stated` had a confidence."""

    judged: int
    stated: int
    share: NotRequired[float]
    confidence: NotRequired[float]
    brier_first: NotRequired[float]
    brier_last: NotRequired[float]


def calibration(entries: Sequence[Ghap], trials: Iterable[Trial]) -> dict[str, Any]:
    """Return the calibration of resolved entries, and of the sessions from which advice could be withheld."""
    groups = ("domain", "strategy", "project")
    return {
        "overall": fields(RateView, rate(entries)),
        "first": _score(score(forecasts_of(entries, attrgetter("first_confidence")))),
        "last": _score(score(forecasts_of(entries, attrgetter("last_confidence")))),
        **{f"by_{name}": [fields(RateView, one) for one in rates_by(entries, attrgetter(name))] for name in groups},
        "saving": saving_view(trials),
    }


def saving_view(trials: Iterable[Trial]) -> dict[str, Any]:
    """Return a `SavingView`."""
    found = saving(trials, utc_now())
    arms = {"shown": fields(ArmView, found.shown), "withheld": fields(ArmView, found.withheld)}
    return fields(SavingView, found, **arms)


def told(advice: Sequence[Advice], trials: Iterable[Trial]) -> dict[str, Any]:
    """Return how often agents were told something unasked, and what came of it."""
    counts = counts_of(advice)
    return {
        "times": counts["items"],
        "helped": counts["helped"],
        "misled": counts["misled"],
        "unknown": max(counts["items"] - counts["helped"] - counts["misled"], 0),
        "saving": saving_view(trials),
    }


def told_in_words(told: Mapping[str, Any]) -> str:
    """Return what `told` returns as `status` and the dashboard say it."""
    parts = []
    if told["times"]:
        saves = told["saving"]
        effect = f"; with withholding on: {saving_in_words(saves)}" if saves["interval"] is not None else ""
        parts.append(
            f"{counted(told['times'], 'time')}, helped {told['helped']:,}, misled {told['misled']:,}, "
            f"unknown {told['unknown']:,} (as agents say{effect})"
        )
    return "; ".join(parts) or "nothing yet"


def saving_in_words(found: Mapping[str, Any]) -> str:
    """Return how many failing calls a session advice saves, from a `SavingView`."""
    shown, withheld = found["shown"]["sessions"], found["withheld"]["sessions"]
    if not (shown or withheld):
        return "what it saves is unknown: none was withheld at random"
    sessions = f"{shown:,} sessions with it, {withheld:,} without"
    if found["interval"] is None:
        return f"what it saves cannot be said yet ({sessions}); it takes {LEAST} sessions, of both kinds"
    low, high = found["interval"]
    if low <= 0 <= high:
        return (
            f"it cannot be said yet that it saves failing calls: {found['saved']:.1f} a session "
            f"(95 %: {low:.1f} to {high:.1f}; {sessions}); a saving of one shows after about {found['needed']:,} sessions"
        )
    verb, bounds = "saves" if low > 0 else "costs", sorted((abs(low), abs(high)))
    return (
        f"it {verb} {abs(found['saved']):.1f} failing calls a session "
        f"(95 %: {bounds[0]:.1f} to {bounds[1]:.1f}; {sessions})"
    )


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
