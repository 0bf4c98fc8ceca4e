"""Find the past experiences and values that are relevant to an entry's goal and hypothesis.

The score of an experience is 0.5 * cosine + 0.4 * coverage + 0.05 * z: the cosine on the axis `full`, the share of the
rarity of the terms that it has, and the standard deviations of the cosine above the mean of the newest 200 entries of
the project (-2 to 5). The best two are shown if they reach the threshold. Decision 20 has the sets and figures.
"""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, Final

from learning_memory_server.embedding.base import Vectors
from learning_memory_server.index.document import Collection, axis_text, point_id
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.index.ranking.threshold import (
    DEVIATION,
    MEAN,
    NAMED,
    PROMPT,
    VALUE,
    least_at_error,
    least_of_advice,
)
from learning_memory_server.lessons.values.log import Likeness, nearest_values, weigh_all
from learning_memory_server.model import limits
from learning_memory_server.model.advice import AdviceKind, Item, Reason
from learning_memory_server.model.vocabulary import Axis, OutcomeStatus
from learning_memory_server.sharing.shared import SharedLessons
from learning_memory_server.system.recent import Recent

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.journal.answers import Answers
    from learning_memory_server.lessons.values.log import ValueLog, VerdictLog
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.sharing.files import SharedEntry


BACKGROUND: Final = 200  # How many of the newest entries are the background

SCORE_DIGITS: Final = 3  # Decimal places of a score that is kept: more would be noise of the model

_COSINE: Final = 0.5
_COVERAGE: Final = 0.4
_Z: Final = 0.05
_LEAST_Z: Final = -2.0
_MOST_Z: Final = 5.0
_PRIOR: Final = 10  # How many entries on other matters every store counts as having besides its own
_MISLED: Final = 0.2  # The loss of score for each time that an experience misled more often than it helped
_LEAD: Final = 0.5
_LEAD_MOST: Final = 0.15
_USUAL_LEAD: Final = 0.1  # The worth of half a point of lead over the next experience, its maximum, and the usual lead
_WEAKER: Final = 0.12  # The distance from the best score within which a second experience is shown
_TWINS: Final = 0.5  # The least share of their terms that two lessons have in common that say the same
_COMPARED: Final = 8  # How many of the best are compared with each other
_FALSIFIED_FIRST: Final = 0.07  # Within this of the best score, falsified hypotheses come first


class Background:
    """The usual closeness in a project, for one goal and hypothesis."""

    def __init__(self, wanted: AbstractSet[str], texts: Sequence[AbstractSet[str]], closeness: Sequence[float]) -> None:
        frequency = Counter(term for found in texts for term in wanted & found)
        # Else a term that all of a few texts have would be worth nothing.
        count = len(texts) + _PRIOR
        self._rarity = {
            term: math.log(1 + (count - frequency[term] + 0.5) / (frequency[term] + 0.5)) for term in wanted
        }
        self._total = math.fsum(self._rarity.values())
        count = len(closeness) + _PRIOR
        self.usual = (math.fsum(closeness) + _PRIOR * MEAN) / count
        spread = math.fsum((each - self.usual) ** 2 for each in closeness)
        self._deviation = math.sqrt((spread + _PRIOR * DEVIATION**2) / count)

    def coverage(self, found: AbstractSet[str]) -> float:
        """Return the share of the wanted terms' rarity that a text with these terms has, from 0 to 1."""
        shared = math.fsum(self._rarity[term] for term in self._rarity.keys() & found)
        return shared / self._total if self._total else 0.0

    def score(self, closeness: float, shared: float) -> float:
        """Return the score of an experience; for `shared` see there."""
        z = min(max((closeness - self.usual) / self._deviation, _LEAST_Z), _MOST_Z)
        return _COSINE * closeness + shared + _Z * z

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
        return Item(self.entry.id, AdviceKind.EXPERIENCE, score=round(self.score, SCORE_DIGITS), reason=reason)


