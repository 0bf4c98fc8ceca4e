"""Which past experiences bear on a goal and a hypothesis.

The score of an experience is 0.5 * cosine + 0.4 * coverage + 0.05 * z.

- cosine: of its vector on the axis `full` and the vector of goal and hypothesis, on the scale of the default model.
- coverage: the share of the rarity (BM25's inverse document frequency) of the terms of goal and hypothesis that the
  experience has.
- z: how many standard deviations the cosine is above the mean of the background, from -2 to 5. The background is the
  newest 200 entries of the project; the mean and the deviation of few entries are drawn towards what is usual.

The best two are shown if they reach the threshold, which was set with two sets. The first, that of
`benchmarks.recurrence`, has 81 entries in time order and 71 pairs of a later entry and an earlier one whose lesson
applies to it, judged by hand before any ranking was tried; 39 entries have one. Reach is the share of these for which
one is shown, precision the share of what is shown that applies. The second has 150 recorded agent sessions: an earlier
one of the same repository applies if both edited a same file; 27 have one. The last column is the precision there, with
the threshold at which reach in the first set is .74:

    score                                   reach at precision .80   .75   .70   .66   sessions
    cosine                                                     .54   .59   .59   .69        .13
    that of `search.fusion`                                    .41   .69   .74   .74        .05
    cosine + 0.4 * coverage + 0.05 * z                         .59   .74   .77   .79        .24
    0.5 * cosine + 0.4 * coverage + 0.05 * z                   .72   .74   .79   .79        .31

The cosines of long texts of one project are all high, so that the bare cosine makes one threshold wrong for the other
set. It is a plateau: with 0.4 to 0.7 instead of 0.5, 0.3 to 0.5 instead of 0.4, or 0.08 instead of 0.05, the first
set's reach at precision .75, a mean over 200 bootstrap samples, stays within .02. The order alone is as good as the
cosine's in both sets: the best one applies for .77 of the entries (cosine .79) and .41 of the sessions (.41, drawn at
random .11). At the threshold, 50 experiences are shown: reach .74, precision .76. Comparing goal and hypothesis one by
one with those of the experience, its best field, its lesson alone, the cosine of rare terms instead of coverage, and
how near its own neighbours are, were no better.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from learning_memory_server.index.ranking.threshold import DEVIATION, MEAN
from learning_memory_server.model import limits
from learning_memory_server.model.advice import Item, Kind, Reason
from learning_memory_server.model.vocabulary import OutcomeStatus

if TYPE_CHECKING:
    from learning_memory_server.model.entry import Ghap

BACKGROUND: Final = 200
"""How many of the newest entries are the background."""

SCORE_DIGITS: Final = 3
"""Decimal places of a score that is kept: more would be noise of the model."""

_COSINE: Final = 0.5
_COVERAGE: Final = 0.4
_Z: Final = 0.05
_LEAST_Z: Final = -2.0
_MOST_Z: Final = 5.0
_PRIOR: Final = 10
"""How many entries the usual mean and deviation count as."""
_MISLED: Final = 0.2
"""What an experience's score loses for each time that it misled more often than it helped. Of the 50 that are shown
in the first set, 30 would not be shown after one such time, and 44 not after two."""
_LEAD: Final = 0.5
_LEAD_MOST: Final = 0.15
_USUAL_LEAD: Final = 0.1
"""What half a point of lead over the next experience counts as, up to which lead, and which one the threshold takes for
usual. Where many match about as well, it is the project that matches and not the experience."""
_WEAKER: Final = 0.12
"""A second one is shown within this of the best. With these four, the first set's precision is .80 instead of .76 at
the same reach (.74), 40 experiences are shown instead of 50, and the prompts of `benchmarks.recurrence` that something
bears on find it as often (.83). It is a plateau: with 0.4 instead of 0.5, 0.1 or 0.2 instead of 0.15, and 0.1 to 0.15
instead of 0.12, precision is .79 to .80."""
_FALSIFIED_FIRST: Final = 0.07
"""Within this of the best score, a falsified hypothesis comes before a confirmed one: a confirmed one that is shown to
an agent with the same wrong guess does harm."""


class Background:
    """What is usual in a project, for one goal and hypothesis.

    Args:
        wanted: The distinct terms of goal and hypothesis.
        texts: The distinct terms of each background entry.
        closeness: That of those that have a vector.
    """

    def __init__(self, wanted: AbstractSet[str], texts: Sequence[AbstractSet[str]], closeness: Sequence[float]) -> None:
        frequency = Counter(term for found in texts for term in wanted & found)
        self._rarity = {
            term: math.log(1 + (len(texts) - frequency[term] + 0.5) / (frequency[term] + 0.5)) for term in wanted
        }
        self._total = math.fsum(self._rarity.values())
        count = len(closeness) + _PRIOR
        self._mean = (math.fsum(closeness) + _PRIOR * MEAN) / count
        spread = math.fsum((each - self._mean) ** 2 for each in closeness)
        self._deviation = math.sqrt((spread + _PRIOR * DEVIATION**2) / count)

    def coverage(self, found: AbstractSet[str]) -> float:
        """Return the share of the wanted terms' rarity that a text with these terms has, from 0 to 1."""
        shared = math.fsum(rarity for term, rarity in self._rarity.items() if term in found)
        return shared / self._total if self._total else 0.0

    def score(self, closeness: float, found: AbstractSet[str]) -> float:
        """Return the score of an experience."""
        z = min(max((closeness - self._mean) / self._deviation, _LEAST_Z), _MOST_Z)
        return _COSINE * closeness + self.shared(found) + _Z * z

    def shared(self, found: AbstractSet[str]) -> float:
        """Return the part of an experience's score that the terms of its text add."""
        return _COVERAGE * self.coverage(found)


