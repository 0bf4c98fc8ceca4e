"""Whether advice helps, from entries for which it was withheld at random.

Advice is shown where something similar happened before, so entries with and without it differ anyway. Only a coin can
make them comparable: an entry's advice is withheld with a known probability, and both kinds are compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from learning_memory_server.model.support import wilson_interval
from learning_memory_server.model.vocabulary import OutcomeStatus

if TYPE_CHECKING:
    from learning_memory_server.model.advice import Advice
    from learning_memory_server.model.entry import Ghap


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
        Trial(
            first[entry.id].withheld,
            first[entry.id].probability,
            entry.outcome.status is OutcomeStatus.CONFIRMED,
        )
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
    """Return the arm of entries with these weights."""
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
