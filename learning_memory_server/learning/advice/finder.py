"""Find the past experiences and values that bear on an entry's goal and hypothesis."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import KW_ONLY, dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Final

from learning_memory_server.index.document import Collection, point_id
from learning_memory_server.index.entry_documents import axis_texts
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.index.ranking.threshold import PROMPT, VALUE, least_at_error, least_of_advice
from learning_memory_server.learning.advice.ranking import (
    BACKGROUND,
    SCORE_DIGITS,
    Background,
    Scored,
    best,
    is_instructive,
    sunk,
)
from learning_memory_server.learning.values.closest import Likeness, nearest_values
from learning_memory_server.learning.values.log import weigh_all
from learning_memory_server.model.advice import Item, Kind, Reason
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.sharing.shared import SharedLessons

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.learning.values.log import ValueLog, VerdictLog
    from learning_memory_server.model.entry import Ghap

_FULL: Final = Collection.of(Axis.FULL)
_DEPTH: Final = 16
"""How many of the nearest experiences outside the background are scored."""
_EMBEDDED: Final = 2
"""How many pending entries are embedded at once: those that share the most terms. Each takes 10 to 20 ms."""
_REMEMBERED: Final = 2 * BACKGROUND
"""Of how many entries the terms are kept: finding those of 200 takes 6 ms."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates for one goal and hypothesis."""

    experiences: list[Scored]  # past experiences with their scores, in no order
    values: list[Likeness]  # values with their closeness, closest first
    least: float  # the least score of an experience that is shown
    least_at_error: float  # the same at a command that failed

    def items(self) -> list[Item]:
        """Return what to show: experiences, then values if there is room for them."""
        return [
            *(each.item(self.least) for each in best(self.experiences, self.least)),
            *(
                Item(each.value.id, Kind.VALUE, score=round(each.similarity, SCORE_DIGITS), reason=Reason.SIMILAR)
                for each in self.best_values()
            ),
        ]

    def lesson(self, *, is_error: bool) -> tuple[Ghap, Item] | None:
        """Return the one to show where a text names an error, or is what a user has written: it must be nearer."""
        least = self.least_at_error if is_error else self.least + PROMPT
        return next(((each.entry, each.item(least)) for each in best(self.experiences, least)), None)

    def best_values(self) -> list[Likeness]:
        """Return the values to show."""
        return [each for each in self.values if each.similarity >= VALUE]


