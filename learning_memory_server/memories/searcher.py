"""The search over memories: by meaning and by words when the index is complete, by words alone until then."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
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
from learning_memory_server.memories.query import FoundMemories, FoundMemory
from learning_memory_server.memories.words import needles
from learning_memory_server.retrying import attempts, is_transient
from learning_memory_server.search import lexical

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from learning_memory_server.domain.memory import Memory
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.indexing.reranking import Reranking
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.memories.log import MemoryLog
    from learning_memory_server.memories.query import MemoryQuery
    from learning_memory_server.storage.base import Payload

DEADLINE: Final = 1.0
"""Seconds that a search may take, its retries included."""
PATIENCE: Final = 0.5
"""Seconds after which a search asks for no more, so that what it found is told before the deadline."""
_TELLING: Final = 0.1
"""Seconds that are left for everything else after the re-ranking."""
_FIRST_WAIT: Final = 0.05
"""Seconds; the next wait is twice as long."""
_CHUNKS_EACH: Final = 5
"""How many chunks to look at for each memory that is wanted, in each round."""
_DEEPEST: Final = 1_000
"""The most chunks to look at in a round: a quarter of a second among 26,000."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Match:
    """A chunk; `cosine` is what `min_similarity` compares, `score` what ranks."""

    memory: Memory
    start: int
    end: int
    score: float
    number: int = 0
    cosine: float = 0.0


class MemorySearcher:
    """Finds memories.

    Args:
        index: Searched once it is complete.
        writer: Knows when it is.
        memories: Searched by words until then.
        reranking: Reads the best that the index found once more; their scores are then those of
            `fusion.reranked`.
        deadline: Seconds that a search may take.
        patience: Seconds after which a search begins no other round.
    """

    def __init__(  # noqa: PLR0913 - where to search, and for how long
        self,
        index: VectorIndex,
        writer: IndexWriter,
        memories: MemoryLog,
        reranking: Reranking,
        deadline: float = DEADLINE,
        *,
        patience: float = PATIENCE,
    ) -> None:
        self._index = index
        self._writer = writer
        self._memories = memories
        self._reranking = reranking
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
        depth = max(min(_CHUNKS_EACH * query.limit, _DEEPEST), self._reranking.depth)
        now = asyncio.get_running_loop().time
        began = now()
        last = began + self._patience
        is_cut = False
        seen: list[_Match] = []
        without: set[str] = set()
        while True:
            matches = await self._ranked(query, depth, without)
            # Those that are not shown are not read, either.
            similar = [match for match in matches if match.cosine >= query.min_similarity]
            seen += similar
            found = len({match.memory.id for match in seen})
            # Below the score that the least similarity alone gives, nothing has it.
            is_all = len(matches) < depth or matches[-1].score < relevance(query.min_similarity, 0.0)
            # Counted last: with many memories that takes longer than the search.
            if found >= query.limit or is_all or found >= sum(map(query.where.matches, memories)):
                break
            if is_cut := now() >= last:
                log.warning("search.cut", found=found, wanted=query.limit)
                break
            # One long memory can fill all ranks by itself, so the next round is without those found. Where it found
            # none, it is without those that are not similar enough: every round has others.
            without |= {match.memory.id for match in similar or matches}
        # A later round may have found better ones.
        seen.sort(key=lambda match: -match.score)
        scores, mode = await self._reranking.rerank(
            query.text,
            [match.score for match in seen],
            lambda count: self._texts(seen[:count]),
            began + self._deadline - _TELLING - now(),
        )
        ranked = [replace(match, score=score) for match, score in zip(seen, scores, strict=True)]
        return FoundMemories(_best(query.limit, ranked), mode, is_cut)

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
                match.payload["start"],
                match.payload["end"],
                match.score,
                match.payload["chunk_index"],
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
            _Match(memory, start, end, score)
            for (memory, start, end), score in lexical.rank(query.text, texts, len(texts))
        ]
        return FoundMemories(_best(query.limit, matches), SearchMode.LEXICAL)


def _best(limit: int, matches: Iterable[_Match]) -> list[FoundMemory]:
    """Return each memory with its best chunk, the best memories first and equal ones by their ids."""
    best: dict[str, FoundMemory] = {}
    for match in sorted(matches, key=lambda match: (-match.score, match.memory.id)):
        best.setdefault(match.memory.id, FoundMemory(match.memory, match.start, match.end, match.score))
    return list(best.values())[:limit]