@lru_cache(1_024)
def _terms_in(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def are_one(first: Ghap, other: Ghap) -> bool:
    """Return whether two entries are one candidate: what they taught is nearly the same, or about one error."""
    mine, others = _terms_in(first.learned), _terms_in(other.learned)
    return len(mine & others) >= _TWINS * len(mine | others)


def distinct(entries: Iterable[Ghap]) -> list[Ghap]:
    """Return entries of which no two are one candidate: the first of each."""
    found: list[Ghap] = []
    for entry in entries:
        if not any(are_one(entry, each) for each in found):
            found.append(entry)
    return found


def may_tell(entry: Ghap, answers: Answers | None = None) -> bool:
    """Return whether a resolved entry is advice: one's own unless a person says never, another's after a yes.

    A shared lesson that an own entry confirms needs no yes; see `AdviceFinder.shared_by`.
    """
    is_own = not entry.imported or bool(answers and answers.is_yes(entry.id))
    return is_own and bool(entry.learned) and not (answers and answers.is_never(entry.id))


def sunk(score: float, misled: int, helped: int) -> float:
    """Return the score of an experience that was shown before and misled or helped so often."""
    return score - _MISLED * max(misled - helped, 0)


def best(scored: Iterable[Scored], least: float) -> list[Scored]:
    """Return those good enough to show: falsified hypotheses first among equals; a lead lowers the needed score."""
    ranked = sorted(scored, key=lambda each: -each.score)
    if not ranked:
        return []
    first = distinct(each.entry for each in ranked[:_COMPARED])
    ranked = [*(each for each in ranked[:_COMPARED] if each.entry in first), *ranked[_COMPARED:]]
    most = ranked[0].score
    lead = min(most - ranked[1].score, _LEAD_MOST) if len(ranked) > 1 else _USUAL_LEAD
    needed = least + _LEAD * _USUAL_LEAD
    if most + _LEAD * lead < needed:
        return []
    passing = [ranked[0], *(each for each in ranked[1:] if each.score >= max(needed, most - _WEAKER))]
    enough = most - _FALSIFIED_FIRST

    def place(each: Scored) -> tuple[bool, float, str]:
        is_first = each.entry.outcome.status is OutcomeStatus.FALSIFIED and each.score >= enough
        return not is_first, -each.score, each.entry.id

    return sorted(passing, key=place)


_FULL: Final = Collection.of(Axis.FULL)
_DEPTH: Final = 16  # How many of the nearest experiences outside the background are scored
_EMBEDDED: Final = 2  # Pending entries that are embedded, by shared terms; each takes 10 to 20 ms


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates for one goal and hypothesis."""

    experiences: list[Scored]  # past experiences with their scores, in no order
    values: list[Likeness]  # values with their closeness, closest first
    usual: float  # the usual closeness of an experience, which a value must exceed clearly
    least: float  # the least score of an experience that is shown
    least_at_error: float  # the same at a command that failed

    def items(self, known: AbstractSet[str] = frozenset()) -> list[Item]:
        """Return what to show that is not known yet, by id: experiences, then values if there is room for them."""
        found = [
            *(each.item(self.least) for each in best(self.experiences, self.least)),
            *(
                Item(each.value.id, AdviceKind.VALUE, score=round(each.similarity, SCORE_DIGITS), reason=Reason.SIMILAR)
                for each in self.best_values()
            ),
        ]
        return [item for item in found if item.id not in known][: limits.ADVICE_SHOWN]

    def lesson(self, *, is_error: bool, named: Sequence[Ghap] = ()) -> tuple[Ghap, Item] | None:
        """Return the lesson to show where a text names an error or a user has written it, with a higher threshold.

        Else the best of those that name the same thing as the text, with a lower one.
        """
        least = self.least_at_error if is_error else self.least + PROMPT
        if found := best(self.experiences, least):
            return found[0].entry, found[0].item(least)
        ids = {each.id for each in named}
        alike = [each for each in self.experiences if each.entry.id in ids and each.score >= NAMED]
        found = sorted(alike, key=lambda each: -each.score)
        return (found[0].entry, replace(found[0].item(least), reason=Reason.TERMS)) if found else None

    def bears(self, entry: Ghap) -> bool:
        """Return whether an experience is near enough; a lower score is enough if it shares a term with the text."""
        mine = (each for each in self.experiences if each.entry.id == entry.id)
        return any(each.score >= (NAMED if each.shared else self.least) for each in mine)

    def best_values(self) -> list[Likeness]:
        """Return the values to show."""
        return [each for each in self.values if each.similarity - self.usual >= VALUE]


@dataclass(eq=False)
class AdviceFinder:
    """Ranks what was learned before for a goal and a hypothesis."""

    collector: ObservationCollector
    index: VectorIndex
    values: ValueLog
    verdicts: VerdictLog
    _: KW_ONLY
    is_everywhere: bool  # whether to look at other projects too
    answers: Answers | None = None  # what a person has said of things
    shared: SharedLessons = field(default_factory=SharedLessons)
    background: int = BACKGROUND  # how many of the newest entries are the background
    # Finding the terms of 200 entries takes 6 ms.
    _terms: Recent[str, tuple[Ghap, frozenset[str]]] = field(default_factory=Recent, init=False)

    def has(self, entry: Ghap, any_of: AbstractSet[str]) -> bool:
        """Return whether an entry's text has one of these terms."""
        return not self._terms_of(entry).isdisjoint(any_of)

    def shared_by(self, project: str | None) -> list[SharedEntry]:
        """Return the newest shared lessons that may be told."""
        return self.shared.allowed(project, self.answers)[:BACKGROUND]

    def is_known(self, any_of: AbstractSet[str], project: str) -> bool:
        """Return whether one of a project's newest entries has one of these terms."""
        newest = islice(self.collector.timeline.newest(project), self.background)
        return any(self.has(each, any_of) for each in chain(newest, self.shared_by(project)))

    async def rank(self, entry: Ghap, effects: Mapping[str, tuple[int, int]]) -> Ranked | None:
        """Return the candidates for an entry, None if the index is not open or its model's scale is not known."""
        belief = f"{entry.goal}\n{entry.hypothesis}"
        texts = belief, f"{belief}\n{entry.action}\n{entry.prediction}"
        ranked = await self.rank_texts(texts, entry.project, effects, entry.id)
        if ranked is None:
            return None
        # The vector of the belief is in the cache.
        vector = await self.index.embeddings.embed_query(belief)
        return replace(ranked, values=await self._near_values(vector, entry.id, self._within(entry.project)))

    async def rank_texts(
        self, texts: Sequence[str], project: str, effects: Mapping[str, tuple[int, int]], entry_id: str = ""
    ) -> Ranked | None:
        """Return the experiences for texts that ask the same, each with its best score; see `rank`.

        Values are left out: hooks tell lessons alone.

        Args:
            texts: The texts.
            project: The project of the candidates.
            effects: How often each experience misled and helped, by id.
            entry_id: The entry that asks, which is no candidate.
        """
        if not self.index.is_open or self.index.scale.known is None:
            return None
        first, *others = await asyncio.gather(*(self._rank(text, project, effects, entry_id) for text in texts))
        scored = sorted(chain(first.experiences, *(each.experiences for each in others)), key=lambda each: each.score)
        return replace(first, experiences=list({each.entry.id: each for each in scored}.values()))

    async def _rank(self, text: str, project: str, effects: Mapping[str, tuple[int, int]], entry_id: str) -> Ranked:
        within = self._within(project)
        vector = await self.index.embeddings.embed_query(text)
        timeline = self.collector.timeline
        newest = {
            point_id("ghap", each.id): each
            for each in islice(timeline.newest(within), self.background)
            if each.id != entry_id
        } | {point_id("ghap", each.id): each for each in self.shared_by(within)}
        hits = await self.index.nearest(_FULL, vector, limit=len(newest), ids=newest.keys()) if newest else []
        near = {hit.id: hit.score for hit in hits}
        background = Background(
            frozenset(terms(text)), [self._terms_of(each) for each in newest.values()], list(near.values())
        )
        pending = [each for point, each in newest.items() if point not in near]
        candidates = [(newest[point], closeness) for point, closeness in near.items()]
        candidates += await self._pending(vector, pending, background)
        stored = timeline.count(within)
        if stored > len(newest):
            candidates += await self._others(vector, newest, entry_id, within)

        def scored(each: Ghap, closeness: float) -> Scored:
            shared = background.shared(self._terms_of(each))
            return Scored(each, sunk(background.score(closeness, shared), *effects.get(each.id, (0, 0))), shared)

        experiences = [scored(each, closeness) for each, closeness in candidates if may_tell(each, self.answers)]
        return Ranked(experiences, [], background.usual, least_of_advice(stored), least_at_error(stored))

    def has_any(self, project: str) -> bool:
        """Return whether there is an experience that a project may be told."""
        within = self._within(project)
        return bool(self.collector.timeline.count(within) or self.shared_by(within))

    def _within(self, project: str) -> str | None:
        """Return the project of the candidates, None for all."""
        return None if self.is_everywhere else project

    async def _pending(self, vector: Vectors, pending: list[Ghap], background: Background) -> list[tuple[Ghap, float]]:
        """Return entries that are not in the index yet with their closeness: those that share the most terms."""
        instructive = [each for each in pending if may_tell(each, self.answers)]
        instructive.sort(key=lambda each: background.coverage(self._terms_of(each)), reverse=True)
        if not (few := instructive[:_EMBEDDED]):
            return []
        vectors = await self.index.embeddings.embed_documents([axis_text(each, Axis.FULL) for each in few])
        scale = self.index.scale.scale
        return [(each, scale.closeness(float(row @ vector))) for each, row in zip(few, vectors, strict=True)]

    async def _others(
        self, vector: Vectors, newest: Mapping[str, Ghap], entry_id: str, project: str | None
    ) -> list[tuple[Ghap, float]]:
        """Return the nearest of the entries that are not among the newest, with their closeness."""
        hits = await self.index.nearest(
            _FULL, vector, limit=_DEPTH, where=EntryQuery(project=project, is_own=True).for_engine()
        )
        missing = {hit.id: hit.score for hit in hits if hit.id not in newest}
        records = await self.index.retrieve(_FULL, list(missing)) if missing else []
        points = {record.payload["ghap_id"]: record.id for record in records}
        # Through the collector, so that nothing forgotten is found.
        found = self.collector.look_up(name for name in points if name != entry_id).found
        return [(each, missing[points[each.id]]) for each in found if each.resolution]

    async def _near_values(self, vector: Vectors, entry_id: str, project: str | None) -> list[Likeness]:
        """Return the most similar values in force that nothing contradicts, with their closeness."""
        current = self.values.current(project=project)
        standings = weigh_all(current, self.values, self.verdicts, self.collector) if current else []
        trusted = (
            each.value
            for each in standings
            if each.is_in_force
            and not (each.contradicting or each.value.imported)
            and entry_id not in each.supporting
            and not (self.answers and self.answers.is_never(each.value.id))
        )
        return await nearest_values(self.index, vector, trusted, 1)

    def _terms_of(self, entry: Ghap) -> frozenset[str]:
        known = self._terms.get(entry.id)
        # A redaction replaces an entry by another one with the same id.
        if known is None or known[0] is not entry:
            self._terms[entry.id] = known = entry, frozenset(terms(axis_text(entry, Axis.FULL)))
        return known[1]
