"""Search for experiences, and the common part of all searches: the index if it is fast enough, otherwise the journal.

Re-ranking never delays or breaks a search. Without its model, results keep their order, and the mode shows it.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Final, TypeVar

import structlog

from learning_memory_server.embedding.service import LazyModel, ModelState
from learning_memory_server.embedding.work_queue import QUERIES_AT_ONCE, in_daemon_thread
from learning_memory_server.errors import AWAY, LearningMemoryError
from learning_memory_server.index.document import Collection, axis_text, is_on
from learning_memory_server.index.queries import ExperienceQuery, FoundExperience, MemoryQuery, SearchResult, passing
from learning_memory_server.index.ranking.fusion import RERANKED, Explanation
from learning_memory_server.index.ranking.hybrid import Query, SearchTimer, mode_for
from learning_memory_server.index.ranking.terms import length, terms, weight
from learning_memory_server.model.vocabulary import Axis, SearchMode
from learning_memory_server.sharing.shared import SharedLessons
from learning_memory_server.system import timeouts
from learning_memory_server.system.waiting import Backoff, Budget

if TYPE_CHECKING:
    from learning_memory_server.capture.entries.collector import ObservationCollector
    from learning_memory_server.embedding.base import Reranker
    from learning_memory_server.embedding.service import EmbeddingService
    from learning_memory_server.index.index import VectorIndex
    from learning_memory_server.index.queries import FoundT, LeftOut
    from learning_memory_server.index.writer import IndexWriter
    from learning_memory_server.model.entry import Ghap

_BATCH: Final = 8  # Maximum texts that another query may have to wait for

log = structlog.get_logger()


class Reranking:
    """Loads a re-ranking model in the background at the first search, and runs it in the embedding model's thread."""

    def __init__(
        self,
        embeddings: EmbeddingService,
        load: Callable[[], Reranker] | None,
        retry_seconds: float = timeouts.RERANKER_AGAIN,
    ) -> None:
        self._embeddings = embeddings
        self._model = load and LazyModel("re-ranking model", load, in_daemon_thread, retry_seconds)
        self._pause = Backoff(retry_seconds, factor=1)
        self._logged: set[str] = set()

    @property
    def depth(self) -> int:
        """Minimum number of results to fetch so that re-ranking covers the best ones; 0 without a model."""
        return RERANKED if self._model else 0

    async def loaded(self) -> None:
        """Wait until the model is loaded, if one is configured. Searches never wait for it."""
        if self._model is not None:
            await self._model.get()

    async def rerank(
        self,
        query: str,
        found: Sequence[Explanation],
        texts: Callable[[int], Sequence[str]],
        seconds: float = timeouts.RERANKING,
    ) -> list[Explanation]:
        """Return new explanations for the results in the same order, or the given ones if the model is not ready.

        Args:
            found: The results' explanations, best first; at least `depth` if available.
            texts: Returns the indexed texts of the first n results; called in a thread.
            seconds: The time limit.
        """
        model = self._model
        if model is None or not found or seconds <= 0 or self._pause.left:
            return list(found)
        loading = model.start()
        if model.state is ModelState.LOADING:
            return list(found)
        try:
            async with asyncio.timeout(seconds):
                scores = await self._scores_of(loading.result(), query, texts, min(RERANKED, len(found)))
        except TimeoutError:
            # Spare the next searches a futile wait.
            self._pause.begin()
            # Without the varying seconds, so that it is logged only once.
            self._log_once("The re-ranking model takes too long on this machine.")
            return list(found)
        except Exception as error:  # noqa: BLE001 - whatever a library raises, the results have an order
            # A library's message may quote the query or a text.
            self._log_once(
                error.sentence
                if isinstance(error, LearningMemoryError)
                else f"The re-ranking model failed ({type(error).__name__})."
            )
            return list(found)
        unread = [None] * (len(found) - len(scores))
        return [
            replace(each, mode=SearchMode.RERANKED, reranked=score)
            for each, score in zip(found, [*scores, *unread], strict=True)
        ]

    async def _scores_of(
        self, model: Reranker, query: str, texts: Callable[[int], Sequence[str]], count: int
    ) -> list[float]:
        wanted = await asyncio.to_thread(texts, count)
        # Equal texts must get exactly the same score, whatever their batch.
        different = list(dict.fromkeys(wanted))
        found: dict[str, float] = {}
        for start in range(0, len(different), _BATCH):
            batch = different[start : start + _BATCH]
            # One batch at a time, so that a cancelled call leaves nothing in the queue.
            scores = await self._embeddings.run_for_query(partial(model.scores, query, batch))
            found |= zip(batch, scores.tolist(), strict=True)
        return [found[text] for text in wanted]

    def _log_once(self, reason: str) -> None:
        if reason not in self._logged:
            self._logged.add(reason)
            log.warning("search.not_reranked", reason=reason)


