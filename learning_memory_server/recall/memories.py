"""Memory search: hybrid if the index is complete, otherwise lexical, as also when the model or the engine times out."""

import asyncio
from collections.abc import Iterable, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import structlog

from learning_memory_server.capture.memories.store import MemoryLog, needles
from learning_memory_server.errors import DeadlineExceededError
from learning_memory_server.index.document import Collection
from learning_memory_server.index.queries import FoundMemory, MemoryFilter, MemoryQuery, SearchResult, passing
from learning_memory_server.index.ranking.fusion import Basis, Explanation, relevance
from learning_memory_server.index.ranking.hybrid import Query, SearchTimer
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.vocabulary import SearchMode
from learning_memory_server.recall.recall import Recall, rank, with_iso_dates
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import Backoff, Budget, attempts, is_worth_repeating

_CHUNKS_EACH: Final = 5  # Chunks to fetch per wanted memory, in each round
_DEEPEST: Final = 1_000  # Maximum chunks to fetch in a round, which takes a quarter of a second among 26,000

log = structlog.get_logger()


@dataclass(frozen=True)
class MemorySearcher:
    """Finds memories."""

    recall: Recall
    memories: MemoryLog
    deadline: float = timeouts.SEARCH_MEMORY  # Seconds of a search on a server, including re-ranking
    patience: float = timeouts.MEMORIES_ROUNDS

    async def search(self, query: MemoryQuery) -> SearchResult[FoundMemory]:
        """Return the best matches, each memory once. Filters apply before the selection."""
        return await self.recall.search(query, self.deadline, self._search_index, self._rank_journal)

    async def _rank_journal(self, query: MemoryQuery) -> SearchResult[FoundMemory]:
        try:
            async with asyncio.timeout(timeouts.MEMORIES_JOURNAL_SHARE * self.deadline):
                # The journal is read here, so that no two threads read it at the same time.
                return await asyncio.to_thread(search_lexical, self.memories, query, self.memories.all())
        except TimeoutError:
            raise DeadlineExceededError("timed out") from None

    async def _search_index(self, query: MemoryQuery, timer: SearchTimer) -> SearchResult[FoundMemory]:
        # As if they had been found in an earlier round.
        without = set[str]() if query.where.replaced else {*self.memories.replaced()}
        memories = [each for each in self.memories.all() if each.id not in without]
        depth = max(min(_CHUNKS_EACH * query.limit, _DEEPEST), self.recall.reranking.depth)
        now = asyncio.get_running_loop().time
        began = now()
        last, budget = began + self.patience, Budget.of_search(self.deadline)
        is_partial = False
        seen: list[FoundMemory] = []
        basis: Basis | None = None
        while True:
            left = replace(budget, index=began + (budget.index or 0.0) - now())
            async with self.recall.index.with_budget(left).limited():
                matches = await self._ranked(query, depth, without, basis, timer)
            if basis is None and matches:
                basis = matches[0].explanation.basis  # The scores of all rounds are compared
            # Results that will not be shown are not re-ranked.
            similar = [each for each in matches if (each.explanation.similarity or 0.0) >= query.min_similarity]
            seen += similar
            found = len({each.memory.id for each in seen})
            # A match with a lower score than the minimum similarity alone would give is not similar enough.
            is_all = len(matches) < depth or (
                basis is not None and matches[-1].score < relevance(query.min_similarity, 0.0, basis)
            )
            # Counted last: with many memories, counting takes longer than the search.
            if found >= query.limit or is_all or found >= sum(map(query.where.matches, memories)):
                break
            if is_partial := now() >= last:
                log.warning("search.stopped_early", found=found, wanted=query.limit)
                break
            # One long memory can fill all ranks, so the next round excludes the memories of this one. Without any, it
            # excludes those that are not similar enough, so that no two rounds are the same.
            without |= {each.memory.id for each in similar or matches}
        # A later round may have found better ones.
        seen.sort(key=lambda each: -each.score)
        kept, mode, left_out = await self.recall.select(
            query,
            seen,
            lambda count: self._texts(seen[:count]),
            began + self.deadline - timeouts.ANSWERING - now(),
            partial(_best, query.limit),
        )
        return SearchResult(kept, mode, left_out, is_partial)

    def _texts(self, found: Sequence[FoundMemory]) -> list[str]:
        """Return the texts of the chunks in the form in which they were indexed."""
        numbers: dict[str, set[int]] = {}
        for each in found:
            numbers.setdefault(each.memory.id, set()).add(each.number)
        memories = {each.memory.id: each.memory for each in found}
        texts = {
            (memory.id, chunk.start, chunk.end): chunk.text
            for memory in memories.values()
            for chunk in self.memories.documents_of(memory, numbers[memory.id])
        }
        # The index may still contain chunks for another model.
        return [texts.get((each.memory.id, each.start, each.end), each.chunk) for each in found]

    async def _ranked(
        self, query: MemoryQuery, depth: int, without: AbstractSet[str], basis: Basis | None, timer: SearchTimer
    ) -> list[FoundMemory]:
        """Return up to `depth` chunks, best first, without the memories in `without`."""
        replaced = self.memories.replaced()
        where = query.where.for_engine(without)
        index = self.recall.index.with_budget(Budget.of_search(self.deadline))
        is_compared = query.min_similarity > 0.0
        asked = Query(Collection.MEMORIES, query.text, depth, where, is_compared=is_compared, basis=basis)
        async for attempt in attempts("memories.search", is_worth_repeating, Backoff(timeouts.MEMORIES_AGAIN)):
            with attempt:
                matches = await index.search_hybrid(
                    asked,
                    # A point may briefly outlive its memory.
                    lambda payload: self.memories.find(payload["memory_id"]) is not None,
                    timer,
                    expected=lambda: self._expected(query.where, without),
                )
        return [
            FoundMemory(
                memory,
                match.payload["chunk_index"],
                match.payload["start"],
                match.payload["end"],
                replaced.get(memory.id, ""),
                explanation=match.explanation,
            )
            for match in matches
            if (memory := self.memories.find(match.payload["memory_id"]))
        ]

    def _expected(self, where: MemoryFilter, without: AbstractSet[str]) -> int:
        """Return the number of chunks of matching memories that must be in the index."""
        matching = (each for each in self.memories.all() if where.matches(each) and each.id not in without)
        return sum(map(self.memories.chunks_of, matching)) - self.recall.writer.pending