@dataclass(frozen=True, slots=True)
class Scored:
    """An experience and its score."""

    entry: Ghap
    score: float
    shared: float = 0.0  # the part of it that shared terms add

    def item(self, least: float) -> Item:
        """Return what is kept of it if it is shown."""
        alone = self.score - self.shared
        with_terms = Reason.BOTH if alone > self.shared else Reason.TERMS
        reason = Reason.SIMILAR if alone >= least else with_terms
        return Item(self.entry.id, Kind.EXPERIENCE, score=round(self.score, SCORE_DIGITS), reason=reason)


def is_instructive(entry: Ghap) -> bool:
    """Return whether a resolved entry says what was learned."""
    end = entry.outcome
    return bool(end.lesson or end.root_cause)


def sunk(score: float, misled: int, helped: int) -> float:
    """Return the score of an experience that was shown before and misled or helped so often."""
    return score - _MISLED * max(misled - helped, 0)


def best(scored: Iterable[Scored], least: float) -> list[Scored]:
    """Return the experiences to show, at most two: falsified hypotheses first among those that match as well.

    The best needs the less, the more it leads; another one must be nearly as good.
    """
    ranked = sorted(scored, key=lambda each: -each.score)
    if not ranked:
        return []
    most = ranked[0].score
    lead = min(most - ranked[1].score, _LEAD_MOST) if len(ranked) > 1 else _USUAL_LEAD
    needed = least + _LEAD * _USUAL_LEAD
    if most + _LEAD * lead < needed:
        return []
    passing = [ranked[0], *(each for each in ranked[1:] if each.score >= max(needed, most - _WEAKER))]
    enough = most - _FALSIFIED_FIRST

    def place(each: Scored) -> tuple[bool, float, str]:
        return not (_is_falsified(each) and each.score >= enough), -each.score, each.entry.id

    return sorted(passing, key=place)[: limits.ADVICE_SHOWN]


def _is_falsified(scored: Scored) -> bool:
    return scored.entry.outcome.status is OutcomeStatus.FALSIFIED
