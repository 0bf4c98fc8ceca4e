"""The score below which a result is as weak as what unrelated questions find.

The threshold is 0.1 + 0.0145 * ln(points), and 0.045 less for a question of seven terms or more. The best result must
reach it; the others then need two thirds of it, because a question that has an answer may have several. It rises with
the collection, because the best of many unrelated texts scores higher than the best of few. A long question has its
meaning spread over many words, so what answers it scores lower.

Measured with all-MiniLM-L6-v2 by `benchmarks/floor.py`: 80 + 80 questions that a store of software work cannot answer,
and the relevant results among the first ten of each store's own questions. Each column has the questions for tuning +
those that check. The last two rows are thresholds that silence nine tenths of the questions for tuning:

    store                          points    silent, of 80 + 80       good results lost
    our own experiences                72               73 + 76          0.0 % +  5.3 %
    entries, axis full                 81               77 + 75          0.0 % +  0.0 %
    own, plain cosine                  72               72 + 77          6.2 % + 12.8 %
    own, bm25s package                 72               72 + 76         50.0 % + 59.5 %

Half of the questions are about daily life. Of the other 80, most of them technical and written after the first
threshold, 71 and 72 are silent. The threshold costs 1 of 197 results in two long conversations and none of 421 in 6,267
functions, where 115 of 120 questions about daily life and other fields are silent.

Short questions have as high a threshold as these stores permit, long ones as high as the 60 questions to the entries
do: the best result of one of them, of ten terms, scores .119 among 81 points. A threshold .01 higher for long ones
would silence 5 more of these 320, and cost the entries 3 of 99 results.

Nothing else tells good questions from others better than the best score does: its area under the ROC curve is .995 and
.996 in the two stores, that of the best cosine .995 and .994, of the share of the question's terms in the best result
.95 and .90, of its score over the median of ten .98 and .95. Weighted together by a logistic regression, they add
nothing.

A model that is not in the table below has no threshold, nor have other axes, filtered searches and lexical ones: none
was measured.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from learning_memory_server.index.ranking.hybrid import mode_for
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.model.vocabulary import SearchMode

if TYPE_CHECKING:
    from learning_memory_server.embedding.base import EmbeddingIdentity
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.ranking.fusion import Explanation

_LONG: Final = 7
"""Distinct terms from which a question counts as long."""

_OTHERS: Final = 2 / 3
"""What the other results need of a measured threshold, once one has reached it."""


_GROWTH_OF_ADVICE: Final = 0.04
"""What the threshold of advice rises by as a store of more than 100 entries becomes e times as large: the best of many
unrelated texts scores higher than the best of few. Measured with 156 goals and hypotheses and 100 to 3,000 functions
that have nothing to do with them: one in ten finds a function of at least .45 among 100, and of at least .60 among
3,000."""
_GROWS_ABOVE: Final = 100


@dataclass(frozen=True, slots=True)
class Measured:
    """The thresholds that were measured for a model; those of advice go with `learning.advice.ranking`."""

    base: float  # the threshold of a short question in a collection of one point
    growth: float  # what that rises by as the collection becomes e times as large
    allowance: float  # how much lower it is for a long question
    advice: float  # the least score of an experience that is shown unasked from a small store
    value: float  # the least cosine of a value that is shown unasked
    mean: float  # the usual mean cosine of an experience and a goal with a hypothesis
    deviation: float  # its usual standard deviation in one store
    error: float = math.inf  # as `advice`, at a command that failed, for the line that names its error

    def of_search(self, text: str, points: int) -> float:
        """Return the least score of a result of a question in a collection of so many points."""
        is_long = len(set(terms(text))) >= _LONG
        return self.base + self.growth * math.log(max(points, 1)) - (self.allowance if is_long else 0.0)

    def of_advice(self, entries: int) -> float:
        """Return the least score of an experience that is shown unasked from a store of so many entries."""
        return self.advice + _GROWTH_OF_ADVICE * math.log(max(entries / _GROWS_ABOVE, 1.0))


_MEASURED: Final = {
    ("all-MiniLM-L6-v2", 384): Measured(
        base=0.1,
        growth=0.0145,
        allowance=0.045,
        advice=0.475,
        value=0.45,
        mean=0.17,
        deviation=0.13,
        error=0.45,
    )
}
"""By the last part of a model's name and the length of its vectors, whatever runs it.

Of 72 hypotheses about twelve groups of experiences (`benchmarks/data/value-texts.json`), the group's own value has a
cosine of at least .45 for .38 of them, and another one for .03 if the right one is absent; at .4 it is .58 and .07.

From .45 on, 10 or 11 of 20 errors that a lesson names, written for this, find it, whether it is among 20, 92 or 101;
of 228 errors of recorded sessions, of other projects, 0, 1 and 4 find one. At .4 it is 10 to 12, and 0, 18 and 24.
"""


def measured_for(identity: EmbeddingIdentity) -> Measured | None:
    """Return what was measured for a model, None if nothing was."""
    return _MEASURED.get((identity.model.rsplit("/", 1)[-1], identity.dimension))


@dataclass(frozen=True, slots=True)
class Threshold:
    """What the results of one search must reach."""

    least: float
    is_asked: bool
    """Whether the caller named it: it is then compared with the score that is shown. A measured one is compared with
    the score before any re-ranking."""

    def passes(self, explanation: Explanation) -> bool:
        """Return whether a result reaches it."""
        return (explanation.score if self.is_asked else explanation.relevance) >= self.least


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Results that were left out: how many of those fetched, and the least score of the others."""

    count: int
    least: float


class Found(Protocol):
    """A result with the parts of its score."""

    @property
    def explanation(self) -> Explanation:
        """Where its score comes from."""
        ...


FoundT = TypeVar("FoundT", bound=Found)


def passing(found: Sequence[FoundT], threshold: Threshold | None) -> tuple[list[FoundT], LeftOut | None]:
    """Return the results that reach the threshold, and what was left out if any did not."""
    if threshold is None:
        return list(found), None
    least = threshold.least
    if not threshold.is_asked and any(threshold.passes(each.explanation) for each in found):
        least *= _OTHERS
    kept = [each for each in found if replace(threshold, least=least).passes(each.explanation)]
    left_out = len(found) - len(kept)
    return kept, LeftOut(left_out, least) if left_out else None


async def threshold_of(
    index: VectorIndex, collection: str, text: str, min_score: float | None, *, is_measured: bool
) -> Threshold | None:
    """Return what the results of a search must reach, None for nothing.

    `is_measured` says whether the search is one of those whose threshold was measured; a `min_score` that the caller
    names takes its place.
    """
    if min_score is not None:
        return Threshold(min_score, is_asked=True)
    if not is_measured or mode_for(text) is not SearchMode.HYBRID:
        return None
    if (measured := measured_for(await index.identity())) is None:
        return None
    return Threshold(measured.of_search(text, await index.size(collection)), is_asked=False)