QueryT = TypeVar("QueryT", ExperienceQuery, MemoryQuery)
T = TypeVar("T")


@dataclass
class Recall:
    """Searches of one kind. Some run in parallel, and the time limit of each begins when it starts."""

    index: VectorIndex
    writer: IndexWriter  # knows whether the index is reliable
    reranking: Reranking  # re-ranks the best results of the index
    _at_once: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(QUERIES_AT_ONCE), init=False)
    # Python runs one ranking at a time anyway; concurrent ones would all be late.
    _lexical: asyncio.Lock = field(default_factory=asyncio.Lock, init=False)

    async def search(
        self,
        query: QueryT,
        seconds: float,
        search_index: Callable[[QueryT, SearchTimer], Awaitable[SearchResult[FoundT]]],
        rank_journal: Callable[[QueryT], Awaitable[SearchResult[FoundT]]],
    ) -> SearchResult[FoundT]:
        """Return what the index finds, within `seconds` if it is on a server, else what the journal has."""
        dated = replace(query, text=with_iso_dates(query.text))
        with SearchTimer(query.collection) as timer:
            result: SearchResult[FoundT] | None = None
            if query.collection in self.writer.reconciler.searchable:
                async with self._at_once:
                    try:
                        async with self.index.with_budget(Budget(index=seconds)).limited():
                            result = await search_index(dated, timer)
                    except AWAY as error:
                        # The journal can still answer, and `mode` shows it.
                        log.warning("search.degraded", reason=error.message)
                        self.writer.invalidate(error)
            if result is None:
                async with self._lexical:
                    # It adds the dates itself: twice would make another date of "3 May 05 03".
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
        """Re-rank the results, select the best, and leave out weak ones; see `Reranking.rerank`."""
        before = [each.explanation for each in found]
        after = await self.reranking.rerank(query.text, before, texts, seconds)
        ranked = [replace(each, explanation=new) for each, new in zip(found, after, strict=True)]
        kept, left_out = passing(best(ranked), query.min_score)
        return kept, after[0].mode if after else mode_for(query.text), left_out


@dataclass(frozen=True)
class ExperienceSearcher:
    """Finds resolved entries, including pending ones."""

    recall: Recall
    collector: ObservationCollector
    shared: SharedLessons = field(default_factory=SharedLessons)

    async def search_experiences(self, query: ExperienceQuery) -> SearchResult[FoundExperience]:
        """Return the best matches that pass the filters. Deleted entries are never returned."""
        self.shared.look()
        return await self.recall.search(query, timeouts.SEARCH, self._search_index, self._rank_journal)

    async def _rank_journal(self, query: ExperienceQuery) -> SearchResult[FoundExperience]:
        # The journal is read here, so that no two threads read it at the same time.
        entries = [*self.collector.list_resolved(query.where), *self.shared.matching(query.where)]
        return await asyncio.to_thread(search_lexical, entries, query)

    async def _search_index(self, query: ExperienceQuery, timer: SearchTimer) -> SearchResult[FoundExperience]:
        began = monotonic()
        index = self.recall.index.with_budget(Budget.of_search(timeouts.SEARCH))
        depth = max(query.limit, self.recall.reranking.depth)
        async with index.limited():
            matches = await index.search_hybrid(
                Query(query.collection, query.text, depth, query.where.for_engine(), _siblings(query.axis)),
                lambda payload: self._find(payload["ghap_id"]) is not None,
                timer,
                expected=lambda: self._expected(query),
            )
        # An entry may have been deleted since it was found.
        found = [
            FoundExperience(entry, explanation=match.explanation)
            for match in matches
            if (entry := self._find(match.payload["ghap_id"])) is not None
        ]
        selected = await self.recall.select(
            query,
            found,
            lambda count: [axis_text(each.entry, query.axis) for each in found[:count]],
            min(timeouts.RERANKING, began + timeouts.SEARCH - timeouts.ANSWERING - monotonic()),
            lambda ranked: sorted(ranked, key=lambda each: self.shared.discount(each.entry) - each.score)[
                : query.limit
            ],
        )
        return SearchResult(*selected)

    def _find(self, identity: str) -> Ghap | None:
        return self.collector.find(identity) or self.shared.entries.get(identity)

    def _expected(self, query: ExperienceQuery) -> int:
        """Return the number of matching entries that must be in the index."""
        matching = sum(is_on(query.axis, entry) for entry in self.collector.list_resolved(query.where))
        return matching - self.recall.writer.pending


