"""The search over memories: by meaning and by words when the index is complete, by words alone until then."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

import structlog

from learning_memory_server.domain.vocabulary import SearchMode
from learning_memory_server.errors import (
    DeadlineExceededError,
    EmbeddingUnavailableError,
    StorageUnavailableError,
)
from learning_memory_server.indexing.document import Collection, Query
from learning_memory_server.indexing.fusion import relevance
from learning_memory_server.memories.words import needles
from learning_memory_server.retrying import attempts, is_transient
from learning_memory_server.search import lexical
from learning_memory_server.storage.base import Filter, TimeRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from learning_memory_server.domain.memory import Memory
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.memories.log import MemoryLog
    from learning_memory_server.storage.base import Payload

DEADLINE: Final = 1.0
"""Seconds that a search may take, its retries included."""
PATIENCE: Final = 0.5
"""Seconds after which a search asks for no more, so that what it found is told before the deadline."""
_TELLING: Final = 0.1
"""Seconds that are left for everything else after a closer look."""
_FIRST_WAIT: Final = 0.05
"""Seconds; the next wait is twice as long."""
_CHUNKS_EACH: Final = 5
"""How many chunks to look at for each memory that is wanted, in each round."""
_DEEPEST: Final = 1_000
"""The most chunks to look at in a round: a quarter of a second among 26,000."""

log = structlog.get_logger()


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
    """A memory, its best chunk, and how well that matches, from 0 to 1; scores of one mode compare with each other."""

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


@dataclass(frozen=True, slots=True)
class _Match:
    """A chunk; `cosine` is what `min_similarity` compares, `score` what ranks."""

    memory: Memory
    number: int
    start: int
    end: int
    score: float
    cosine: float


class MemorySearcher:
    """Finds memories.

    Args:
        index: Searched once it is complete.
        writer: Knows when it is.
        memories: Searched by words until then.
        deadline: Seconds that a search may take.
        patience: Seconds after which a search begins no other round.
    """

    def __init__(
        self,
        index: VectorIndex,
        writer: IndexWriter,
        memories: MemoryLog,
        deadline: float = DEADLINE,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._index = index
        self._writer = writer
        self._memories = memories
        self._deadline = deadline
        self._patience = patience

    async def search(self, query: MemoryQuery) -> FoundMemories:
        """Return the memories that match best, each once. Filters apply before the best are taken.

        Raises:
            DeadlineExceededError: If it took too long.
        """
        # The journal is read here and once, not in the thread of whoever comes first.
        memories = self._memories.all()
        try:
            async with asyncio.timeout(self._deadline):
                if self._writer.is_complete:
                    try:
                        return await self._in_index(query, memories)
                    except (StorageUnavailableError, EmbeddingUnavailableError) as error:
                        # The journal can still answer, and `mode` tells that it did.
                        log.warning("search.degraded", reason=error.message)
                return await asyncio.to_thread(self._by_words, query, memories)
        except TimeoutError:
            raise DeadlineExceededError("timed out") from None

    async def _in_index(self, query: MemoryQuery, memories: Sequence[Memory]) -> FoundMemories:
        wanted = min(query.limit, sum(map(query.where.matches, memories)))
        depth = max(min(_CHUNKS_EACH * query.limit, _DEEPEST), self._index.reranking.depth)
        now = asyncio.get_running_loop().time
        began = now()
        last = began + self._patience
        is_cut = False
        seen: list[_Match] = []
        without: set[str] = set()
        while True:
            matches = await self._ranked(query, depth, without)
            seen += matches
            found = len(_best(query, seen))
            # Below the score that the least similarity alone gives, nothing has it.
            is_all = len(matches) < depth or matches[-1].score < relevance(query.min_similarity, 0.0)
            if found >= wanted or is_all:
                break
            if is_cut := now() >= last:
                log.warning("search.cut", found=found, wanted=wanted)
                break
            # One long memory can fill all ranks by itself, so the next round is without those found. Where it found
            # none, it is without those that are not similar enough: every round has others.
            new = {match.memory.id for match in matches if match.cosine >= query.min_similarity}
            without |= new or {match.memory.id for match in matches}
        # Those that are not shown are not read, either.
        seen = [match for match in seen if match.cosine >= query.min_similarity]
        scores, mode = await self._index.reranking.reconsider(
            query.text,
            [match.score for match in seen],
            lambda count: self._texts(seen[:count]),
            began + self._deadline - _TELLING - now(),
        )
        ranked = [replace(match, score=score) for match, score in zip(seen, scores, strict=True)]
        return FoundMemories(_best(query, ranked), mode, is_cut)

    def _texts(self, matches: Sequence[_Match]) -> list[str]:
        """Return the chunks' texts as they were indexed."""
        numbers: dict[str, set[int]] = {}
        for match in matches:
            numbers.setdefault(match.memory.id, set()).add(match.number)
        memories = {match.memory.id: match.memory for match in matches}
        texts = {
            (memory.id, start, end): text
            for memory in memories.values()
            for start, end, text in self._memories.chunk_texts(memory, numbers[memory.id])
        }
        # A chunk may still be in the index as it was cut for another model.
        return [
            texts.get((match.memory.id, match.start, match.end), match.memory.text[match.start : match.end])
            for match in matches
        ]

    async def _ranked(self, query: MemoryQuery, depth: int, without: Iterable[str]) -> list[_Match]:
        """Return up to `depth` chunks, best first, none of them of the memories `without`."""
        asked = Query(Collection.MEMORIES, query.text, depth, query.where.for_engine(without))
        async for attempt in attempts(is_transient, _FIRST_WAIT):
            with attempt:
                matches = await self._index.search_hybrid(asked, self._is_kept)
        return [
            _Match(
                memory,
                match.payload["chunk_index"],
                match.payload["start"],
                match.payload["end"],
                match.score,
                match.cosine,
            )
            for match in matches
            if (memory := self._memories.find(match.payload["memory_id"]))
        ]

    def _is_kept(self, payload: Payload) -> bool:
        """Tell whether a point is of a memory that there is; a point may outlive its memory for a moment."""
        return self._memories.find(payload["memory_id"]) is not None

    def _by_words(self, query: MemoryQuery, memories: Sequence[Memory]) -> FoundMemories:
        wanted = needles(query.text)
        texts = [
            ((memory, start, end), text)
            for memory in memories
            if query.where.matches(memory)
            for start, end, text in self._memories.worded_chunks(memory, wanted)
        ]
        matches = [
            _Match(memory, 0, start, end, score, 1.0)
            for (memory, start, end), score in lexical.rank(query.text, texts, len(texts))
        ]
        return FoundMemories(_best(query, matches), SearchMode.LEXICAL)


def _best(query: MemoryQuery, matches: Sequence[_Match]) -> list[FoundMemory]:
    """Return each memory with its best chunk, the best memories first and equal ones by their ids."""
    best: dict[str, FoundMemory] = {}
    for match in sorted(matches, key=lambda match: -match.score):
        if match.cosine >= query.min_similarity:
            score = min(max(match.score, 0.0), 1.0)
            best.setdefault(match.memory.id, FoundMemory(match.memory, match.start, match.end, score))
    ranked = sorted(best.values(), key=lambda found: (-found.score, found.memory.id))
    return ranked[: query.limit]
