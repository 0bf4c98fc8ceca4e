"""Score lessons by how near they are to a task.

The score is 0.5 * closeness + 0.4 * coverage + 0.05 * standing. The closeness is the cosine on the axis `full` on the
model's scale; the coverage is the share of the text's terms, by their rarity, that the lesson has; the standing is how
many standard deviations the closeness is above that of the newest 200 entries of the project (at most 5). A lesson is
shown from a bar on that depends on the trigger and on the size of the store. Decision 20 has the sets and figures.
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
    """A lesson near a text: its closeness, and the terms of its text."""

    entry: Ghap
    closeness: float
    terms: frozenset[str]


class Background:
    """The usual closeness and terms in a project, for one text."""

    def __init__(self, wanted: AbstractSet[str], texts: Sequence[AbstractSet[str]], closeness: Sequence[float]) -> None:
        """Take the terms of the text, and of the newest entries, and how close these are to the text."""
        frequency = Counter(term for found in texts for term in wanted & found)
        # Else a term that all of a few texts have would be worth nothing.
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
        """Return the share of the wanted terms' rarity that a text with these terms has, from 0 to 1."""
        shared = math.fsum(self._rarity[term] for term in self._rarity.keys() & found)
        return shared / self._total if self._total else 0.0

    def standing(self, closeness: float) -> float:
        """Return how many standard deviations a closeness is above the usual one, up to a limit."""
        deviations = (closeness - self.usual) / self._deviation
        return min(deviations, constants.STANDING_MOST)


@dataclass(frozen=True, slots=True)
class Scored:
    """A lesson and its score."""

    entry: Ghap
    score: float
    by_terms: float = 0.0  # the part of the score that shared terms add

    def reason(self, bar: float) -> Reason:
        """Return why it is shown from a bar on."""
        alone = self.score - self.by_terms
        if alone >= bar:
            return Reason.SIMILAR
        return Reason.BOTH if alone > self.by_terms else Reason.TERMS


def scored(near: Near, background: Background) -> Scored:
    """Return a lesson with its score."""
    by_terms = constants.COVERAGE * background.coverage(near.terms)
    score = constants.CLOSENESS * near.closeness + by_terms + constants.STANDING * background.standing(near.closeness)
    return Scored(near.entry, score, by_terms)


def best_of_each(found: Iterable[Iterable[Scored]]) -> list[Scored]:
    """Return the lessons that were scored for several texts, each with its best score."""
    scored = sorted((each for one in found for each in one), key=lambda each: each.score)
    return list({each.entry.id: each for each in scored}.values())


def bar_at_start(entries: int) -> float:
    """Return the least score at a start, in a store of so many entries."""
    return constants.START + constants.GROWTH * math.log(max(entries / constants.GROWS_ABOVE, 1.0))


def bar_at_prompt(entries: int) -> float:
    """Return the least score at a prompt or a task."""
    return bar_at_start(entries) + constants.PROMPT


def bar_at_error(entries: int) -> float:
    """Return the least score at a command that failed."""
    return constants.ERROR + constants.GROWTH * math.log(max(entries, constants.FEW) / constants.GROWS_ABOVE)


def best(scored: Iterable[Scored], bar: float) -> list[Scored]:
    """Return the lessons from a bar on, the best first. A lead over the next one lowers the bar for the first."""
    ranked = sorted(scored, key=lambda each: (-each.score, each.entry.id))
    if not ranked:
        return []
    most = ranked[0].score
    # Of what is farther away than any lead, no copies need be found: none of it is shown.
    far = most - constants.LEAD_MOST
    kept = {each.id for each in distinct(each.entry for each in ranked if each.score > far)}
    ranked = [each for each in ranked if each.entry.id in kept or each.score <= far]
    lead = min(most - ranked[1].score, constants.LEAD_MOST) if len(ranked) > 1 else constants.LEAD_USUAL
    needed = bar + constants.LEAD_SHARE * constants.LEAD_USUAL
    if most + constants.LEAD_SHARE * lead < needed:
        return []
    others = [each for each in ranked[1:] if each.score >= max(needed, most - constants.WEAKER)]
    return [ranked[0], *others]
