"""The search over experiences: by meaning and by words when the index is open, by words alone until then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from learning_memory_server.domain.vocabulary import Axis, SearchMode
from learning_memory_server.errors import EmbeddingUnavailableError, StorageUnavailableError
from learning_memory_server.indexing.document import Collection, Query
from learning_memory_server.observation.documents import axis_texts, entry_of
from learning_memory_server.observation.query import EntryQuery
from learning_memory_server.search import lexical

if TYPE_CHECKING:
    from learning_memory_server.domain.ghap import Ghap
    from learning_memory_server.indexing.index import VectorIndex
    from learning_memory_server.indexing.reranking import Reranking
    from learning_memory_server.indexing.writer import IndexWriter
    from learning_memory_server.observation.collector import ObservationCollector

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ExperienceQuery:
    """What to look for.

    Args:
        text: The question.
        axis: Which view on an experience to search.
        where: Which experiences are meant.
        limit: The most experiences to return.
    """

    text: str
    axis: Axis = Axis.FULL
    where: EntryQuery = field(default_factory=EntryQuery)
    limit: int = 10


@dataclass(frozen=True, slots=True)
class FoundExperience:
    """An entry and how well it matches, from 0 to 1; scores of one mode compare with each other.

    Where a model re-ranked them, a score below .01 may mean that the entry was not read: only the best 20 are.
    """

    entry: Ghap
    score: float


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Results, best first, and what was used to rank them."""

    found: list[FoundExperience]
    mode: SearchMode


class Searcher:
    """Finds resolved entries.

    Args:
        index: Searched once it is open and complete.
        writer: Knows when it is.
        collector: Searched by words until then, pending entries included.
        reranking: Reads the best that the index found once more; their scores are then those of
            `fusion.reranked`.
    """

    def __init__(
        self, index: VectorIndex, writer: IndexWriter, collector: ObservationCollector, reranking: Reranking
    ) -> None:
        self._index = index
        self._writer = writer
        self._collector = collector
        self._reranking = reranking

    async def search_experiences(self, query: ExperienceQuery) -> SearchResult:
        """Return the entries that match best. Filters apply before the best are taken.

        What is forgotten is never among them, even if the index still holds it.
        """
        if self._writer.is_complete:
            try:
                return await self._search_index(query)
            except (StorageUnavailableError, EmbeddingUnavailableError) as error:
                # The journal can still answer, and `mode` tells that it did.
                log.warning("search.degraded", reason=error.message)
        return search_words(self._collector, query)

    async def _search_index(self, query: ExperienceQuery) -> SearchResult:
        best = await self._index.search_hybrid(
            Query(
                Collection.of(query.axis),
                query.text,
                max(query.limit, self._reranking.depth),
                query.where.for_engine(),
                _beside(query.axis),
            ),
            lambda payload: not self._collector.are_forgotten([payload["ghap_id"]]),
        )
        scores, mode = await self._reranking.rerank(
            query.text,
            [match.score for match in best],
            lambda count: [axis_texts(entry_of(match.payload))[query.axis] for match in best[:count]],
        )
        ranked = sorted(zip(scores, best, strict=True), key=lambda pair: (-pair[0], pair[1].id))
        found = [FoundExperience(entry_of(match.payload), score) for score, match in ranked[: query.limit]]
        return SearchResult(found, mode)


def _beside(axis: Axis) -> tuple[Collection, ...]:
    """Return where else the meaning of an entry is looked for: the whole of it is also what its other axes say.

    That raised recall@5 / nDCG@10 from 95.1 / 94.6 to 95.9 / 96.0 % for 70 questions to 81 real entries.
    """
    return tuple(Collection.of(other) for other in Axis if other is not axis) if axis is Axis.FULL else ()


def search_words(collector: ObservationCollector, query: ExperienceQuery) -> SearchResult:
    """Return the entries of the journal that share the most telling words with the query."""
    entries = collector.list_resolved(query.where)
    texts = [(entry, text) for entry in entries if (text := axis_texts(entry).get(query.axis)) is not None]
    ranked = lexical.rank(query.text, texts, query.limit)
    return SearchResult([FoundExperience(entry, score) for entry, score in ranked], SearchMode.LEXICAL)
