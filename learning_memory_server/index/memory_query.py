"""The query and the results of a memory search."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import Filter, TimeRange

if TYPE_CHECKING:
    from learning_memory_server.index.ranking.fusion import Explanation
    from learning_memory_server.index.ranking.threshold import LeftOut
    from learning_memory_server.model.memory import Memory
    from learning_memory_server.model.vocabulary import SearchMode


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """A filter for memories; an absent part matches everything."""

    tags: tuple[str, ...] = ()  # a memory must have all of these
    source: str | None = None
    start: datetime | None = None  # its earliest date
    end: datetime | None = None  # its latest date, inclusive
    project: str | None = None

    def matches(self, memory: Memory) -> bool:
        """Return whether a memory passes."""
        return (
            set(self.tags) <= set(memory.tags)
            and (self.source is None or memory.source == self.source)
            and (self.project is None or memory.project == self.project)
            and (self.start is None or memory.date >= self.start)
            and (self.end is None or memory.date <= self.end)
        )

    def for_engine(self, without: Iterable[str] = ()) -> Filter:
        """Return the same filter for the engine, without the memories with the given ids."""
        exact = [("source", self.source), ("project", self.project)]
        return Filter(
            matches=(
                *(("tags", tag) for tag in self.tags),
                *((name, value) for name, value in exact if value is not None),
            ),
            times=(TimeRange("created_at", self.start, self.end),) if self.start or self.end else (),
            without=tuple(("memory_id", memory_id) for memory_id in sorted(without)),
        )


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """What to look for."""

    collection = Collection.MEMORIES
    text: str
    limit: int = 10
    where: MemoryFilter = field(default_factory=MemoryFilter)
    min_similarity: float = 0.0  # the least closeness, from 0 to 1; ignored in a lexical search
    min_score: float | None = None
    """The least score of a result; None for what `index.ranking.threshold` demands."""


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory, one of its chunks, and where the chunk's score comes from."""

    memory: Memory
    number: int  # which of its chunks was found, from 0
    start: int  # the chunk's first character
    end: int  # the one after its last
    explanation: Explanation

    @property
    def chunk(self) -> str:
        """The chunk's text."""
        return self.memory.text[self.start : self.end]

    @property
    def score(self) -> float:
        """How well the chunk matches, from 0 to 1; comparable with other scores of the same search.

        In mode `reranked`, a score below 0.01 may only mean that the model did not read the chunk: only the best 20.
        """
        return self.explanation.score


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """Memories, best first, and what ranked them."""

    found: list[FoundMemory]
    mode: SearchMode
    is_partial: bool = False  # whether time was short, so that there may be more
    left_out: LeftOut | None = None  # what was left out for its score
