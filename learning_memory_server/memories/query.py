"""What a search for memories is asked, and what it answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from learning_memory_server.storage.base import Filter, TimeRange

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from learning_memory_server.domain.memory import Memory
    from learning_memory_server.domain.vocabulary import SearchMode


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which memories are meant; an absent part does not restrict.

    Args:
        tags: All of which a memory must have.
        source: What its source must be.
        start: The earliest date.
        end: The latest date, which is included.
        project: Its project.
    """

    tags: tuple[str, ...] = ()
    source: str | None = None
    start: datetime | None = None
    end: datetime | None = None
    project: str | None = None

    def matches(self, memory: Memory) -> bool:
        """Tell whether a memory is meant."""
        return (
            set(self.tags) <= set(memory.tags)
            and (self.source is None or memory.source == self.source)
            and (self.project is None or memory.project == self.project)
            and (self.start is None or memory.date >= self.start)
            and (self.end is None or memory.date <= self.end)
        )

    def for_engine(self, without: Iterable[str] = ()) -> Filter:
        """Return the same as the engine's filter, less the memories of the ids `without`."""
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
    """What to look for.

    Args:
        text: The question.
        limit: The most memories to return.
        where: Which memories are meant.
        min_similarity: The least cosine similarity, from 0 to 1; nothing where words rank.
    """

    text: str
    limit: int = 10
    where: MemoryFilter = field(default_factory=MemoryFilter)
    min_similarity: float = 0.0


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory, its best chunk, and how well that matches, from 0 to 1; scores of one mode compare with each other.

    Where a model re-ranked them, a score below .01 may mean that the chunk was not read: only the best 20 are.
    """

    memory: Memory
    start: int
    end: int
    score: float

    @property
    def chunk(self) -> str:
        """The text of the best chunk."""
        return self.memory.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class FoundMemories:
    """Memories, best first, and what was used to rank them; `is_cut` if time was short and there may be more."""

    found: list[FoundMemory]
    mode: SearchMode
    is_cut: bool = False