def search_lexical(log: MemoryLog, query: MemoryQuery, memories: Sequence[Memory]) -> SearchResult[FoundMemory]:
    """Return the memories that rank best by terms shared with the query."""
    asked = with_iso_dates(query.text)
    wanted, replaced = needles(asked), log.replaced()
    texts = [
        ((memory, chunk), chunk.text)
        for memory in memories
        if query.where.matches(memory) and (query.where.replaced or memory.id not in replaced)
        for chunk in log.candidate_chunks(memory, wanted)
    ]
    mode = SearchMode.LEXICAL
    found = [
        FoundMemory(
            memory,
            chunk.number,
            chunk.start,
            chunk.end,
            replaced.get(memory.id, ""),
            explanation=Explanation(mode=mode, bm25=bm25),
        )
        for (memory, chunk), bm25 in rank(asked, texts, len(texts))
    ]
    kept, left_out = passing(_best(query.limit, found), query.min_score)
    return SearchResult(kept, mode, left_out)


def _best(limit: int, found: Iterable[FoundMemory]) -> list[FoundMemory]:
    """Return each memory with its best chunk, best first, ties ordered by id."""
    best: dict[str, FoundMemory] = {}
    for each in sorted(found, key=lambda each: (-each.score, each.memory.id)):
        best.setdefault(each.memory.id, each)
    return list(best.values())[:limit]
