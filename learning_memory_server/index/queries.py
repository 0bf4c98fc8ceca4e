"""The queries and results of searches."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Generic, TypeVar

from learning_memory_server.index.document import IS_SHARED, Collection
from learning_memory_server.index.engines.base import Filter, TimeRange
from learning_memory_server.index.ranking.fusion import Explanation
from learning_memory_server.index.ranking.threshold import COVERED, OTHERS
from learning_memory_server.model.entry import Ghap
from learning_memory_server.model.memory import Memory
from learning_memory_server.model.vocabulary import Axis, Domain, OutcomeStatus, SearchMode, Strategy


@dataclass(frozen=True, slots=True)
class EntryQuery:
    """A filter for resolved entries. Missing fields match everything."""

    domain: Domain | None = None
    outcome: OutcomeStatus | None = None
    strategy: Strategy | None = None
    project: str | None = None
    since: datetime | None = None
    is_own: bool = False  # in the index, exclude shared lessons

    def matches(self, entry: Ghap) -> bool:
        """Whether a resolved entry passes. `since` is compared with the resolution time."""
        return (
            (self.domain is None or entry.domain is self.domain)
            and (self.outcome is None or entry.outcome.status is self.outcome)
            and (self.strategy is None or entry.strategy is self.strategy)
            and (self.project is None or entry.project == self.project)
            and (self.since is None or entry.outcome.resolved_at >= self.since)
        )

    def for_engine(self) -> Filter:
        """Return the same filter for the engine."""
        return Filter(
            matches=_given(
                domain=self.domain, outcome_status=self.outcome, strategy=self.strategy, project=self.project
            ),
            times=(TimeRange("resolved_at", start=self.since),) if self.since else (),
            without=(("outcome_status", IS_SHARED),) if self.is_own else (),
        )


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """A filter for memories. Missing fields match everything."""

    tags: tuple[str, ...] = ()  # all of these tags are required
    source: str | None = None
    start: datetime | None = None  # earliest date
    end: datetime | None = None  # latest date, inclusive
    project: str | None = None
    replaced: bool = False  # whether to include replaced memories; searches apply it, this filter does not

    def matches(self, memory: Memory) -> bool:
        """Whether a memory passes."""
        return (
            set(self.tags) <= set(memory.tags)
            and (self.source is None or memory.source == self.source)
            and (self.project is None or memory.project == self.project)
            and (self.start is None or memory.date >= self.start)
            and (self.end is None or memory.date <= self.end)
        )

    def for_engine(self, without: Iterable[str] = ()) -> Filter:
        """Return the same filter for the engine, excluding the memories with the given ids."""
        return Filter(
            matches=(*(("tags", tag) for tag in self.tags), *_given(source=self.source, project=self.project)),
            times=(TimeRange("created_at", self.start, self.end),) if self.start or self.end else (),
            without=tuple(("memory_id", memory_id) for memory_id in sorted(without)),
        )


def _given(**values: str | None) -> tuple[tuple[str, str], ...]:
    return tuple((name, str(value)) for name, value in values.items() if value is not None)


@dataclass(frozen=True, slots=True)
class ExperienceQuery:
    """A search for experiences."""

    text: str
    axis: Axis = Axis.FULL  # the view of an experience to search
    where: EntryQuery = field(default_factory=EntryQuery)
    limit: int = 10
    min_score: float | None = None  # The minimum score of a result; None for the rules of `index.ranking.threshold`

    @property
    def collection(self) -> Collection:
        """The collection that is searched."""
        return Collection.of(self.axis)


@dataclass(frozen=True, slots=True)
class MemoryQuery:
    """A search for memories."""

    collection = Collection.MEMORIES
    text: str
    limit: int = 10
    where: MemoryFilter = field(default_factory=MemoryFilter)
    min_similarity: float = 0.0  # the minimum closeness, from 0 to 1; ignored in a lexical search
    min_score: float | None = None  # see `ExperienceQuery`


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A result, and the parts of its score."""

    explanation: Explanation

    @property
    def score(self) -> float:
        """The score from 0 to 1, comparable in one search. Below 0.01, the text may not have been re-ranked."""
        return self.explanation.score


@dataclass(frozen=True, slots=True)
class FoundExperience(Found):
    """An entry as a search result."""

    entry: Ghap

    @property
    def axis(self) -> Axis | None:
        """The axis with the vector nearest to the query; None in a lexical search."""
        return next((axis for axis in Axis if Collection.of(axis) == self.explanation.nearest), None)


@dataclass(frozen=True, slots=True)
class FoundMemory(Found):
    """A memory as a search result, with the chunk that matched."""

    memory: Memory
    number: int  # the index of the chunk in its memory, from 0
    start: int  # the chunk's first character
    end: int  # the one after its last
    replaced_by: str = ""  # the id of the memory that replaces it

    @property
    def chunk(self) -> str:
        """The chunk's text."""
        return self.memory.text[self.start : self.end]


FoundT = TypeVar("FoundT", bound=Found)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The number of fetched results that were left out, and their best score."""

    count: int
    best: float


@dataclass(frozen=True, slots=True)
class SearchResult(Generic[FoundT]):
    """Results, best first, the mode of their ranking, and the results left out for their scores."""

    found: list[FoundT]
    mode: SearchMode
    left_out: LeftOut | None = None
    is_partial: bool = False  # whether time ran out, so that there may be more results


def passing(found: Sequence[FoundT], min_score: float | None) -> tuple[list[FoundT], LeftOut | None]:
    """Return the results of one search that are strong enough, and a summary of the rest.

    A lexical search, a text without terms, and a model with unknown scale leave nothing out. `min_score` is compared
    with the displayed score.
    """
    if not found:
        return [], None
    if min_score is not None:
        enough = [each.explanation.score >= min_score for each in found]
    else:
        least = found[0].explanation.basis.least
        if least is None:
            return list(found), None
        amounts = [each.explanation.strength for each in found]
        if max(amounts) >= least:
            least = min(least, least * OTHERS)
        enough = [amount >= least for amount in amounts]
    kept = [each for each, passes in zip(found, enough, strict=True) if passes]
    weak = [each.explanation.score for each, passes in zip(found, enough, strict=True) if not passes]
    return kept, LeftOut(len(weak), max(weak)) if weak else None


def strengths(found: Sequence[Found], query: str, best: str, beside: Sequence[Found] = ()) -> list[float]:
    """Return the strengths of the results of one search, relative to the required one; `best` is the best text.

    If results of another collection are shown `beside` these, the stricter of both measures applies. A result that
    stands out among a small number of texts may be ordinary among many.
    """
    # Imported on demand: compiling its expressions is too slow for commands that do not search.
    from learning_memory_server.index.ranking.terms import shared_terms, terms

    if not found:
        return []
    bases = [each[0].explanation.basis for each in (found, beside) if each]
    own: list[float] = []
    if least := max(basis.least or 0.0 for basis in bases):
        usual = max(basis.usual for basis in bases)
        own = [each.explanation.strength_above(usual) / least for each in found]
        most = max(own)
    else:
        most = coverage_strength(len(shared_terms(query, best)), len(set(terms(query))))
    shares = [max(most, 0.0) * each.score / (found[0].score or 1.0) for each in found]
    if own and found[0].explanation.mode is not SearchMode.RERANKED:
        # A weak result may still have a score close to the best one's.
        shares = [max(min(pair), 0.0) for pair in zip(shares, own, strict=True)]
    return [round(share, 4) for share in shares]


def coverage_strength(shared: int, count: int) -> float:
    """Return the strength of a text by the share of a question's terms that it has."""
    return (shared / max(count, 1) / COVERED) ** 2
