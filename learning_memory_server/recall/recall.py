"""What searches share: the index while it is ready and in time, else the journal; re-ranking; the threshold."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import structlog

from learning_memory_server.embedding.work_queue import QUERIES_AT_ONCE
from learning_memory_server.errors import EmbeddingUnavailableError, StorageUnavailableError
from learning_memory_server.index.queries import ExperienceQuery, FoundT, MemoryQuery, SearchResult, LeftOut, passing
from learning_memory_server.index.ranking.hybrid import mode_of
from learning_memory_server.index.ranking.timing import SearchTimer
from learning_memory_server.recall.lexical import with_iso_dates

if TYPE_CHECKING:
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.writer import IndexWriter
    from learning_memory_server.model.vocabulary import SearchMode
    from learning_memory_server.recall.reranking import Reranking

QueryT = TypeVar("QueryT", ExperienceQuery, MemoryQuery)

log = structlog.get_logger()


@dataclass
class Recall:
    """Searches of one kind. Many at once are taken up a few at a time, and the time of each begins then."""

    index: VectorIndex
    writer: IndexWriter  # knows whether the index can be relied on
    reranking: Reranking  # reads the best results of the index once more
    _at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(QUERIES_AT_ONCE), init=False)
    # Python runs one ranking at a time anyway; several at once would all be late.
    _lexical: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def search(
        self,
        query: QueryT,
        seconds: float,
        search_index: Callable[[QueryT, SearchTimer], Awaitable[SearchResult[FoundT]]],
        rank_journal: Callable[[QueryT], Awaitable[SearchResult[FoundT]]],
    ) -> SearchResult[FoundT]:
        """Return what the index finds, within `seconds` if it is on a server, else what the journal has."""
        query = replace(query, text=with_iso_dates(query.text))
        with SearchTimer(query.collection) as timer:
            result: SearchResult[FoundT] | None = None
            if query.collection in self.writer.reconciler.searchable:
                async with self._at_once:
                    try:
                        async with self.index.in_time(seconds):
                            result = await search_index(query, timer)
                    except (StorageUnavailableError, EmbeddingUnavailableError) as error:
                        # The journal can still answer, and `mode` says that it did.
                        log.warning("search.degraded", reason=error.message)
                        self.writer.invalidate(error)
            if result is None:
                async with self._lexical:
                    result = await rank_journal(query)
            timer.answered(result.mode, len(result.found))
        return result

    async def select(
        self,
        query: ExperienceQuery | MemoryQuery,
        found: Sequence[FoundT],
        texts: Callable[[int], Sequence[str]],
        seconds: float,
        best: Callable[[list[FoundT]], list[FoundT]],
    ) -> tuple[list[FoundT], SearchMode, LeftOut | None]:
        """Re-rank what was found, best first, take the best, and leave out what is too weak.

        `texts` and `seconds` are those of `Reranking.rerank`.
        """
        before = [each.explanation for each in found]
        after = await self.reranking.rerank(query.text, before, texts, seconds)
        ranked = [replace(each, explanation=new) for each, new in zip(found, after, strict=True)]
        kept, left_out = passing(best(ranked), query.min_score)
        return kept, mode_of(after, query.text), left_out