@dataclass(eq=False)
class AdviceFinder:
    """Ranks what was learned before for a goal and a hypothesis."""

    collector: ObservationCollector
    index: VectorIndex
    values: ValueLog
    verdicts: VerdictLog
    _: KW_ONLY
    is_everywhere: bool  # whether to look at other projects too
    shared: SharedLessons = field(default_factory=SharedLessons)
    background: int = BACKGROUND  # how many of the newest entries are the background
    _terms: dict[str, tuple[Ghap, frozenset[str]]] = field(default_factory=dict, init=False)

    def has(self, entry: Ghap, any_of: AbstractSet[str]) -> bool:
        """Return whether an entry's text has one of these terms."""
        return not self._terms_of(entry).isdisjoint(any_of)

    def is_known(self, any_of: AbstractSet[str], project: str) -> bool:
        """Return whether one of a project's newest entries has one of these terms."""
        newest = self.shared.newest(self.collector.timeline.newest(project), project)
        return any(self.has(each, any_of) for each in islice(newest, self.background))

    async def rank(self, entry: Ghap, effects: Mapping[str, tuple[int, int]]) -> Ranked | None:
        """Return the candidates for an entry, None if the index is not open or its model's scale is not known."""
        return await self.rank_text(f"{entry.goal}\n{entry.hypothesis}", entry.project, effects, entry.id)

    async def rank_text(
        self, text: str, project: str, effects: Mapping[str, tuple[int, int]], entry_id: str = ""
    ) -> Ranked | None:
        """Return the candidates for what an agent or a user has written; see `rank`.

        `effects` says how often each experience misled and helped; `entry_id` is the entry that the text is from, if
        any.
        """
        if not self.index.is_open or self.index.scale.known is None:
            return None
        within = None if self.is_everywhere else project
        vector = await self.index.embeddings.embed_query(text)
        timeline = self.collector.timeline
        newest = {
            point_id("ghap", each.id): each
            for each in islice(self.shared.newest(timeline.newest(within), within), self.background)
            if each.id != entry_id
        }
        hits = await self.index.nearest(_FULL, vector, limit=len(newest), ids=newest.keys()) if newest else []
        near = {hit.id: hit.score for hit in hits}
        background = Background(
            frozenset(terms(text)), [self._terms_of(each) for each in newest.values()], list(near.values())
        )
        pending = [each for point, each in newest.items() if point not in near]
        candidates = [(newest[point], closeness) for point, closeness in near.items()]
        candidates += await self._pending(vector, pending, background)
        stored = timeline.count(within) + self.shared.count(within)
        if stored > len(newest):
            candidates += await self._others(vector, newest, entry_id, within)
        scored = [
            Scored(
                each,
                sunk(background.score(closeness, self._terms_of(each)), *effects.get(each.id, (0, 0)))
                - self.shared.discount(each),
                background.shared(self._terms_of(each)),
            )
            for each, closeness in candidates
            if is_instructive(each)
        ]
        values = await self._near_values(vector, entry_id, within)
        return Ranked(scored, values, least_of_advice(stored), least_at_error(stored))

    async def _pending(
        self, vector: NDArray[np.float32], pending: list[Ghap], background: Background
    ) -> list[tuple[Ghap, float]]:
        """Return entries that are not in the index yet with their closeness: those that share the most terms."""
        instructive = [each for each in pending if is_instructive(each)]
        instructive.sort(key=lambda each: background.coverage(self._terms_of(each)), reverse=True)
        if not (few := instructive[:_EMBEDDED]):
            return []
        vectors = await self.index.embeddings.embed_documents([axis_texts(each)[Axis.FULL] for each in few])
        scale = self.index.scale.scale
        return [(each, scale.closeness(float(row @ vector))) for each, row in zip(few, vectors, strict=True)]

    async def _others(
        self, vector: NDArray[np.float32], newest: Mapping[str, Ghap], entry_id: str, project: str | None
    ) -> list[tuple[Ghap, float]]:
        """Return the nearest of the entries that are not among the newest, with their closeness."""
        hits = await self.index.nearest(_FULL, vector, limit=_DEPTH, where=EntryQuery(project=project).for_engine())
        missing = {hit.id: hit.score for hit in hits if hit.id not in newest}
        records = await self.index.retrieve(_FULL, list(missing)) if missing else []
        points = {record.payload["ghap_id"]: record.id for record in records}
        # Through the collector, so that nothing forgotten is found.
        own = self.collector.look_up(name for name in points if name != entry_id).found
        found = (*own, *self.shared.told(points))
        return [(each, missing[points[each.id]]) for each in found if each.resolution]

    async def _near_values(self, vector: NDArray[np.float32], entry_id: str, project: str | None) -> list[Likeness]:
        """Return the most similar values in force that nothing contradicts, with their closeness."""
        current = self.values.current(project=project)
        standings = weigh_all(current, self.values, self.verdicts, self.collector) if current else []
        trusted = (
            each.value
            for each in standings
            if each.is_in_force and not each.contradicting and entry_id not in each.supporting
        )
        return await nearest_values(self.index, vector, trusted, 1)

    def _terms_of(self, entry: Ghap) -> frozenset[str]:
        known = self._terms.get(entry.id)
        # A redaction replaces an entry by another one with the same id.
        if known is None or known[0] is not entry:
            known = entry, frozenset(terms(axis_texts(entry)[Axis.FULL]))
            self._terms.pop(entry.id, None)
            self._terms[entry.id] = known
            if len(self._terms) > _REMEMBERED:
                self._terms.pop(next(iter(self._terms)))
        return known[1]
