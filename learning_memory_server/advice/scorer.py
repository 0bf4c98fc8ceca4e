"""Score lessons by how near they are to a task.

The score is 0.5 * closeness + 0.4 * coverage + 0.05 * standing. Closeness is the cosine on the
axis `full`, on the model's scale. Coverage is the share of the text's terms, weighted by rarity, that the lesson has.
Standing is the number of standard deviations, at most 5, by which the closeness exceeds the usual one of the newest
200 entries. The minimum score depends on the trigger and the size of the store. Decision 20 has the data and figures.
"""

import math
from collections import Counter
from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass
from typing import NamedTuple

from learning_memory_server.advice import constants
from learning_memory_server.advice.matters import distinct
from learning_memory_server.model.advice import Reason
from learning_memory_server.model.entry import Ghap


class Near(NamedTuple):
    """A lesson, its closeness to a text, and the terms of the lesson's text."""

    entry: Ghap
    closeness: float
    terms: frozenset[str]


class Background:
    """The usual closeness in a project to one text, and the rarity of the text's terms."""

    def __init__(self, wanted: AbstractSet[str], texts: Sequence[AbstractSet[str]], closeness: Sequence[float]) -> None:
        """Take the terms of the text, the terms of the newest entries, and the closeness of each to the text."""
        frequency = Counter(term for found in texts for term in wanted & found)
        # Otherwise a term in all of only a few texts would be worth nothing.
        count = len(texts) + constants.PRIOR
        self._rarity = {
            term: math.log(1 + (count - frequency[term] + 1 / 2) / (frequency[term] + 1 / 2)) for term in wanted
        }
        self._total = math.fsum(self._rarity.values())
        count = len(closeness) + constants.PRIOR
        self.usual = (math.fsum(closeness) + constants.PRIOR * constants.USUAL) / count
        spread = math.fsum((each - self.usual) ** 2 for each in closeness)
        self._deviation = math.sqrt((spread + constants.PRIOR * constants.DEVIATION**2) / count)

    def coverage(self, found: AbstractSet[str]) -> float:
        """Return the share of the wanted terms, weighted by rarity, that are in `found`, from 0 to 1."""
        shared = math.fsum(self._rarity[term] for term in self._rarity.keys() & found)
        return shared / self._total if self._total else 0.0

    def standing(self, closeness: float) -> float:
        """Return the number of standard deviations by which a closeness exceeds the usual one, up to a limit."""
        deviations = (closeness - self.usual) / self._deviation
        return min(deviations, constants.STANDING_MOST)


@dataclass(frozen=True, slots=True)
class Scored:
    """A lesson and its score."""

    entry: Ghap
    score: float
    by_terms: float = 0.0  # the part of the score from shared terms

    def reason(self, bar: float) -> Reason:
        """Return the reason for showing it, given the minimum score."""
        alone = self.score - self.by_terms
        if alone >= bar:
            return Reason.SIMILAR
        return Reason.BOTH if alone > self.by_terms else Reason.TERMS


def scored(near: Near, background: Background) -> Scored:
    """Score a lesson."""
    by_terms = constants.COVERAGE * background.coverage(near.terms)
    score = constants.CLOSENESS * near.closeness + by_terms + constants.STANDING * background.standing(near.closeness)
    return Scored(near.entry, score, by_terms)


def best_of_each(found: Iterable[Iterable[Scored]]) -> list[Scored]:
    """Return the lessons that were scored for several texts, each with its best score."""
    scored = sorted((each for one in found for each in one), key=lambda each: each.score)
    return list({each.entry.id: each for each in scored}.values())


def bar_at_start(entries: int) -> float:
    """Return the minimum score at a start, in a store with this many entries."""
    return constants.START + constants.GROWTH * math.log(max(entries / constants.GROWS_ABOVE, 1.0))


def bar_at_prompt(entries: int) -> float:
    """Return the minimum score at a prompt or a task."""
    return bar_at_start(entries) + constants.PROMPT


def bar_at_error(entries: int) -> float:
    """Return the minimum score at a failed command."""
    return constants.ERROR + constants.GROWTH * math.log(max(entries, constants.FEW) / constants.GROWS_ABOVE)


def best(scored: Iterable[Scored], bar: float) -> list[Scored]:
    """Return the lessons with at least the score `bar`, best first. The first may have less if it leads by much."""
    ranked = sorted(scored, key=lambda each: (-each.score, each.entry.id))
    if not ranked:
        return []
    most = ranked[0].score
    # Lessons farther away than the maximum lead are never shown, so they need no check for copies.
    far = most - constants.LEAD_MOST
    kept = {each.id for each in distinct(each.entry for each in ranked if each.score > far)}
    ranked = [each for each in ranked if each.entry.id in kept or each.score <= far]
    lead = min(most - ranked[1].score, constants.LEAD_MOST) if len(ranked) > 1 else constants.LEAD_USUAL
    needed = bar + constants.LEAD_SHARE * constants.LEAD_USUAL
    if most + constants.LEAD_SHARE * lead < needed:
        return []
    others = [each for each in ranked[1:] if each.score >= max(needed, most - constants.WEAKER)]
    return [ranked[0], *others]
