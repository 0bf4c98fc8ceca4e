"""The query and the results of an experience search."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from learning_memory_server.index.document import Collection
from learning_memory_server.index.engines.base import Filter, TimeRange
from learning_memory_server.model.vocabulary import Axis

if TYPE_CHECKING:
    from learning_memory_server.index.ranking.fusion import Explanation
    from learning_memory_server.index.ranking.threshold import LeftOut
    from learning_memory_server.model.entry import Ghap
    from learning_memory_server.model.vocabulary import Domain, OutcomeStatus, SearchMode, Strategy


@dataclass(frozen=True, slots=True)
class EntryQuery:
    """A filter for resolved entries; an absent part matches everything."""

    domain: Domain | None = None
    outcome: OutcomeStatus | None = None
    strategy: Strategy | None = None
    project: str | None = None
    since: datetime | None = None

    def matches(self, entry: Ghap) -> bool:
        """Return whether a resolved entry passes. `since` is compared with the resolution time."""
        return (
            (self.domain is None or entry.domain is self.domain)
            and (self.outcome is None or entry.outcome.status is self.outcome)
            and (self.strategy is None or entry.strategy is self.strategy)
            and (self.project is None or entry.project == self.project)
            and (self.since is None or entry.outcome.resolved_at >= self.since)
        )

    def for_engine(self) -> Filter:
        """Return the same filter for the engine."""
        exact = {
            "domain": self.domain,
            "outcome_status": self.outcome,
            "strategy": self.strategy,
            "project": self.project,
        }
        return Filter(
            matches=tuple((name, str(value)) for name, value in exact.items() if value is not None),
            times=(TimeRange("resolved_at", start=self.since),) if self.since else (),
        )


@dataclass(frozen=True, slots=True)
class ExperienceQuery:
    """What to look for."""

    text: str
    axis: Axis = Axis.FULL  # which view of an experience to search
    where: EntryQuery = field(default_factory=EntryQuery)
    limit: int = 10
    min_score: float | None = None
    """The least score of a result; None for what `index.ranking.threshold` demands."""

    @property
    def collection(self) -> Collection:
        """The collection that is searched."""
        return Collection.of(self.axis)


@dataclass(frozen=True, slots=True)
class FoundExperience:
    """An entry that was found, and where its score comes from."""

    entry: Ghap
    explanation: Explanation

    @property
    def score(self) -> float:
        """How well it matches, from 0 to 1; comparable with other scores of the same search.

        In mode `reranked`, a score below 0.01 may only mean that the model did not read the entry: only the best 20.
        """
        return self.explanation.score

    @property
    def axis(self) -> Axis | None:
        """The axis whose vector was nearest to the query; None in a lexical search."""
        return next((axis for axis in Axis if Collection.of(axis) == self.explanation.nearest), None)


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Results, best first, what ranked them, and what was left out for its score."""

    found: list[FoundExperience]
    mode: SearchMode
    left_out: LeftOut | None = None
