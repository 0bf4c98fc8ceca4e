"""Find the lessons near a text: in the index, among entries that are not indexed yet, and among shared lessons."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final

from learning_memory_server.advice import constants
from learning_memory_server.advice.scorer import Background, Near, Scored, best_of_each, scored
from learning_memory_server.embedding.base import Vectors
from learning_memory_server.index.document import Collection, axis_text, point_id
from learning_memory_server.index.queries import EntryQuery
from learning_memory_server.index.ranking.terms import terms
from learning_memory_server.model.vocabulary import Axis
from learning_memory_server.system.recent import Recent

if TYPE_CHECKING:
    from learning_memory_server.advice.lessons import Lessons
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.model.caller import Caller
    from learning_memory_server.model.entry import Ghap

_FULL: Final = Collection.of(Axis.FULL)
_LOOK: Final = 1 / 50  # Seconds between checks of whether the index is open


class NotReadyError(Exception):
    """The model or the index is still loading."""


@dataclass(frozen=True, slots=True)
class Found:
    """The lessons near one or more texts."""

    scored: list[Scored]  # unsorted
    usual: float  # the usual closeness of an experience to the text
    stored: int  # the number of entries


@dataclass(eq=False)
class LessonFinder:
    """Finds lessons of a project, or of all projects."""

    lessons: Lessons
    index: VectorIndex
    _last: tuple[object, Found] | None = field(default=None, init=False)
    # Finding the terms of 200 entries takes 6 ms.
    _terms: Recent[str, tuple[Ghap, frozenset[str]]] = field(default_factory=Recent, init=False)

    async def find(self, texts: Sequence[str], caller: Caller, entry_id: str = "", patience: float = 0.0) -> Found:
        """Return the lessons near any of several texts with the same question, each with its best score.

        Args:
            texts: The texts.
            caller: The caller, whose project's lessons are searched.
            entry_id: An entry to exclude: the one for which lessons are sought.
            patience: Seconds to wait for an index that is not open yet.

        Raises:
            NotReadyError: If the index is not open, or its model's scale is unknown.
        """
        until = monotonic() + patience
        while not self.index.is_open and monotonic() < until:
            await asyncio.sleep(_LOOK)
        if not self.index.is_open or self.index.scale.known is None:
            raise NotReadyError
        first, *others = await asyncio.gather(*(self._near(text, caller.project, entry_id) for text in texts))
        return Found(best_of_each(each.scored for each in (first, *others)), first.usual, first.stored)

    def has_term(self, entry: Ghap, any_of: AbstractSet[str]) -> bool:
        """Whether an entry's text has one of the given terms."""
        return not self._terms_of(entry).isdisjoint(any_of)

    def is_known(self, any_of: AbstractSet[str], project: str) -> bool:
        """Whether any of the newest entries has one of the given terms."""
        return any(self.has_term(each, any_of) for each in self.lessons.newest(project))

    async def _near(self, text: str, project: str, entry_id: str) -> Found:
        # Two sources search for the same text at the same trigger.
        changes = self.lessons.collector.timeline.changes, self.lessons.effects.counts()
        question = text, project, entry_id, changes
        if self._last is None or self._last[0] != question:
            self._last = question, await self._search(text, project, entry_id)
        return self._last[1]

    async def _search(self, text: str, project: str, entry_id: str) -> Found:
        vector = await self.index.embeddings.embed_query(text)
        newest = {point_id("ghap", each.id): each for each in self.lessons.newest(project, entry_id)}
        hits = await self.index.nearest(_FULL, vector, limit=len(newest), ids=newest.keys()) if newest else []
        closeness = {hit.id: hit.score for hit in hits}
        background = Background(
            frozenset(terms(text)), [self._terms_of(each) for each in newest.values()], list(closeness.values())
        )
        pending = [each for point, each in newest.items() if point not in closeness]
        near = [(newest[point], each) for point, each in closeness.items()]
        near += await self._pending(vector, pending, background)
        stored = self.lessons.count(project)
        if stored > len(newest):
            near += await self._older(vector, newest, entry_id, self.lessons.within(project))
        lessons = [Near(each, value, self._terms_of(each)) for each, value in near if self.lessons.is_in_force(each)]
        return Found([scored(each, background) for each in lessons], background.usual, stored)

    async def _pending(self, vector: Vectors, pending: list[Ghap], background: Background) -> list[tuple[Ghap, float]]:
        """Return the entries not in the index yet that share the most terms, with their closeness."""
        lessons = [each for each in pending if self.lessons.is_in_force(each)]
        lessons.sort(key=lambda each: background.coverage(self._terms_of(each)), reverse=True)
        if not (few := lessons[: constants.EMBEDDED]):
            return []
        vectors = await self.index.embeddings.embed_documents([axis_text(each, Axis.FULL) for each in few])
        scale = self.index.scale.scale
        return [(each, scale.closeness(float(row @ vector))) for each, row in zip(few, vectors, strict=True)]

    async def _older(
        self, vector: Vectors, newest: Mapping[str, Ghap], entry_id: str, project: str | None
    ) -> list[tuple[Ghap, float]]:
        """Return the nearest entries that are not among the newest, with their closeness."""
        where = EntryQuery(project=project, is_own=True).for_engine()
        hits = await self.index.nearest(_FULL, vector, limit=constants.DEPTH, where=where)
        missing = {hit.id: hit.score for hit in hits if hit.id not in newest}
        records = await self.index.retrieve(_FULL, list(missing)) if missing else []
        points = {record.payload["ghap_id"]: record.id for record in records}
        # The collector excludes deleted entries.
        found = self.lessons.collector.look_up(name for name in points if name != entry_id).found
        return [(each, missing[points[each.id]]) for each in found if each.resolution]

    def _terms_of(self, entry: Ghap) -> frozenset[str]:
        known = self._terms.get(entry.id)
        # Redaction replaces an entry by a new object with the same id.
        if known is None or known[0] is not entry:
            self._terms[entry.id] = known = entry, frozenset(terms(axis_text(entry, Axis.FULL)))
        return known[1]


def named_among(scored: Iterable[Scored], names: AbstractSet[str]) -> list[Scored]:
    """Return the lessons with these ids whose score is high enough for lessons that share a name, best first."""
    alike = [each for each in scored if each.entry.id in names and each.score >= constants.NAMED]
    return sorted(alike, key=lambda each: -each.score)