def _siblings(axis: Axis) -> tuple[Collection, ...]:
    """Return the collections with other vectors of the same entries: for the axis `full`, all other axes."""
    return tuple(Collection.of(other) for other in Axis if other is not axis) if axis is Axis.FULL else ()


def search_lexical(entries: Iterable[Ghap], query: ExperienceQuery) -> SearchResult[FoundExperience]:
    """Return the entries that rank best by terms shared with the query."""
    texts = [(entry, axis_text(entry, query.axis)) for entry in entries if is_on(query.axis, entry)]
    mode = SearchMode.LEXICAL
    found = [
        FoundExperience(entry, explanation=Explanation(mode=mode, bm25=bm25))
        for entry, bm25 in rank(with_iso_dates(query.text), texts, query.limit)
    ]
    kept, left_out = passing(found, query.min_score)
    return SearchResult(kept, mode, left_out)


def rank(query: str, texts: Sequence[tuple[T, str]], limit: int) -> list[tuple[T, float]]:
    """Return up to `limit` keys with the BM25 scores of their texts, best first; ties keep the order of `texts`."""
    wanted = set(terms(query))
    frequency = dict.fromkeys(wanted, 0)
    weights: list[tuple[T, dict[str, float]]] = []
    for key, text in texts:
        found = terms(text)
        shared = wanted.intersection(found)
        if not shared:
            continue
        for term in shared:
            frequency[term] += 1
        size = length(found)
        weights.append((key, {term: weight(found.count(term), size) for term in shared}))
    rarity = {term: math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for term, n in frequency.items()}
    # Exact sums, so that equal texts tie regardless of the set's order.
    scored = [(key, math.fsum(rarity[term] * value for term, value in counted.items())) for key, counted in weights]
    return sorted(scored, key=lambda pair: -pair[1])[:limit]


_MONTHS: Final = "january february march april may june july august september october november december".split()
_MONTHS_BY_NAME: Final = {month[:3]: number for number, month in enumerate(_MONTHS, start=1)}
_NAME: Final = (
    rf"(?P<month>{'|'.join(month[:3] + (f'(?:{month[3:]})?' if month[3:] else '') for month in _MONTHS)}|sept)\.?"
)
_WORDS: Final = {"may", "march", "mar", "sep", "oct", "dec"}  # Names of months that are also other words
_DAY: Final = r"(?P<day>\d{1,2})(?P<nth>st|nd|rd|th)?"
_YEAR: Final = r"(?:,?\s+(?P<year>\d{4}))?\b(?![.:/]\d|%)"
_BEFORE: Final = r"(?:\b(?P<on>on|since|until)\s+(?:the\s+)?)?(?<![\w.:/#])"
_DATES: Final = [
    re.compile(_BEFORE + parts + _YEAR, re.IGNORECASE)
    for parts in (rf"{_DAY}\s+(?P<of>of\s+)?{_NAME}", rf"{_NAME}\s+{_DAY}")
]
_ANY_LEAP_YEAR: Final = 2000


def with_iso_dates(text: str) -> str:
    """Return a question followed by its dates in ISO format: 2023-05-25 for "25 May 2023", or 05 25 without a year."""
    written = [found for pattern in _DATES for found in pattern.finditer(text)]
    others = [_numbers(found.groupdict()) for found in written if _is_date(found)]
    return " ".join([text, *dict.fromkeys(other for other in others if other)])


def _is_date(found: re.Match[str]) -> bool:
    """Whether a number and a month's name form a date: "3 May" does, "Python 3 may crash" does not."""
    parts = found.groupdict()
    name = parts["month"].rstrip(".")
    is_name = name[0].isupper() and found.start("month") > 0
    return is_name or name.casefold() not in _WORDS or any(parts.get(sign) for sign in ("nth", "year", "on", "of"))


def _numbers(parts: Mapping[str, str | None]) -> str | None:
    year, month = parts["year"], _MONTHS_BY_NAME[str(parts["month"])[:3].casefold()]
    try:
        found = date(int(year or _ANY_LEAP_YEAR), month, int(str(parts["day"])))
    except ValueError:
        return None
    return found.isoformat() if year else f"{found:%m %d}"
